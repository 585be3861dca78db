"""Known noise of single observations, in addition to the learned noise."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpyro import handlers
from scipy.stats import multivariate_normal

from structbo.models import AdditiveGP, ConditionedGP, edges
from structbo.posterior import Posterior, fit
from structbo.posterior.predictive import replicate

RNG = np.random.default_rng(0)
X, NEW = RNG.random((6, 3)), RNG.random((4, 3))
Y = RNG.normal(size=6)
KNOWN = np.array([0.0, 0.5, 0.1, 2.0, 0.0, 0.3])
NOISE = 0.05
VALUES = {
    "Z": np.array([[0, 1, 0], [1, 0, 0], [0, 0, 0]]),
    "lengthscale": jnp.array([0.3, 0.5, 0.8]),
    "outputscale": jnp.array(1.5),
}
MODEL = AdditiveGP(edges(0.3))


def observed(known_noise: Any, noise: Any = NOISE, x: Any = X) -> Any:
    values = VALUES | {"noise": jnp.asarray(noise)}
    run = handlers.trace(handlers.substitute(handlers.seed(MODEL, 0), data=values))
    return run.get_trace(x, known_noise=known_noise)["y"]["fn"]


@jax.jit
def answers(known_noise: Any, noise: Any) -> tuple[Any, ...]:
    likelihood = observed(known_noise, noise)
    posterior: ConditionedGP = likelihood.condition(jnp.array(Y))
    path = posterior.sample_path(jax.random.key(0), 64)
    repeated = replicate(likelihood, jnp.array(Y), jax.random.key(1))
    moments = posterior.predict(jnp.array(NEW))
    return likelihood.log_prob(jnp.array(Y)), *moments, path(jnp.array(NEW)), repeated


def test_the_likelihood_and_the_posterior_are_those_of_dense_formulas():
    density, mean, variance, _, _ = answers(KNOWN, NOISE)
    k = observed(None).covariance
    covariance = np.asarray(k(jnp.array(X), jnp.array(X))) + np.diag(NOISE + KNOWN)
    np.testing.assert_allclose(density, multivariate_normal.logpdf(Y, cov=covariance), rtol=1e-9)
    to_data = np.asarray(k(jnp.array(NEW), jnp.array(X)))
    weights = np.linalg.solve(covariance, to_data.T).T
    np.testing.assert_allclose(mean, weights @ Y, rtol=1e-8)
    explained = np.einsum("ij,ij->i", weights, to_data)
    np.testing.assert_allclose(variance, VALUES["outputscale"] - explained, rtol=1e-8)


def test_noise_that_is_known_of_all_is_as_good_as_that_of_the_model():
    """This includes drawn functions and replicated observations."""
    for own, other in zip(answers(np.full(6, 0.2), NOISE), answers(None, NOISE + 0.2), strict=True):
        np.testing.assert_allclose(own, other, rtol=1e-8)


def test_a_mean_with_its_error_says_what_its_values_say():
    """Four values at the last point, or their mean, whose variance is a quarter."""
    values = np.array([0.3, -0.2, 1.0, 0.7])
    mean = np.append(Y[:2], values.mean())
    single = observed(None, 0.4, X[[0, 1, 2, 2, 2, 2]])
    together = observed(np.array([0.3, 0.3, 0.0]), 0.1, X[:3])
    one = single.condition(jnp.append(Y[:2], values)).predict(jnp.array(NEW))
    other = together.condition(jnp.array(mean)).predict(jnp.array(NEW))
    for moment, expected in zip(other, one, strict=True):
        np.testing.assert_allclose(moment, expected, rtol=1e-8)


def draws() -> dict[str, Any]:
    return {name: np.asarray(value)[None, None] for name, value in VALUES.items()} | {
        "noise": np.full((1, 1), NOISE)
    }


def test_a_posterior_knows_the_errors():
    posterior = Posterior(MODEL, X, Y, draws(), sem=np.sqrt(KNOWN))
    _, mean, variance, _, _ = answers(KNOWN, NOISE)
    found = posterior.predict(NEW)
    np.testing.assert_allclose(found[0], mean, rtol=1e-8)
    np.testing.assert_allclose(found[1], variance, rtol=1e-8)
    alone = Posterior(MODEL, X, Y, draws())
    assert posterior.log_density[0, 0] != alone.log_density[0, 0]
    assert posterior.prior(num_draws=3).sem is None


@pytest.mark.filterwarnings("ignore:.*have not converged")
def test_a_chain_learns_that_known_noise_explains_the_scatter():
    """Scatter within known errors does not count as noise of the model."""
    x = np.linspace(0.0, 1.0, 24)[:, None]
    y = np.where(np.arange(24) % 2, 1.0, -1.0)
    run = {"num_warmup": 60, "num_samples": 60, "num_chains": 1, "show_progress_bar": False}
    known = fit(MODEL, x, y, sem=np.ones(24), **run)
    unknown = fit(MODEL, x, y, **run)
    assert known.draws["noise"].mean() < 0.3 < unknown.draws["noise"].mean()
    assert known.sem is not None


def without_known_noise(X: Any, y: Any = None, mask: Any = None) -> Any:
    return MODEL(X, y, mask)


def forgets_known_noise(X: Any, y: Any = None, mask: Any = None, known_noise: Any = None) -> Any:
    return MODEL(X, y, mask)


@pytest.mark.parametrize("model", [without_known_noise, forgets_known_noise])
def test_models_that_do_not_use_it_are_named(model: Any):
    with pytest.raises(TypeError, match="does not use known noise of single observations"):
        fit(model, X, Y, sem=KNOWN, show_progress_bar=False)


@pytest.mark.parametrize(
    ("sem", "message"),
    [
        (KNOWN[:5], r"sem must have one value per value of y, \(6,\), got \(5,\)"),
        (0.5, r"sem must have one value per value of y"),
        (-KNOWN, r"sem must hold finite standard errors.*got sem\[1\] = -0.5"),
        (np.full(6, np.inf), r"got sem\[0\] = inf"),
        (["a"] * 6, "sem must be numbers"),
    ],
)
def test_errors_that_are_none_are_named(sem: Any, message: str):
    with pytest.raises(ValueError, match=message):
        fit(MODEL, X, Y, sem=sem, show_progress_bar=False)
    with pytest.raises(ValueError, match=message):
        Posterior(MODEL, X, Y, draws(), sem=sem)
