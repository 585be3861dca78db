"""Predictive distributions of held-out observations and of replications."""

import jax
import jax.numpy as jnp
from jax import Array
from jaxtyping import Float, Key

from structbo.models import MarginalGP
from structbo.models.marginal import LOG_2PI, masked, safe_cholesky

NUM_FEATURES = 1024
"""Random features per component of functions drawn with inducing points."""


def leave_one_out_densities(likelihood: MarginalGP, y: Float[Array, " n"]) -> Float[Array, " n"]:
    """``log p(y_i | y_-i)``, the log density of every observation given all others.

    Args:
        likelihood: of a draw.
        y: the observations, with padding of any value.

    References:
        Rasmussen and Williams 2006, eq. (5.10)-(5.11).
    """
    mean, variance = likelihood.leave_one_out(y)
    return -0.5 * (jnp.log(variance) + LOG_2PI + jnp.square(y - mean) / variance)


def replicate(
    likelihood: MarginalGP, y: Float[Array, " n"], key: Key[Array, ""]
) -> Float[Array, " n"]:
    """New observations of the same function at the same points.

    Args:
        likelihood: of a draw.
        y: the observations, with padding of any value.
        key: a JAX random key.
    """
    gp, variances = likelihood.condition(y), likelihood.noise_variances
    if likelihood.num_inducing is not None:
        key_path, key_noise = jax.random.split(key)
        noise = jnp.sqrt(variances) * jax.random.normal(key_noise, y.shape, y.dtype)
        return gp.sample_path(key_path, NUM_FEATURES)(likelihood.x) + noise
    noise = variances * jnp.eye(y.shape[0], dtype=y.dtype)
    covariance = masked(gp.covariance_between(gp.x, gp.x) + noise, gp.mask)
    white = jax.random.normal(key, y.shape, y.dtype)
    return y - variances * gp.alpha + safe_cholesky(covariance) @ white
