"""Predictive distributions of observations left out, and of repeated observations."""

import jax
import jax.numpy as jnp
from jax import Array

from structbo.models import ConditionedGP
from structbo.models.marginal import LOG_2PI, masked, safe_cholesky, solve_lower


def leave_one_out_moments(gp: ConditionedGP, y: Array) -> tuple[Array, Array]:
    """Mean and variance of ``p(y_i | y_-i)``, of every observation given all others.

    Args:
        gp: the posterior.
        y: the observations that it is conditioned on, shape (n,), with padding of any value.

    Returns:
        Two arrays of shape (n,).

    References:
        Rasmussen and Williams 2006, eq. (5.12).
    """
    whitener = solve_lower(gp.cholesky, jnp.eye(y.shape[0], dtype=y.dtype))
    variance = 1.0 / jnp.square(whitener).sum(0)
    return y - gp.alpha * variance, variance


def leave_one_out_densities(gp: ConditionedGP, y: Array) -> Array:
    """``log p(y_i | y_-i)``, the log density of every observation given all others, shape (n,).

    Args:
        gp: the posterior.
        y: the observations that it is conditioned on, shape (n,), with padding of any value.

    References:
        Rasmussen and Williams 2006, eq. (5.10)-(5.11).
    """
    mean, variance = leave_one_out_moments(gp, y)
    return -0.5 * (jnp.log(variance) + LOG_2PI + jnp.square(y - mean) / variance)


def replicate(gp: ConditionedGP, y: Array, key: Array) -> Array:
    """New observations of the same function at the same points, shape (n,)."""
    identity = jnp.eye(y.shape[0], dtype=y.dtype)
    noise = gp.noise_variances * identity
    covariance = masked(gp.covariance_between(gp.x, gp.x) + noise, gp.mask)
    white = jax.random.normal(key, y.shape, y.dtype)
    return y - gp.noise_variances * gp.alpha + safe_cholesky(covariance) @ white
