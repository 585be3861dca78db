"""Draws from the prior: inside hard bounds, and with the posterior's methods."""

from functools import partial

import numpy as np
import pytest
from given_draws import PROBS, edge_draws, with_edges

from structbo.models import AdditiveGP, cliques, edges


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
