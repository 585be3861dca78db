"""Inducing points: a lower bound of the log marginal likelihood whose cost is linear in n.

The function is summarized by its values at M of the n observed points. The only input is the
*rectangular Gram matrix* of shape (n, M), the covariances of all observed points with these; its
first M rows are the inducing points themselves. Costs are O(n M^2), for any covariance function.
The values carry a little noise, `NUGGET`, which keeps their covariance away from singularity for
smooth kernels; the bound stays a bound.

References:
    Titsias 2009, "Variational learning of inducing variables in sparse Gaussian processes".
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import Array
from jax.lax import linalg
from jaxtyping import Bool, Float, Key

from structbo.models.foundation.arrays import OneOrEach
from structbo.models.marginal import LOG_2PI, inverse_factor, masked, solve_lower

NUGGET = 1e-4
"""Noise variance of the summarized values, relative to the noise variance of the observations.

It lowers the bound by about half as much per inducing point."""
FLOOR = 1e-9
"""Minimum variance of this noise, relative to the function's, which a factorization needs."""
UNSEEN = 1e-8
"""Precision of pseudo-observations without data, relative to the prior precision."""


class Observed(NamedTuple):
    """Observations in units of their noise, and their covariances with the inducing points.

    Args:
        inner: covariance of the inducing values, including their noise.
        cross: their covariance with the observations, zero for padding.
        y: the observations, zero for padding.
    """

    inner: Float[Array, "M M"]
    cross: Float[Array, "M n"]
    y: Float[Array, " n"]

    @classmethod
    def of(
        cls,
        gram: Float[Array, "n M"],
        y: Float[Array, " n"],
        mask: Bool[Array, " n"],
        noise_variances: OneOrEach,
        prior_variance: OneOrEach,
    ) -> "Observed":
        """From a rectangular Gram matrix; arguments as in `collapsed_bound`."""
        size = gram.shape[1]
        noise = jnp.broadcast_to(noise_variances, mask.shape)
        prior = jnp.broadcast_to(prior_variance, mask.shape)
        own_noise = NUGGET * noise[:size] + FLOOR * prior[:size]
        inner = masked(gram[:size] + jnp.diag(own_noise), mask[:size])
        root = jnp.where(mask, 1.0 / jnp.sqrt(noise), 0.0)
        cross = jnp.where(mask[:size], gram * root[:, None], 0.0).T
        return cls(inner, cross, root * jnp.where(mask, y, 0.0))


class Whitened(NamedTuple):
    """The posterior of the inducing values, whitened by the factor of their covariance.

    Args:
        cholesky: lower factor of their prior covariance.
        cross: their covariance with the observations after whitening.
        precision: precision of their posterior.
        cholesky_precision: its lower factor.
        mean: mean of their posterior.
        residual: the observations minus their predictive means.
    """

    cholesky: Float[Array, "M M"]
    cross: Float[Array, "M n"]
    precision: Float[Array, "M M"]
    cholesky_precision: Float[Array, "M M"]
    mean: Float[Array, " M"]
    residual: Float[Array, " n"]

    @classmethod
    def of(cls, observed: Observed) -> "Whitened":
        cholesky = linalg.cholesky(observed.inner, symmetrize_input=False)
        cross = solve_lower(cholesky, observed.cross)
        precision = jnp.eye(len(cross), dtype=cross.dtype) + cross @ cross.T
        factor = linalg.cholesky(precision, symmetrize_input=False)
        mean = solve_lower(factor, solve_lower(factor, cross @ observed.y), transpose=True)
        return cls(cholesky, cross, precision, factor, mean, observed.y - mean @ cross)


def collapsed_bound(
    gram: Float[Array, "n M"],
    y: Float[Array, " n"],
    mask: Bool[Array, " n"],
    noise_variances: OneOrEach,
    prior_variance: OneOrEach,
) -> Float[Array, ""]:
    """A lower bound of the log marginal likelihood.

    ``log N(y | 0, Q + N) - tr(N^-1 (K - Q)) / 2``, where ``Q`` is the part of the covariance ``K``
    that the inducing points explain and ``N`` is the noise.

    Args:
        gram: covariance of the function between the observed points and the inducing points, which
            are the first M observed points.
        y: observations.
        mask: which rows are data and not padding.
        noise_variances: noise variances of the observations, or one of all.
        prior_variance: prior variances of the function at the observed points, or one of all.

    Returns:
        The bound; minus infinity if it is not finite.

    References:
        Titsias 2009, eq. (9).
    """
    density = _unit_noise_bound(*Observed.of(gram, y, mask, noise_variances, prior_variance))
    noise = jnp.where(mask, noise_variances, 1.0)
    unexplained = jnp.where(mask, prior_variance / noise, 0.0).sum()
    constant = jnp.log(noise).sum() + LOG_2PI * mask.sum()
    value = density - 0.5 * (unexplained + constant)
    return jnp.where(jnp.isfinite(value), value, -jnp.inf)


@jax.custom_vjp
def _unit_noise_bound(
    inner: Float[Array, "M M"], cross: Float[Array, "M n"], y: Float[Array, " n"]
) -> Float[Array, ""]:
    """The bound without constants, for observations in units of their noise."""
    return _bound_forward(inner, cross, y)[0]


def _bound_forward(
    inner: Float[Array, "M M"], cross: Float[Array, "M n"], y: Float[Array, " n"]
) -> tuple[Array, tuple[Array, Array, Whitened]]:
    white = Whitened.of(Observed(inner, cross, y))
    log_determinant = 2.0 * jnp.log(jnp.diagonal(white.cholesky_precision)).sum()
    explained = jnp.trace(white.precision) - len(inner)
    # The quadratic form of y is its product with the residuals of the posterior means.
    value = -0.5 * (white.residual @ y + log_determinant - explained)
    return value, (cross, y, white)


