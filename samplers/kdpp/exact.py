"""Determinantal point processes of fixed size: diverse sets of k out of n items.

The k-DPP of a positive semi-definite matrix L draws a set S of k items with probability
proportional to ``det(L_S)``. The greedy search and the exact sampler share one pivoted Cholesky
factorization: the search takes the largest pivot, and the sampler draws a pivot with probability
proportional to its size.
"""

from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.typing import ArrayLike
from jaxtyping import Float, Int, Key

from structbo.models.foundation.arguments import is_concrete, is_integer
from structbo.models.foundation.precision import double_precision

ROUND_OFF = float(np.finfo(np.float64).eps)


def sample_kdpp(key: Key[Array, ""], L: ArrayLike, k: int) -> Int[Array, " {k}"]:
    """Draws an exact sample of k items from a k-DPP.

    The sampler draws k eigenvectors with probability proportional to the product of their
    eigenvalues, then items from the projection onto their span. The elementary symmetric
    polynomials of the first step are computed in log space, so they do not overflow.

    ``jax.vmap`` over keys shares one eigendecomposition, which dominates the cost. Under
    ``jax.jit``, which requires 64-bit floats to be enabled, values of L are not checked.

    Args:
        key: a JAX random key.
        L: symmetric positive semi-definite matrix of rank at least k, shape (n, n).
        k: number of items to draw, static.

    Returns:
        The items in ascending order.

    Raises:
        ValueError: if L does not meet these conditions, or k is not between 0 and n.

    References:
        Kulesza and Taskar 2011, "k-DPPs: fixed-size determinantal point processes", Algorithms 1
        and 8 of their monograph of 2012.

    Example:
        >>> sample_kdpp(jax.random.key(0), jnp.diag(jnp.array([1.0, 0.0, 2.0])), 2).tolist()
        [0, 2]
    """
    with double_precision():
        L = checked_kernel(L, k)
        if k == 0:
            return jnp.zeros(0, int)
        return _sample_from_spectrum(key, *spectrum(L, k), k)


def spectrum(L: Float[Array, "n n"], k: int) -> tuple[Float[Array, " n"], Float[Array, "n n"]]:
    """Eigenvalues and eigenvectors of a matrix from `checked_kernel`; round-off becomes zero.

    Raises:
        ValueError: if the matrix is not positive semi-definite, or its rank is less than k.
    """
    values, vectors = jnp.linalg.eigh(L)
    tolerance = len(L) * ROUND_OFF * jnp.abs(values).max()
    if is_concrete(values):
        _check_spectrum(np.asarray(values), float(tolerance), k)
    return jnp.where(values > tolerance, values, 0.0), vectors


@partial(jax.jit, static_argnums=3)
def _sample_from_spectrum(
    key: Key[Array, ""], values: Float[Array, " n"], vectors: Float[Array, "n n"], k: int
) -> Int[Array, " {k}"]:
    key_spectrum, key_items = jax.random.split(key)
    chosen = _sample_eigenvectors(key_spectrum, jnp.log(values), k)
    basis = vectors[:, chosen]
    keys = jax.random.split(key_items, k)

    def draw(step: Array, state: tuple[Pivots, Array]) -> tuple[Pivots, Array]:
        pivots, items = state
        item = jax.random.categorical(keys[step], jnp.log(jnp.maximum(pivots.residual, 0.0)))
        return pivots.eliminate(step, item, basis @ basis[item]), items.at[step].set(item)

    start = (Pivots.of(jnp.square(basis).sum(1), k), jnp.zeros(k, int))
    return jnp.sort(jax.lax.fori_loop(0, k, draw, start)[1])


def _sample_eigenvectors(
    key: Key[Array, ""], log_values: Float[Array, " n"], k: int
) -> Int[Array, " {k}"]:
    """Indices of k eigenvectors, drawn in proportion to the product of the eigenvalues."""

    _, before = log_elementary_sums(log_values, k)
    log_uniforms = jnp.log(jax.random.uniform(key, log_values.shape))

    def decide(left: Array, item: tuple[Array, Array, Array]) -> tuple[Array, Array]:
        log_value, log_sums, log_uniform = item
        with_it = log_value + log_sums[left - 1]
        taken = (left > 0) & (log_uniform < with_it - jnp.logaddexp(log_sums[left], with_it))
        return left - taken, taken

    _, taken = jax.lax.scan(decide, jnp.array(k), (log_values, before, log_uniforms), reverse=True)
    return jnp.nonzero(taken, size=k)[0]


def log_elementary_sums(
    log_values: Float[Array, " n"], k: int
) -> tuple[Float[Array, " {k}+1"], Float[Array, "n {k}+1"]]:
    """Logarithms of the elementary symmetric polynomials of orders 0 to k.

    Args:
        log_values: logarithms of the n values.
        k: largest order, static.

    Returns:
        The polynomials of all values, and of the values before each one.
    """

    def extend(log_sums: Array, log_value: Array) -> tuple[Array, Array]:
        """The polynomials after one more value."""
        longer = jnp.logaddexp(log_sums[1:], log_value + log_sums[:-1])
        return jnp.concatenate([log_sums[:1], longer]), log_sums

    empty = jnp.full(k + 1, -jnp.inf).at[0].set(0.0)
    return jax.lax.scan(extend, empty, log_values)


