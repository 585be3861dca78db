"""Sums of matrices as products with ones, because XLA does not vectorize sums of expressions."""

import jax.numpy as jnp
from jax import Array
from jaxtyping import Float


def sums_along(
    matrix: Float[Array, "n m"],
) -> tuple[Float[Array, " n"], Float[Array, " m"]]:
    """The sums of the rows and of the columns of a matrix."""
    n, m = matrix.shape
    return matrix @ jnp.ones(m), jnp.ones(n) @ matrix


def total(matrix: Float[Array, "n m"]) -> Float[Array, ""]:
    """The sum of all elements of a matrix."""
    return (matrix @ jnp.ones(matrix.shape[1])).sum()
