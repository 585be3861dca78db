"""The legal coordinates of points, for grids and for rounding."""

from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jaxtyping import Bool, Float, Int

from structbo.models.foundation.arrays import AnyArray
from structbo.space.half_spaces import HalfSpaces

NEUTRAL = 0.5
"""The coordinate of a missing variable."""
FEW_LEVELS = 2**10
"""Number of levels up to which comparing with all is faster than bisection."""


class Levels(NamedTuple):
    """The legal coordinates of every variable, in the unit interval.

    Grids are laid over *positions*: the coordinate of a continuous variable, the index of the
    level of a discrete one.

    Args:
        values: levels of the discrete variables, padded.
        counts: number of levels of each variable, 0 for a continuous one.
        has_order: which variables are not categories.
        half_spaces: linear constraints on continuous variables, or None.
        conditions: whether variable d can exist at level l of variable q; the last of the M levels
            stands for all higher ones. None if all variables exist everywhere. A variable exists if
            all others allow it.
    """

    values: Float[Array, "D L"]
    counts: Int[Array, " D"]
    has_order: Bool[Array, " D"]
    half_spaces: HalfSpaces | None = None
    conditions: Bool[Array, "D D M"] | None = None

    @classmethod
    def of(
        cls,
        levels: Sequence[Float[np.ndarray, " _L"] | None],
        half_spaces: HalfSpaces | None = None,
        conditions: Bool[np.ndarray, "D D M"] | None = None,
        categorical: tuple[int, ...] = (),
    ) -> "Levels":
        """Pads one array of levels per variable; None stands for a continuous one."""
        counts = [0 if values is None else len(values) for values in levels]
        padded = np.zeros((len(levels), max(1, *counts)))
        for row, values in zip(padded, levels, strict=True):
            if values is not None:
                row[: len(values)] = values
        allowed = None if conditions is None else jnp.asarray(conditions)
        has_order = jnp.asarray(~np.isin(np.arange(len(levels)), categorical))
        return cls(jnp.asarray(padded), jnp.asarray(counts), has_order, half_spaces, allowed)

    def as_arrays(self) -> list[Float[np.ndarray, " _L"] | None]:
        """One array of levels per variable, None for a continuous one; not traceable."""
        values, counts = np.asarray(self.values), np.asarray(self.counts)
        return [row[:k] if k else None for row, k in zip(values, counts, strict=True)]

    @property
    def discrete(self) -> Bool[Array, "D 1"]:
        """Which variables are discrete."""
        return self.counts[:, None] > 0

    @property
    def span(self) -> Float[Array, "D 1"]:
        """The last position of every variable; the first is 0."""
        return jnp.where(self.discrete, self.counts[:, None] - 1.0, 1.0)

    def coordinates(self, positions: Float[Array, "D m"]) -> Float[Array, "D m"]:
        """The coordinates at positions."""
        index = jnp.where(self.discrete, positions, 0).astype(int)
        return jnp.where(self.discrete, jnp.take_along_axis(self.values, index, axis=1), positions)

    def positions(self, x: Float[AnyArray, " D"]) -> Float[Array, "D 1"]:
        """The positions nearest to a point."""
        coordinates = jnp.asarray(x)[:, None]
        return jnp.where(
            self.discrete, self._nearest_index(coordinates), jnp.clip(coordinates, 0.0, 1.0)
        )

    def _nearest_index(self, coordinates: Float[Array, "D m"]) -> Int[Array, "D m"]:
        """The indices of the nearest levels; the lower one if two are equally near."""
        middles = 0.5 * (self.values[:, 1:] + self.values[:, :-1])
        is_between = jnp.arange(middles.shape[1]) < self.counts[:, None] - 1
        method = "compare_all" if middles.shape[1] <= FEW_LEVELS else "scan"
        search = partial(jnp.searchsorted, method=method)
        return jax.vmap(search)(jnp.where(is_between, middles, jnp.inf), coordinates)

    def regular_positions(self, num_grid: int) -> Float[Array, "D {num_grid}"]:
        """Positions at evenly spaced coordinates, both ends included; all levels if there is room.

        The levels of an integer on a logarithmic scale are not evenly spaced.
        """
        line = jnp.broadcast_to(jnp.linspace(0.0, 1.0, num_grid), (len(self.counts), num_grid))
        has_room = self.counts[:, None] <= num_grid
        index = jnp.where(has_room, jnp.round(self.span * line), self._nearest_index(line))
        return jnp.where(self.discrete, index, line)

    def regular_grid(self, num_grid: int) -> Float[Array, "D {num_grid}"]:
        """The coordinates of `regular_positions`."""
        return self.coordinates(self.regular_positions(num_grid))

    def even(self, uniform: Float[AnyArray, "m D"]) -> Float[Array, "m D"]:
        """Legal points from uniform ones.

        A level is as likely as it is far from its neighbors: levels of equal steps are equally
        likely, and integers on a logarithmic scale have equally likely ratios.
        """
        lines = jnp.asarray(uniform).T
        last = jnp.maximum(self.counts[:, None] - 1, 0)
        ends = (0 * last, jnp.minimum(1, last), jnp.maximum(last - 1, 0), last)
        first, second, before, end = (jnp.take_along_axis(self.values, k, axis=1) for k in ends)
        low, high = 1.5 * first - 0.5 * second, 1.5 * end - 0.5 * before
        index = self._nearest_index(low + (high - low) * lines)
        points = self.coordinates(jnp.where(self.discrete, index, lines)).T
        points = points if self.half_spaces is None else self.half_spaces.uniform(points)
        return jax.vmap(self.imputed)(points)

    def nearest(self, x: Float[AnyArray, " D"]) -> Float[Array, " D"]:
        """The nearest legal point to a point; with half spaces, on its ray to the center."""
        point = self.coordinates(self.positions(x))[:, 0]
        if self.half_spaces is not None:
            point = self.half_spaces.pulled_in(point[None])[0]
        return self.imputed(point)

    def existing(self, x: Float[Array, " D"]) -> Bool[Array, " D"]:
        """Which variables exist at a point."""
        if self.conditions is None:
            return jnp.ones(x.shape, bool)
        num_dims, _, num_levels = self.conditions.shape
        index = jnp.where(self.discrete, self.positions(x), 0)[:, 0].astype(int)
        level = jnp.minimum(index, num_levels - 1)
        return self.conditions[:, jnp.arange(num_dims), level].all(1)

    def imputed(self, x: Float[Array, " D"]) -> Float[Array, " D"]:
        """A point with missing variables at the coordinate `NEUTRAL`."""
        return x if self.conditions is None else jnp.where(self.existing(x), x, NEUTRAL)

    def on_line(
        self, x: Float[Array, "K D"], dim: Int[Array, ""], line: Float[Array, " G"]
    ) -> Float[Array, "K G"]:
        """Coordinates along one dimension, scaled to the legal segment through each point.

        Args:
            x: legal points.
            dim: the dimension.
            line: coordinates in the whole unit interval.
        """
        if self.half_spaces is None:
            return jnp.broadcast_to(line, (len(x), len(line)))
        low, high = self.half_spaces.segment(x, dim)
        return low[:, None] + (high - low)[:, None] * line
