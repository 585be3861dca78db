"""The part of the unit cube that satisfies linear inequalities; traceable by JAX."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jaxtyping import Bool, Float, Int, Key

from structbo.models.foundation.arrays import AnyArray

MARGIN = 1e-9
"""Margin of points to the bounds, so that round-off breaks no constraint."""
ROUND_OFF = 1e-12
"""Points outside by at most this, relative to their distance from the center, are not moved."""
NUM_ROUNDS = 8
"""Rounds of hit and run that make a point independent of its start."""


class HalfSpaces(NamedTuple):
    """The points of the unit cube with bounded inner products with given normals.

    Args:
        normals: normal vectors of length 1.
        bounds: upper bounds of the inner products.
        center: a point inside.
        vertices: two or more corners, far apart in all directions.
    """

    normals: Float[AnyArray, "H D"]
    bounds: Float[AnyArray, " H"]
    center: Float[AnyArray, " D"]
    vertices: Float[AnyArray, "V D"]

    @classmethod
    def of(
        cls,
        normals: Float[np.ndarray, "H D"],
        bounds: Float[np.ndarray, " H"],
        center: Float[np.ndarray, " D"],
        vertices: Float[np.ndarray, "V D"],
    ) -> "HalfSpaces":
        """Half spaces reduced by `MARGIN`; the center must be inside by more than the margin."""
        return cls(normals, bounds - MARGIN, center, vertices)

    def pulled_in(self, x: Float[Array, "m D"]) -> Float[Array, "m D"]:
        """Points, with outside points moved towards the center until they are inside."""
        step = jnp.where(self._is_involved, x - self.center, 0.0)
        _, reach = self._chord(jnp.broadcast_to(self.center, x.shape), step)
        factor = jnp.where(reach < 1.0 - ROUND_OFF, reach, 1.0)
        return x - (1.0 - factor[:, None]) * step

    def segment(
        self, x: Float[Array, "m D"], dim: Int[Array, ""]
    ) -> tuple[Float[Array, " m"], Float[Array, " m"]]:
        """Smallest and largest legal value of one coordinate of legal points."""
        axis = jnp.zeros(x.shape[1]).at[dim].set(1.0)
        down, up = self._chord(x, jnp.broadcast_to(axis, x.shape))
        return jnp.maximum(x[:, dim] + down, 0.0), jnp.minimum(x[:, dim] + up, 1.0)

    def uniform(self, x: Float[Array, "m D"]) -> Float[Array, "m D"]:
        """Maps uniform points of the unit cube to uniform points of the allowed part.

        Every point runs its own hit-and-run chain from a random mixture of vertices. Each round
        moves to random places along differences of two vertices, which lead through narrow regions,
        and then along every coordinate. In the last moves along coordinates the given point sets
        the places, so evenly spread points stay evenly spread along lines.

        References:
            Smith 1984, "Efficient Monte Carlo procedures for generating points uniformly
            distributed over bounded regions".
        """
        return jax.vmap(self._walk)(x)

    def _walk(self, x: Float[Array, " D"]) -> Float[Array, " D"]:
        """One point of `uniform`, with random numbers derived from the point."""
        vertices = jnp.asarray(self.vertices)
        bits = jax.lax.bitcast_convert_type(x.astype(jnp.float32), jnp.uint32)
        key = jax.random.key(bits.sum())
        count, num_dims = vertices.shape

        def between(key: Key[Array, ""], point: Float[Array, " D"]) -> Float[Array, " D"]:
            key_first, key_other, key_place = jax.random.split(key, 3)
            first = jax.random.randint(key_first, (), 0, count)
            other = (first + jax.random.randint(key_other, (), 1, count)) % count
            direction = vertices[first] - vertices[other]
            (down,), (up,) = self._chord(point[None], direction[None], in_cube=True)
            return point + (down + (up - down) * jax.random.uniform(key_place)) * direction

        def one_round(number: Int[Array, ""], point: Float[Array, " D"]) -> Float[Array, " D"]:
            keys = jax.random.split(jax.random.fold_in(key, number), count + 1)
            is_last = number == NUM_ROUNDS - 1
            shift = jnp.where(is_last, 0.0, jax.random.uniform(keys[count], (num_dims,)))
            place = (x + shift) % 1.0

            def along(dim: Int[Array, ""], point: Float[Array, " D"]) -> Float[Array, " D"]:
                (low,), (high,) = self.segment(point[None], dim)
                return point.at[dim].set(low + (high - low) * place[dim])

            point = jax.lax.fori_loop(0, count, lambda k, p: between(keys[k], p), point)
            return jax.lax.fori_loop(0, num_dims, along, point)

        start = jax.random.dirichlet(jax.random.fold_in(key, NUM_ROUNDS), jnp.ones(count))
        point = jax.lax.fori_loop(0, NUM_ROUNDS, one_round, start @ vertices)
        return jnp.where(self._is_involved, point, x)

    @property
    def _is_involved(self) -> Bool[Array, " D"]:
        """Which coordinates the half spaces involve."""
        return jnp.any(jnp.asarray(self.normals) != 0.0, axis=0)

    def _chord(
        self, x: Float[Array, "m D"], step: Float[Array, "m D"], in_cube: bool = False
    ) -> tuple[Float[Array, " m"], Float[Array, " m"]]:
        """The smallest and the largest t with ``x + t step`` inside.

        Args:
            x: points inside.
            step: a direction for each point.
            in_cube: whether the unit cube bounds the chord as well.

        Returns:
            Both for each point; infinite if the chord is unbounded.
        """
        normals = jnp.asarray(self.normals)
        slope, room = step @ normals.T, self.bounds - x @ normals.T
        if in_cube:
            slope = jnp.concatenate([slope, step, -step], axis=1)
            room = jnp.concatenate([room, 1.0 - x, x], axis=1)
        end = room / jnp.where(slope != 0.0, slope, 1.0)
        least = jnp.where(slope < 0.0, end, -jnp.inf).max(1)
        return least, jnp.where(slope > 0.0, end, jnp.inf).min(1)


pulled_in = jax.jit(HalfSpaces.pulled_in)
