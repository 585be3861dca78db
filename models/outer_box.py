"""The smallest box around a projected cube, over which acquisitions are maximized."""

from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import Array


def outer_box_ratio(W: Array) -> Array:
    """Volume ratio of the smallest box around the projected unit cube to the projected cube.

    Args:
        W: square matrix, shape (D, D).

    Returns:
        ``prod_d |w_d|_1 / |det W|`` with w_d the columns of W, a scalar of at least 1.

    References:
        Li et al. 2016, eq. (8).

    Example:
        >>> float(outer_box_ratio(jnp.array([[1.0, 0.0], [1.0, 1.0]])))
        2.0
    """
    return jnp.exp(log_outer_box_ratio(W))


def log_outer_box_ratio(W: Array) -> Array:
    """The logarithm of `outer_box_ratio`, a scalar of at least 0."""
    return jnp.log(jnp.abs(W).sum(0)).sum() - jnp.linalg.slogdet(W)[1]


class OuterBox(NamedTuple):
    """The smallest box around the projected unit cube, scaled to a unit cube.

    Args:
        W: the directions, shape (D, P).

    References:
        Li et al. 2016, section 4.1 and figure 2.
    """

    W: Array

    @property
    def low(self) -> Array:
        """The smallest value of every projection, shape (P,)."""
        return jnp.minimum(self.W, 0.0).sum(0)

    @property
    def width(self) -> Array:
        """The range of every projection, shape (P,)."""
        return jnp.abs(self.W).sum(0)

    def to_unit(self, x: Array) -> Array:
        """Coordinates in the box of points of the unit cube, shape (n, D) to (n, P)."""
        return (x @ self.W - self.low) / self.width

    def from_unit(self, u: Array) -> tuple[Array, Array]:
        """Points of the unit cube near points of the box.

        Each is the point with the same projections nearest to the center of the cube, clipped into
        the cube.

        Args:
            u: coordinates in the box, shape (n, P).

        Returns:
            Points, shape (n, D), and the distance that clipping moved each of them, shape (n,).
        """
        center = jnp.full(self.W.shape[0], 0.5)
        z = self.low + u * self.width
        free = center + (z - center @ self.W) @ jnp.linalg.pinv(self.W)
        x = jnp.clip(free, 0.0, 1.0)
        return x, jnp.linalg.norm(x - free, axis=-1)


def each_matrix(function: Callable[[Array], Array], matrices: Array) -> Array:
    """A function mapped sequentially over a batch of matrices, shape (..., D, D).

    Before JAX 0.11 a batched factorization on a CPU occupies a thread of XLA's pool while it waits
    for parts computed by the same pool. If such factorizations occupy all threads, they deadlock.
    """
    values = jax.lax.map(function, matrices.reshape(-1, *matrices.shape[-2:]))
    return values.reshape(*matrices.shape[:-2], *values.shape[1:])
