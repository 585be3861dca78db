"""Observations of NaN, at which the function counts as known to be its posterior mean."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpyro import handlers

from structbo.models import AdditiveGP, ConditionedGP, MarginalGP, edges

RNG = np.random.default_rng(0)
N, NUM_BELIEVED, NUM_PADDED = 8, 2, 3
X, NEW = jnp.array(RNG.random((N + NUM_BELIEVED + NUM_PADDED, 3))), jnp.array(RNG.random((5, 3)))
Y = jnp.sin(5.0 * X[:, 0]) + X[:, 1] * X[:, 2]
OBSERVED, KNOWN = np.arange(len(X)) < N, np.arange(len(X)) < N + NUM_BELIEVED
BELIEVED = X[N : N + NUM_BELIEVED]
VALUES = {
    "Z": np.array([[0, 1, 0], [1, 0, 0], [0, 0, 0]]),
    "lengthscale": jnp.array([0.3, 0.5, 0.8]),
    "outputscale": jnp.array(1.5),
    "noise": jnp.array(0.2),
}


def likelihood(mask: np.ndarray, num_inducing: int | None = None) -> MarginalGP:
    model = AdditiveGP(edges(0.3), num_inducing=num_inducing)
    run = handlers.trace(handlers.substitute(handlers.seed(model, 0), data=VALUES))
    found: MarginalGP = run.get_trace(X, mask=jnp.asarray(mask))["y"]["fn"]
    return found


def posteriors(num_inducing: int | None = None) -> tuple[ConditionedGP, ConditionedGP]:
    """The posteriors without and with the believed points."""
    y = np.where(OBSERVED, Y, np.nan)
    return (
        likelihood(OBSERVED, num_inducing).condition(Y),
        likelihood(KNOWN, num_inducing).condition(jnp.asarray(y)),
    )


@pytest.mark.parametrize("num_inducing", [None, 5, 11])
def test_means_stay_and_deviations_shrink(num_inducing: int | None):
    """The inducing points are observed points, or all known points and a padded row."""
    before, after = (
        gp.predict(jnp.concatenate([NEW, BELIEVED])) for gp in posteriors(num_inducing)
    )
    np.testing.assert_allclose(after[0], before[0], rtol=1e-9)
    assert (after[1] < before[1]).all()


def test_the_variance_is_that_given_the_function_without_noise():
    before, after = posteriors()
    between = np.asarray(before.covariance_between(BELIEVED, BELIEVED))
    to_new = np.asarray(before.covariance_between(NEW, BELIEVED))
    explained = np.einsum("ij,ij->i", to_new, np.linalg.solve(between, to_new.T).T)
    found = np.asarray(after.predict(NEW)[1])
    np.testing.assert_allclose(found, np.asarray(before.predict(NEW)[1]) - explained, rtol=1e-3)
    assert (np.asarray(after.predict(BELIEVED)[1]) < 1e-3 * VALUES["noise"]).all()


def test_drawn_functions_pass_through_the_means():
    before, after = posteriors()
    paths: Any = jax.lax.map(
        lambda key: after.sample_path(key, 256)(BELIEVED), jax.random.split(jax.random.key(0), 20)
    )
    mean = np.asarray(before.predict(BELIEVED)[0])
    np.testing.assert_allclose(paths, np.broadcast_to(mean, paths.shape), atol=0.05)
    assert np.asarray(before.predict(BELIEVED)[1]).min() > 0.05


def test_a_believed_point_beside_an_observed_one_does_no_harm():
    """Without noise a factorization would fail, or consist of round-off."""
    noiseless = VALUES | {"noise": jnp.array(1e-10)}
    x = jnp.concatenate([X[:N], X[:1], X[:1] + 1e-9])
    run = handlers.trace(handlers.substitute(handlers.seed(AdditiveGP(edges(0.3)), 0), noiseless))
    model: MarginalGP = run.get_trace(x)["y"]["fn"]
    after = model.condition(jnp.asarray([*Y[:N], np.nan, np.nan])).predict(NEW)
    np.testing.assert_array_less(0.0, after[1])
    before = MarginalGP(model.covariance, x[:N], jnp.asarray(1e-10)).condition(Y[:N])
    for found, expected in zip(after, before.predict(NEW), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-3)
