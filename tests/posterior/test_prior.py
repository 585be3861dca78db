"""Draws from the prior: inside hard bounds, and with the posterior's methods."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
import pytest
from given_draws import PROBS, edge_draws, with_edges

from structbo.data import Data
from structbo.models import (
    AdditiveGP,
    Decomposition,
    EdgeBernoulli,
    cliques,
    edges,
    main_effects,
    pairs,
)
from structbo.posterior.prior import prior_draws
from structbo.posterior.structures import indicator_probabilities


@pytest.mark.nightly
def test_prior_draws_respect_hard_bounds():
    structure = edges(0.6, partial(cliques, max_size=2))
    posterior = with_edges(edge_draws(0.0)[:, :2], AdditiveGP(structure))
    edge = posterior.to_arviz(num_prior_draws=60)["prior"]["edge"].values[0]
    assert 0 < len(edge) < 60
    assert edge.sum(-1).max() == 2, "of three, which would be a triangle"


def test_prior_is_the_posterior_without_data():
    posterior = with_edges(edge_draws(1.0)[:, :2], AdditiveGP(edges(PROBS)))
    prior = posterior.prior(num_draws=400, seed=3)
    mean, mcse = prior.edge_probabilities()
    assert np.abs(mean - PROBS).max() < 4.0 * 0.5 / np.sqrt(400)
    assert (mcse[np.triu_indices(3, 1)] > 0).all()
    assert mean[0, 2] == 0.0
    np.testing.assert_array_equal(prior.together_probabilities().mean, mean)
    means, variances = prior.predict(np.full((2, 3), 0.4), max_draws=10_000)
    np.testing.assert_allclose(means, 0.0, atol=1e-12)
    np.testing.assert_allclose(variances, prior.draws["outputscale"].mean(), rtol=1e-12)


def test_prior_outside_of_all_bounds():
    model = AdditiveGP(edges(1.0, partial(cliques, max_size=2)))
    with pytest.raises(ValueError, match="all 5 prior draws are outside"):
        with_edges(edge_draws(0.0)[:, :2], model).prior(num_draws=5)


def test_a_factor_belongs_to_the_prior():
    """Edges have prior odds of exp(-1), within four standard errors of resampled draws."""

    def structure(num_dims: int) -> Decomposition:
        Z = numpyro.sample("Z", EdgeBernoulli(num_dims, 0.5))
        with numpyro.handlers.scale(scale=2.0):
            numpyro.factor("sparse", -0.5 * jnp.triu(Z).sum())
        return pairs(Z)

    prior = with_edges(edge_draws(0.5)[:, :2], AdditiveGP(structure)).prior(num_draws=2000)
    assert "sparse" not in prior.draws
    expected = np.exp(-1.0) / (1.0 + np.exp(-1.0))
    found = prior.edge_probabilities().mean[np.triu_indices(3, 1)]
    np.testing.assert_allclose(found, expected, atol=4.0 * np.sqrt(2.0 * 0.2 / 2000))


def test_a_scaled_site_has_a_power_of_its_prior():
    """Edges have the prior odds of 1 to 9 to the power of one half, which is 1 to 3."""

    def structure(num_dims: int) -> Decomposition:
        with numpyro.handlers.scale(scale=0.5):
            return pairs(numpyro.sample("Z", EdgeBernoulli(num_dims, 0.1)))

    data = Data.padded(np.zeros((1, 3)), np.zeros(1))
    values, _ = prior_draws(AdditiveGP(structure), data, jax.random.key(0), 4000)
    # A draw of three edges has a weight of 27, and 1 of 1,000 draws has three edges.
    np.testing.assert_allclose(values["Z"].mean((0, 1))[*np.triu_indices(3, 1)], 0.25, atol=0.05)


def test_a_prior_without_draws_is_refused():
    improper = dist.ImproperUniform(dist.constraints.positive, (), ())
    posterior = with_edges(edge_draws(0.5)[:, :2], AdditiveGP(outputscale=improper))
    with pytest.raises(ValueError, match="ImproperUniform has none"):
        posterior.prior(num_draws=5)


def test_errors_of_a_resampled_prior_are_those_of_its_weights():
    """A tenth of the draws is thirty times as likely as the others, whatever their edges."""

    def structure(num_dims: int) -> Decomposition:
        numpyro.factor("unequal", jnp.log(30.0) * numpyro.sample("rare", dist.Bernoulli(0.1)))
        return pairs(numpyro.sample("Z", EdgeBernoulli(num_dims, 0.5)))

    data, num_draws = Data.padded(np.zeros((1, 3)), np.zeros(1)), 2000
    values, _ = prior_draws(AdditiveGP(structure), data, jax.random.key(0), num_draws)
    assert values["rare"].mean() == pytest.approx(30 / 39, abs=0.1)
    _, mcse = indicator_probabilities(values["Z"][..., *np.triu_indices(3, 1)])
    # The variances of importance sampling and of resampling add up.
    effective = num_draws / (1.0 + (0.9 + 0.1 * 30**2) / 3.9**2)
    np.testing.assert_allclose(mcse, np.sqrt(0.25 / effective), rtol=0.25)


def test_values_of_the_prior_have_their_known_noise():
    model = AdditiveGP(main_effects(), outputscale=dist.LogNormal(-6.0, 0.1))
    data = Data.padded(np.zeros((4, 2)), np.zeros(4), np.full(4, 9.0))
    _, y = prior_draws(model, data, jax.random.key(0), 400)
    assert y[0, :, :4].std() == pytest.approx(3.0, rel=0.1)
