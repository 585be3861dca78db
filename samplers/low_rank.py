"""Features of one variable: a low-rank factor of its correlation matrix."""

import jax
import jax.numpy as jnp
from jax import Array
from jaxtyping import Float, Float32

FEATURES = 6
"""Number of features; the error is 0.001 for a smooth kernel with lengthscale 1/3."""
LEAST = 1e-10
"""Variance below which a pivot is a rounding error."""


def features(correlations: Float[Array, "n n"]) -> Float32[Array, "F n"]:
    """Rows whose inner products approximate a matrix, the largest first.

    A pivoted Cholesky factorization, rotated to its principal axes. The residual is positive
    semi-definite.

    Args:
        correlations: symmetric positive semi-definite matrix.

    Returns:
        F = `FEATURES` rows.

    Example:
        >>> x = jnp.linspace(0.0, 1.0, 20)
        >>> correlations = jnp.exp(-((x[:, None] - x) ** 2))
        >>> rows = features(correlations)
        >>> bool(jnp.abs(rows.T @ rows - correlations).max() < 0.01)
        True
    """
    num_rows = len(correlations)

    def step(k: Array, state: tuple[Array, Array]) -> tuple[Array, Array]:
        rows, rest = state
        pivot = jnp.argmax(rest)
        row = (correlations[pivot] - rows[:, pivot] @ rows) * jax.lax.rsqrt(rest[pivot] + LEAST)
        row = jnp.where(rest[pivot] > LEAST, row, 0.0)
        return rows.at[k].set(row), jnp.maximum(rest - jnp.square(row), 0.0)

    init = (jnp.zeros((FEATURES, num_rows)), jnp.diagonal(correlations))
    rows, _ = jax.lax.fori_loop(0, FEATURES, step, init)
    axes = jnp.linalg.eigh(rows @ rows.T)[1][:, ::-1]
    return (axes.T @ rows).astype(jnp.float32)
