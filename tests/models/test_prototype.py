"""One run of a model with concrete values, in which no single operation is compiled."""

from concurrent.futures import ThreadPoolExecutor

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import pytest

from structbo.models import AdditiveGP, Decomposition, edges
from structbo.models.foundation.upstream import prototype_trace
from structbo.models.prototype import SEED, prior_trace


def test_it_is_the_run_of_numpyro():
    model, points = AdditiveGP(edges(0.5)), np.full((2, 3), 0.5)
    expected = prototype_trace(model, jax.random.key(SEED), (points, np.zeros(2)), None)
    trace = prior_trace(model, 3)
    assert list(trace) == list(expected)
    for name, site in trace.items():
        np.testing.assert_allclose(site["value"], expected[name]["value"], rtol=1e-12)


def test_models_run_in_several_threads():
    """NumPyro's handlers belong to no thread."""
    models = [AdditiveGP(edges(0.11 + 0.01 * i)) for i in range(8)]
    with ThreadPoolExecutor(8) as threads:
        traces = list(threads.map(lambda model: prior_trace(model, 3), models))
    assert all([*trace] == [*traces[0]] and "Z" in trace for trace in traces)


def test_values_are_checked():
    def structure(num_dims: int) -> Decomposition:
        sign = numpyro.sample("sign", numpyro.distributions.Delta(-1.0))
        members = jnp.eye(num_dims, dtype=bool)
        return Decomposition(members, sign * jnp.ones(num_dims), jnp.array(True))

    with pytest.raises(ValueError, match="not negative"):
        prior_trace(AdditiveGP(structure), 3)
