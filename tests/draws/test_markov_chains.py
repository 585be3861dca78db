"""Chains for inference draw the same values as NumPyro's `MCMC`."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpyro.infer import MCMC

from structbo import fit
from structbo.models import AdditiveGP, edges
from structbo.samplers import composed, default_sampler

X = np.random.default_rng(0).random((6, 2))
Y = np.sin(6.0 * X[:, 0]) + X[:, 1]
STEPS = {"num_warmup": 7, "num_samples": 6, "num_chains": 2}


def draws(seed: int, **changes: int):
    """Draws from a new model that equals the models of other calls."""
    settings = {**STEPS, **changes}
    return fit(AdditiveGP(edges(0.2)), X, Y, seed=seed, show_progress_bar=False, **settings)


@pytest.mark.nightly
def test_equal_to_mcmc():
    model = AdditiveGP(edges(0.2))
    kernel = composed(default_sampler(model), model, num_dims=2)
    mcmc = MCMC(kernel, **STEPS, chain_method="sequential", progress_bar=False)
    mcmc.run(jax.random.key(3), jnp.array(X), jnp.array(Y), extra_fields=["info"])
    found = draws(3)
    expected = mcmc.get_samples(group_by_chain=True)
    assert set(found.draws) == set(expected)
    for site, value in expected.items():
        np.testing.assert_allclose(found.draws[site], value, err_msg=site)
    info = mcmc.get_extra_fields(group_by_chain=True)["info"]
    assert set(info) == set(found.sample_stats)
    for name, value in info.items():
        np.testing.assert_allclose(found.sample_stats[name], value, err_msg=name)


def test_draws_are_the_same_on_any_number_of_processors(monkeypatch):
    monkeypatch.setattr("os.cpu_count", lambda: 1)
    expected = draws(6, num_chains=3)
    monkeypatch.setattr("os.cpu_count", lambda: 3)
    found = draws(6, num_chains=3)
    for site, value in expected.draws.items():
        np.testing.assert_array_equal(found.draws[site], value, err_msg=site)
        assert (value[0] != value[1]).any(), site


def test_an_accelerator_draws_what_processors_do(request):
    """An accelerator batches all chains. Steps double round-off, so only a few are compared."""
    few = {"num_warmup": 2, "num_samples": 3, "num_chains": 2}
    expected = draws(5, **few)
    request.getfixturevalue("on_an_accelerator")
    found = draws(5, **few)
    for site, value in expected.draws.items():
        np.testing.assert_allclose(found.draws[site], value, rtol=1e-6, err_msg=site)
    for name, value in expected.sample_stats.items():
        np.testing.assert_allclose(found.sample_stats[name], value, rtol=1e-6, err_msg=name)


@pytest.mark.parametrize("name", STEPS)
def test_numbers_of_steps_are_checked(name):
    with pytest.raises(ValueError, match=f"{name} must be an integer of at least"):
        draws(0, **{name: -1})
