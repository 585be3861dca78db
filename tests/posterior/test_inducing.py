"""A posterior with enough observations for inducing points."""

from collections.abc import Iterator

import jax.numpy as jnp
import numpy as np
import pytest
from given_draws import NUM_CHAINS, edge_draws, observations, with_edges
from numpyro import handlers

from structbo.models import AdditiveGP, edges, likelihood
from structbo.posterior import Posterior

N, M = 15, 5
MODEL = AdditiveGP(edges(0.321))
"""A model of this test alone, so that it does not reuse programs with another limit."""


@pytest.fixture(scope="module")
def posterior() -> Iterator[Posterior]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(likelihood, "MAX_EXACT", 10)
        patch.setattr(likelihood, "NUM_INDUCING", M)
        yield with_edges(edge_draws(0.5)[:, :3], MODEL)


def test_it_is_said_that_there_are_inducing_points(posterior: Posterior):
    assert posterior.num_inducing == M
    assert "5 of the observed points as inducing points" in repr(posterior.summary())


def test_an_exact_posterior_says_nothing():
    posterior = with_edges(edge_draws(0.5)[:, :3], AdditiveGP(edges(0.321), num_inducing=64))
    assert posterior.num_inducing is None
    assert "inducing" not in repr(posterior.summary())


def test_observations_are_predicted_in_the_order_in_which_they_were_told(posterior: Posterior):
    """The reference is the likelihood with inducing points in the first rows, per draw."""
    order = np.argsort(posterior.rows)
    assert (order != np.arange(N)).any()
    calibration = posterior.calibration()
    np.testing.assert_allclose(calibration.observed, posterior.y)
    one = Posterior.at(MODEL, posterior.X, posterior.y, first(posterior)).calibration()
    draw = {name: jnp.asarray(value) for name, value in first(posterior).items()}
    run = handlers.trace(handlers.substitute(handlers.seed(MODEL, 0), data=draw))
    gp = run.get_trace(jnp.array(posterior.X[order]), posterior.y[order])["y"]["fn"]
    mean, variance = gp.leave_one_out(jnp.array(posterior.y[order]))
    np.testing.assert_allclose(one.mean[order], mean, rtol=1e-8)
    np.testing.assert_allclose(one.deviation[order] ** 2, variance, rtol=1e-8)


def test_replications_are_near_the_observations_that_they_repeat(posterior: Posterior):
    """Reordered rows would not have this correlation."""
    repeated = np.asarray(posterior.to_arviz(num_prior_draws=20)["posterior_predictive"]["y"])
    assert repeated.shape == (NUM_CHAINS, 3, N)
    assert np.corrcoef(repeated.mean((0, 1)), posterior.y)[0, 1] > 0.8


def test_predictions_are_those_of_the_inducing_points(posterior: Posterior):
    """They are near exact predictions, because the data determine the function well."""
    X, _ = observations()
    values = first(posterior)
    found, _ = Posterior.at(MODEL, X, posterior.y, values).predict(X)
    exact = Posterior.at(AdditiveGP(edges(0.321), num_inducing=64), X, posterior.y, values)
    assert exact.num_inducing is None
    expected = exact.predict(X)[0]
    assert np.abs(found - expected).max() > 0.0
    assert np.corrcoef(found, expected)[0, 1] > 0.8


def first(posterior: Posterior) -> dict[str, np.ndarray]:
    return {name: value[0, 0] for name, value in posterior.draws.items()}
