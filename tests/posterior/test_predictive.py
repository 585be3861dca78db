"""Replicated observations against the moments of their joint distribution."""

import jax
import jax.numpy as jnp
import numpy as np
from given_draws import dense_covariance

from structbo.data import Data
from structbo.draws import likelihood_of
from structbo.posterior import Posterior
from structbo.posterior.predictive import replicate


def test_replicated_observations_have_the_right_moments(posterior: Posterior):
    draw = {name: jnp.asarray(value[0, 0]) for name, value in posterior.draws.items()}
    y = jnp.asarray(posterior.y)
    data = Data(jnp.asarray(posterior.X), y, jnp.ones(15, bool))

    @jax.jit
    def replicated(keys: jax.Array) -> jax.Array:
        likelihood = likelihood_of(posterior.model, draw, data)
        return jax.vmap(lambda key: replicate(likelihood, y, key))(keys)

    keys = jax.random.split(jax.random.key(3), 20_000)
    found = np.asarray(replicated(keys))
    noisy, noise = dense_covariance(posterior, 0, 0), float(draw["noise"])
    K = noisy - noise * np.eye(15)
    mean = K @ np.linalg.solve(noisy, posterior.y)
    covariance = K - K @ np.linalg.solve(noisy, K) + noise * np.eye(15)
    deviation = np.sqrt(np.diag(covariance))
    assert np.abs(found.mean(0) - mean).max() < 5.0 * deviation.max() / np.sqrt(len(keys))
    error = np.sqrt(2.0 / len(keys)) * np.outer(deviation, deviation)
    assert (np.abs(np.cov(found.T) - covariance) < 5.0 * error).all()