def _bound_backward(
    residuals: tuple[Array, Array, Whitened], cotangent: Array
) -> tuple[Array, Array, Array]:
    """With ``B`` the posterior precision and ``b`` the posterior mean of the whitened values.

    ``- L^-T (b b^T + B - 2 I + B^-1) L^-1 / 2`` by the inner covariance, and
    ``L^-T (b r^T + (I - B^-1) L^-1 X)`` by the cross-covariance ``X``, with residuals ``r``.
    """
    cross, _, white = residuals
    identity = jnp.eye(len(cross), dtype=cross.dtype)
    unwhiten = inverse_factor(white.cholesky).T
    root = inverse_factor(white.cholesky_precision)
    learned = identity - root.T @ root
    b, precision = white.mean, white.precision
    inner = jnp.outer(b, b) + precision - identity - learned
    by_inner = -0.5 * unwhiten @ inner @ unwhiten.T
    by_cross = jnp.outer(unwhiten @ b, white.residual) + (unwhiten @ learned @ unwhiten.T) @ cross
    return cotangent * by_inner, cotangent * by_cross, -cotangent * white.residual


_unit_noise_bound.defvjp(_bound_forward, _bound_backward)


class PseudoObservations(NamedTuple):
    """Observations at the inducing points that turn the prior into the variational posterior.

    With them, all formulas of an exact posterior apply: to the function, to every component, and to
    drawn functions. Their noise is correlated.

    Args:
        cholesky: lower factor of their covariance.
        alpha: the inverse of this covariance times the pseudo-observations.
        noise_factor: lower factor of the covariance of their noise.
    """

    cholesky: Float[Array, "M M"]
    alpha: Float[Array, " M"]
    noise_factor: Float[Array, "M M"]

    @classmethod
    def of(
        cls,
        gram: Float[Array, "n M"],
        y: Float[Array, " n"],
        mask: Bool[Array, " n"],
        noise_variances: OneOrEach,
        prior_variance: OneOrEach,
    ) -> "PseudoObservations":
        """Arguments as in `collapsed_bound`.

        The data explain ``k^T (K^-1 - S^-1) k`` of the variance at a point, with the prior and
        posterior precision of the inducing values. The middle is ``L^-T (I - B^-1) L^-1``, and
        ``(I - B^-1)^-1 = I + (B - I)^-1``.

        References:
            Titsias 2009, eq. (6); Bui, Yan and Turner 2017, "A unifying framework for Gaussian
            process pseudo-point approximations using power expectation propagation".
        """
        observed = Observed.of(gram, y, mask, noise_variances, prior_variance)
        white = Whitened.of(observed)
        identity = jnp.eye(len(observed.inner), dtype=gram.dtype)
        added = white.precision - (1.0 - UNSEEN) * identity
        root = inverse_factor(linalg.cholesky(added, symmetrize_input=False))
        whitened_noise = root.T @ root
        factor = linalg.cholesky(identity + whitened_noise, symmetrize_input=False)
        prior = masked(gram[: len(identity)], mask[: len(identity)])
        noise = white.cholesky @ whitened_noise @ white.cholesky.T + (observed.inner - prior)
        return cls(
            white.cholesky @ factor,
            solve_lower(white.cholesky, white.mean, transpose=True),
            linalg.cholesky(noise),
        )


def leave_one_out(
    gram: Float[Array, "n M"],
    y: Float[Array, " n"],
    mask: Bool[Array, " n"],
    noise_variances: OneOrEach,
    prior_variance: OneOrEach,
) -> tuple[Float[Array, " n"], Float[Array, " n"]]:
    """Mean and variance of every observation given all others, and all inducing points.

    Arguments as in `collapsed_bound`.

    Returns:
        Means and variances, with arbitrary values for padding.
    """
    white = Whitened.of(Observed.of(gram, y, mask, noise_variances, prior_variance))
    leverage = jnp.square(solve_lower(white.cholesky_precision, white.cross)).sum(0)
    explained = noise_variances * jnp.square(white.cross).sum(0)
    mean = y - jnp.sqrt(noise_variances) * white.residual / (1.0 - leverage)
    return mean, noise_variances / (1.0 - leverage) + prior_variance - explained


def sample_given_inducing(
    key: Key[Array, ""],
    shape: tuple[int, ...],
    gram: Float[Array, "n M"],
    mask: Bool[Array, " n"],
    noise_variances: OneOrEach,
    prior_variance: OneOrEach,
) -> Float[Array, "*S n"]:
    """Draws observations that are independent given the inducing values.

    Args:
        key: a JAX random key.
        shape: shape of the draws, (..., n).
        gram, mask, noise_variances, prior_variance: as in `collapsed_bound`.

    References:
        Quinonero-Candela and Rasmussen 2005, "A unifying view of sparse approximate Gaussian
        process regression", section 6: the fully independent training conditional.
    """
    key_values, key_rest = jax.random.split(key)
    nothing = jnp.zeros(len(mask), gram.dtype)
    observed = Observed.of(gram, nothing, mask, noise_variances, prior_variance)
    white = solve_lower(linalg.cholesky(observed.inner, symmetrize_input=False), observed.cross)
    scale = jnp.sqrt(noise_variances)
    unexplained = prior_variance - noise_variances * jnp.square(white).sum(0)
    values = jax.random.normal(key_values, (*shape[:-1], len(white)), gram.dtype) @ white
    rest = jax.random.normal(key_rest, shape, gram.dtype)
    return scale * values + jnp.sqrt(unexplained + noise_variances) * rest
