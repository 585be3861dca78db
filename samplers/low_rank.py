"""Features of one variable: a few columns whose inner products are nearly its correlations."""

import jax
import jax.numpy as jnp
from jax import Array

FEATURES = 6
"""How many; of a smooth correlation with a lengthscale of a third of the cube they leave 0.001."""
LEAST = 1e-10
"""A variance that is nothing but rounding errors."""


def features(correlations: Array) -> Array:
    """Rows whose inner products are nearly a matrix, those that explain most first.

    A pivoted Cholesky factorization, turned to its principal axes. The rest of the matrix is
    positive semi-definite.

    Args:
        correlations: symmetric positive semi-definite, shape (n, n).

    Returns:
        Shape (6, n), in 32 bits.

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
