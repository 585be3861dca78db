"""The masked log marginal likelihood of a Gaussian process, with its gradient in closed form.

Data sets are padded to a few sizes, so that a growing run compiles only a few times. A padded row
is an independent standard normal observed at zero: it changes neither the quadratic form nor the
determinant, and is excluded from the constant.
"""

import jax
import jax.numpy as jnp
from jax import Array
from jax.lax import linalg
from jaxtyping import Bool, Float

LOG_2PI = 1.8378770664093453
JITTERS = (0.0, 1e-10, 1e-8, 1e-6, 1e-4)
"""Jitters, relative to the mean of the diagonal, tried in turn until the factorization succeeds."""
SMALL = 64
"""Largest size of triangular matrices that are not divided further."""


def masked(covariance: Float[Array, "n n"], mask: Bool[Array, " n"]) -> Float[Array, "n n"]:
    """The covariance with rows and columns of padding replaced by the identity matrix."""
    both = mask[:, None] & mask[None, :]
    return jnp.where(both, covariance, jnp.eye(covariance.shape[0], dtype=covariance.dtype))


def safe_cholesky(covariance: Float[Array, "n n"]) -> Float[Array, "n n"]:
    """Lower Cholesky factor, with the smallest jitter that makes it finite.

    Args:
        covariance: symmetric positive semi-definite matrix.

    Returns:
        The factor. Not finite only if the input is not, or is far from positive semi-definite.
    """
    first = linalg.cholesky(covariance, symmetrize_input=False)
    return jax.lax.cond(_succeeded(first), lambda: first, lambda: _with_jitter(covariance, first))


def _succeeded(cholesky: Float[Array, "n n"]) -> Bool[Array, ""]:
    return jnp.isfinite(cholesky[-1, -1])


def _with_jitter(
    covariance: Float[Array, "n n"], first: Float[Array, "n n"]
) -> Float[Array, "n n"]:
    """Attempts with growing jitter, unless the attempt without jitter succeeds."""
    scale = jnp.trace(covariance) / covariance.shape[0]
    jitters = jnp.array(JITTERS, covariance.dtype) * scale
    identity = jnp.eye(covariance.shape[0], dtype=covariance.dtype)

    def unfinished(state: tuple[Array, Array]) -> Array:
        attempt, cholesky = state
        return ~_succeeded(cholesky) & (attempt < len(JITTERS))

    def retry(state: tuple[Array, Array]) -> tuple[Array, Array]:
        attempt, _ = state
        jittered = covariance + jitters[attempt] * identity
        return attempt + 1, linalg.cholesky(jittered, symmetrize_input=False)

    return jax.lax.while_loop(unfinished, retry, (jnp.array(1), first))[1]


def solve_lower(
    cholesky: Float[Array, "n n"], right: Float[Array, " n *m"], transpose: bool = False
) -> Float[Array, " n *m"]:
    """``L^-1 right``, or ``L^-T right``, for a lower factor and one or several columns."""
    columns = right[:, None] if right.ndim == 1 else right
    solution = linalg.triangular_solve(
        cholesky, columns, left_side=True, lower=True, transpose_a=transpose
    )
    return solution.reshape(right.shape)


@jax.custom_vjp
def log_marginal(
    covariance: Float[Array, "n n"], y: Float[Array, " n"], mask: Bool[Array, " n"]
) -> Float[Array, ""]:
    """Log density of observations under a zero-mean normal.

    Args:
        covariance: covariance of the observations, including noise; padding is ignored.
        y: observations.
        mask: which rows are data and not padding.

    Returns:
        The log density; minus infinity if the covariance cannot be factorized. Its gradient is
        ``(alpha alpha^T - K^-1) / 2`` by the covariance, with ``alpha = K^-1 y``, and minus
        ``alpha`` by ``y``.
    """
    covariance = masked(covariance, mask)
    first = linalg.cholesky(covariance, symmetrize_input=False)
    # Like `safe_cholesky`, but the branches return a number: copying a matrix takes as long as
    # factorizing it.
    value = _log_density(first, y, mask)[0]
    return jax.lax.cond(
        _succeeded(first),
        lambda: value,
        lambda: _log_density(_with_jitter(covariance, first), y, mask)[0],
    )


