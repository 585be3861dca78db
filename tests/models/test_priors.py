"""Priors of the hyper-parameters."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from structbo.models import FiniteUniform, dimension_scaled
from structbo.models.supports import FiniteSet

VALUES = [0.4, 0.1, 0.2]


def test_finite_uniform_frequencies():
    num_draws = 9_000
    draws = np.asarray(FiniteUniform(VALUES).sample(jax.random.key(0), (num_draws,)))
    for value in VALUES:
        assert abs((draws == value).mean() - 1 / 3) < 4 * np.sqrt(2 / 9 / num_draws)


def test_finite_uniform_density():
    prior = FiniteUniform(VALUES)
    density = prior.log_prob(jnp.array([0.1, 0.2, 0.4, 0.3]))
    np.testing.assert_allclose(jnp.exp(density), [1 / 3, 1 / 3, 1 / 3, 0.0])
    np.testing.assert_array_equal(prior.enumerate_support(), sorted(VALUES))
    assert isinstance(prior.support, FiniteSet)
    assert prior.support.is_discrete
    np.testing.assert_array_equal(prior.support(jnp.array([0.1, 0.11])), [True, False])


def test_finite_uniform_of_a_vector():
    """What the lengthscales of an additive model get."""
    prior = FiniteUniform(VALUES).expand([4]).to_event(1)
    value = prior.sample(jax.random.key(1))
    assert value.shape == (4,)
    np.testing.assert_allclose(prior.log_prob(value), -4 * np.log(3))
    assert prior.log_prob(value.at[2].set(0.3)) == -jnp.inf


@pytest.mark.parametrize("values", [[], 0.3, [[0.1, 0.2]]])
def test_finite_uniform_needs_a_list(values):
    with pytest.raises(ValueError, match="values must be a list of numbers, got shape"):
        FiniteUniform(values)


def test_lengthscales_grow_with_the_square_root_of_the_dimension():
    """Pairwise distances do, so the correlation of typical points stays what it is."""
    median = [jnp.exp(dimension_scaled(num_dims).loc) for num_dims in (1, 4, 100)]
    np.testing.assert_allclose(np.array(median) / median[0], [1, 2, 10], rtol=1e-12)
    np.testing.assert_allclose(median[0], np.exp(np.sqrt(2)))
    assert dimension_scaled(3, loc=0.0, scale=0.5).scale == 0.5