def greedy_kdpp(L: ArrayLike, k: int) -> Int[Array, " {k}"]:
    """Selects k items greedily by the increase of the determinant.

    The determinant is at least ``1 / (k!)^2`` of the maximum.

    Args:
        L: symmetric positive semi-definite matrix of rank at least k, shape (n, n).
        k: number of items to select, static.

    Returns:
        The items in the order of selection.

    Raises:
        ValueError: if a check of L fails, or k is not between 0 and n. Positive semi-definiteness
            is checked only for the pivots of the search.

    References:
        Chen, Zhang and Zhou 2018, "Fast greedy MAP inference for determinantal point process";
        Civril and Magdon-Ismail 2009, for the guarantee.

    Example:
        >>> greedy_kdpp(jnp.array([[2.0, 1.9, 0.0], [1.9, 1.9, 0.0], [0.0, 0.0, 1.0]]), 2).tolist()
        [0, 2]
    """
    with double_precision():
        return most_probable(checked_kernel(L, k), k)


def most_probable(L: Float[Array, "n n"], k: int) -> Int[Array, " {k}"]:
    """The greedy set of k items, for a matrix from `checked_kernel`."""
    if k == 0:
        return jnp.zeros(0, int)
    items, pivots, least = _greedy(L, k)
    largest = jnp.abs(jnp.diagonal(L)).max()
    tolerance = len(L) * ROUND_OFF * largest
    if is_concrete(pivots):
        # Pivots after the first non-positive one are rounding errors.
        rank = int(jnp.argmin(jnp.append(pivots > tolerance, False)))
        variance = float(least if rank == k else pivots[rank])
        if variance < -max(float(tolerance), 1e-8 * float(largest)):
            raise ValueError(
                "L must be positive semi-definite, but a variance of its Cholesky factorization is "
                f"{variance:.3g}: pass a covariance matrix."
            )
        if rank < k:
            raise _rank_error(rank, k)
    return items


@partial(jax.jit, static_argnums=1)
def _greedy(
    L: Float[Array, "n n"], k: int
) -> tuple[Int[Array, " {k}"], Float[Array, " {k}"], Float[Array, ""]]:
    """The items, their pivots (factors of the determinant), and the smallest residual."""

    def add(step: Array, state: tuple[Pivots, Array, Array]) -> tuple[Pivots, Array, Array]:
        pivots, items, sizes = state
        item = jnp.argmax(pivots.residual)
        sizes = sizes.at[step].set(pivots.residual[item])
        return pivots.eliminate(step, item, L[item]), items.at[step].set(item), sizes

    start = (Pivots.of(jnp.diagonal(L), k), jnp.zeros(k, int), jnp.zeros(k))
    pivots, items, sizes = jax.lax.fori_loop(0, k, add, start)
    left = jnp.where(jnp.isneginf(pivots.residual), 0.0, pivots.residual)
    return items, sizes, left.min()


class Pivots(NamedTuple):
    """A partial pivoted Cholesky factorization.

    Args:
        rows: transpose of the factor, zero in rows that are not computed yet.
        residual: residual variance of each item, minus infinity for selected items.
    """

    rows: Float[Array, "k n"]
    residual: Float[Array, " n"]

    @classmethod
    def of(cls, diagonal: Float[Array, " n"], k: int) -> "Pivots":
        """The factorization before the first pivot."""
        return cls(jnp.zeros((k, len(diagonal))), diagonal)

    def eliminate(
        self, step: Int[Array, ""], item: Int[Array, ""], column: Float[Array, " n"]
    ) -> "Pivots":
        """The factorization after one more pivot, given the matrix column of the pivot."""
        row = (column - self.rows[:, item] @ self.rows) / jnp.sqrt(self.residual[item])
        residual = (self.residual - jnp.square(row)).at[item].set(-jnp.inf)
        return Pivots(self.rows.at[step].set(row), residual)


def checked_kernel(L: ArrayLike, k: int) -> Float[Array, "n n"]:
    """L as an array of doubles, after checks of its shape, its entries and k."""
    if jnp.iscomplexobj(L):
        raise ValueError("L must be real, got complex numbers.")
    kernel = jnp.asarray(L, float)
    if kernel.ndim != 2 or kernel.shape[0] != kernel.shape[1]:
        raise ValueError(f"L must be square, got shape {kernel.shape}.")
    if not (is_integer(k) and 0 <= k <= len(kernel)):
        raise ValueError(
            f"k must be between 0 and the {len(kernel)} items of L, got {k!r}: add items or ask "
            "for fewer."
        )
    if is_concrete(kernel):
        _check_entries(np.asarray(kernel))
    return kernel


def _check_entries(values: Float[np.ndarray, "n n"]) -> None:
    """Checks for finite and symmetric entries by products with a random vector."""
    probe = np.random.default_rng(0).uniform(1.0, 2.0, len(values))
    sides = values @ probe, probe @ values
    if not np.isfinite(sides).all():
        row, column = np.argwhere(~np.isfinite(values))[0]
        raise ValueError(f"L must be finite, got L[{row}, {column}] = {values[row, column]}.")
    if np.abs(sides[0] - sides[1]).max(initial=0.0) > 1e-8 * np.abs(sides[0]).max(initial=0.0):
        row, column = np.unravel_index(np.abs(values - values.T).argmax(), values.shape)
        raise ValueError(
            f"L must be symmetric, got L[{row}, {column}] = {values[row, column]} and "
            f"L[{column}, {row}] = {values[column, row]}: pass (L + L.T) / 2."
        )


def _check_spectrum(values: Float[np.ndarray, " n"], tolerance: float, k: int) -> None:
    if values.min() < -max(tolerance, 1e-8 * values.max()):
        raise ValueError(
            f"L must be positive semi-definite, but its smallest eigenvalue is {values.min():.3g}: "
            "pass a covariance matrix."
        )
    if (values > tolerance).sum() < k:
        raise _rank_error(int((values > tolerance).sum()), k)


def _rank_error(rank: int, k: int) -> ValueError:
    return ValueError(
        f"L has rank {rank}, so every set of k={k} items has determinant zero: draw at most "
        f"{rank} items, or add a multiple of the identity."
    )