def solved(
    covariance: Float[Array, "n n"], y: Float[Array, " n"], mask: Bool[Array, " n"]
) -> tuple[Float[Array, ""], Float[Array, "n n"], Float[Array, " n"]]:
    """The result of `log_marginal`, the factor of the covariance with masked padding,
    and the inverse of this covariance times the observations.
    """
    cholesky = safe_cholesky(masked(covariance, mask))
    value, whitened = _log_density(cholesky, y, mask)
    return value, cholesky, solve_lower(cholesky, whitened, transpose=True)


def _log_density(
    cholesky: Float[Array, "n n"], y: Float[Array, " n"], mask: Bool[Array, " n"]
) -> tuple[Float[Array, ""], Float[Array, " n"]]:
    """The log density and the whitened observations."""
    whitened = solve_lower(cholesky, jnp.where(mask, y, 0.0))
    value = (
        -0.5 * whitened @ whitened
        - jnp.log(jnp.diagonal(cholesky)).sum()
        - 0.5 * LOG_2PI * mask.sum()
    )
    return jnp.where(jnp.isfinite(value), value, -jnp.inf), whitened


def _marginal_forward(
    covariance: Float[Array, "n n"], y: Float[Array, " n"], mask: Bool[Array, " n"]
) -> tuple[Array, tuple[Array, Array, Array]]:
    value, cholesky, alpha = solved(covariance, y, mask)
    return value, (cholesky, alpha, mask)


def _marginal_backward(
    residuals: tuple[Array, Array, Array], cotangent: Array
) -> tuple[Array, Array, None]:
    cholesky, alpha, mask = residuals
    gradient = covariance_gradient(cholesky, alpha, mask)
    return cotangent * gradient, -cotangent * alpha, None


log_marginal.defvjp(_marginal_forward, _marginal_backward)


def covariance_gradient(
    cholesky: Float[Array, "n n"], alpha: Float[Array, " n"], mask: Bool[Array, " n"]
) -> Float[Array, "n n"]:
    """Derivative of the log marginal likelihood with respect to the covariance.

    Args:
        cholesky: lower factor of the masked covariance.
        alpha: ``K^-1 y``.
        mask: which rows are data.

    Returns:
        ``(alpha alpha^T - K^-1) / 2`` with zeros for padding.

    References:
        Rasmussen and Williams 2006, eq. (5.9).
    """
    inverse = _inner_products(inverse_factor(cholesky))
    both = mask[:, None] & mask[None, :]
    return jnp.where(both, 0.5 * (alpha[:, None] * alpha[None, :] - inverse), 0.0)


def inverse_factor(lower: Float[Array, "n n"]) -> Float[Array, "n n"]:
    """Inverse of a lower triangular matrix, by halves, with products that skip zeros."""
    n = lower.shape[0]
    if n <= SMALL:
        return solve_lower(lower, jnp.eye(n, dtype=lower.dtype))
    half = n // 2
    first, last = inverse_factor(lower[:half, :half]), inverse_factor(lower[half:, half:])
    corner = -last @ (lower[half:, :half] @ first)
    zeros = jnp.zeros((half, n - half), lower.dtype)
    return jnp.block([[first, zeros], [corner, last]])


def _inner_products(lower: Float[Array, "n n"]) -> Float[Array, "n n"]:
    """Inner products of the columns of a lower triangular matrix, by halves."""
    n = lower.shape[0]
    if n <= SMALL:
        return lower.T @ lower
    half = n // 2
    left, corner, last = lower[:half, :half], lower[half:, :half], lower[half:, half:]
    side = corner.T @ last
    top = _inner_products(left) + corner.T @ corner
    return jnp.block([[top, side], [side.T, _inner_products(last)]])
