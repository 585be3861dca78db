"""The smallest box around a projected cube, over which acquisitions are maximized."""

from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import Array
from jaxtyping import Float

from structbo.models.foundation.arrays import AnyArray


def outer_box_ratio(W: Float[AnyArray, "D D"]) -> Float[Array, ""]:
    """Volume ratio of the smallest box around the projected unit cube to the projected cube.

    Args:
        W: square matrix.

    Returns:
        ``prod_d |w_d|_1 / |det W|`` with w_d the columns of W, at least 1.

    References:
        Li et al. 2016, eq. (8).

    Example:
        >>> float(outer_box_ratio(jnp.array([[1.0, 0.0], [1.0, 1.0]])))
        2.0
    """
    return jnp.exp(log_outer_box_ratio(W))


def log_outer_box_ratio(W: Float[AnyArray, "D D"]) -> Float[Array, ""]:
    """The logarithm of `outer_box_ratio`, at least 0."""
    return jnp.log(jnp.abs(W).sum(0)).sum() - jnp.linalg.slogdet(W)[1]


class OuterBox(NamedTuple):
    """The smallest box around the projected unit cube, scaled to a unit cube.

    Args:
        W: directions of P projections, in columns.

    References:
        Li et al. 2016, section 4.1 and figure 2.
    """

    W: Float[AnyArray, "D P"]

    @property
    def low(self) -> Float[Array, " P"]:
        """The smallest value of every projection."""
        return jnp.minimum(self.W, 0.0).sum(0)

    @property
    def width(self) -> Float[Array, " P"]:
        """The range of every projection."""
        return jnp.abs(self.W).sum(0)

    def to_unit(self, x: Float[AnyArray, "*n D"]) -> Float[Array, "*n P"]:
        """Coordinates in the box of points of the unit cube."""
        return (jnp.asarray(x) @ self.W - self.low) / self.width

    def from_unit(
        self, u: Float[AnyArray, "*n P"]
    ) -> tuple[Float[Array, "*n D"], Float[Array, "*n"]]:
        """Points of the unit cube near points of the box.

        Each is the point with the same projections nearest to the center of the cube, clipped into
        the cube.

        Args:
            u: coordinates in the box.

        Returns:
            Points, and the distance that clipping moved each of them.
        """
        center = jnp.full(self.W.shape[0], 0.5)
        z = self.low + u * self.width
        free = center + (z - center @ self.W) @ jnp.linalg.pinv(self.W)
        x = jnp.clip(free, 0.0, 1.0)
        return x, jnp.linalg.norm(x - free, axis=-1)


def each_matrix(
    function: Callable[[Float[Array, "D D"]], Float[Array, "..."]], matrices: Float[Array, "*S D D"]
) -> Float[Array, "..."]:
    """A function mapped sequentially over a batch of matrices.

    Before JAX 0.11 a batched factorization on a CPU occupies a thread of XLA's pool while it waits
    for parts computed by the same pool. If such factorizations occupy all threads, they deadlock.
    """
    values = jax.lax.map(function, matrices.reshape(-1, *matrices.shape[-2:]))
    return values.reshape(*matrices.shape[:-2], *values.shape[1:])
