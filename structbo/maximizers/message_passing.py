"""Exact maximization of an additive function: max-sum message passing, from coarse to fine.

`max_sum` maximizes over a grid. `coarse_to_fine` repeats it on grids that close in on the best
point so far, which stays on every grid. Both are traceable, and the graph enters as the integer
arrays of a `Layout`: one compilation serves all graphs whose layouts have the same shape.
"""

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple, Protocol

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from structbo.maximizers.junction_tree import Layout


class AdditiveFunction(Protocol):
    """A sum of factors, each a function of few variables; a pytree, so that `jax.jit` takes it.

    ``scopes`` is read on the host only: group g has shape (F_g, s_g) and lists the variables of
    F_g factors; a row of -1 is padding and is ignored.
    """

    @property
    def scopes(self) -> tuple[np.ndarray, ...]:
        """Variables of all factors, groups of shape (F_g, s_g)."""
        ...

    def tables(self, grids: Array) -> tuple[Array, ...]:
        """The factors on grids (D, G): group g has shape (F_g, G, ..., G), axes as in its scope."""
        ...

    def __call__(self, x: Array) -> Array:
        """The sum of all factors at points (m, D), shape (m,)."""
        ...


class Levels(NamedTuple):
    """The legal coordinates of every variable, in the unit interval.

    Grids are laid over *positions*: the coordinate of a continuous variable, the index of the
    level of a discrete one.

    Args:
        values: levels of the discrete variables, padded, shape (D, L).
        counts: how many levels each variable has, 0 for a continuous one, shape (D,).
    """

    values: Array
    counts: Array

    @classmethod
    def of(cls, levels: Sequence[np.ndarray | None]) -> "Levels":
        """Pads one array of levels per variable; None stands for a continuous one."""
        counts = [0 if values is None else len(values) for values in levels]
        padded = np.zeros((len(levels), max(1, *counts)))
        for row, values in zip(padded, levels, strict=True):
            if values is not None:
                row[: len(values)] = values
        return cls(jnp.asarray(padded), jnp.asarray(counts))

    @property
    def discrete(self) -> Array:
        """Which variables are discrete, shape (D, 1)."""
        return self.counts[:, None] > 0

    @property
    def span(self) -> Array:
        """The last position of every variable, the first one being 0, shape (D, 1)."""
        return jnp.where(self.discrete, self.counts[:, None] - 1.0, 1.0)

    def coordinates(self, positions: Array) -> Array:
        """The coordinates at positions (D, m)."""
        index = jnp.where(self.discrete, positions, 0).astype(int)
        return jnp.where(self.discrete, jnp.take_along_axis(self.values, index, axis=1), positions)

    def positions(self, x: Array) -> Array:
        """The positions nearest to a point (D,), shape (D, 1)."""
        is_level = jnp.arange(self.values.shape[1]) < self.counts[:, None]
        distance = jnp.where(is_level, jnp.abs(self.values - x[:, None]), jnp.inf)
        nearest = jnp.argmin(distance, axis=1, keepdims=True)
        return jnp.where(self.discrete, nearest, jnp.clip(x[:, None], 0.0, 1.0))

    def regular_positions(self, num_grid: int) -> Array:
        """Positions all over the space, both ends included, shape (D, G)."""
        positions = self.span * jnp.linspace(0.0, 1.0, num_grid)
        return jnp.where(self.discrete, jnp.round(positions), positions)

    def regular_grid(self, num_grid: int) -> Array:
        """The coordinates of `regular_positions`, shape (D, G)."""
        return self.coordinates(self.regular_positions(num_grid))

    def even(self, uniform: Array) -> Array:
        """Legal points from uniform ones (m, D), every level of a variable equally likely."""
        spread = jnp.floor(jnp.asarray(uniform).T * self.counts[:, None])
        return self.coordinates(jnp.where(self.discrete, spread, uniform.T)).T

    def nearest(self, x: Array) -> Array:
        """The legal point nearest to a point (D,)."""
        return self.coordinates(self.positions(x))[:, 0]


@jax.jit
def max_sum(tables: tuple[Array, ...], layout: Layout) -> tuple[Array, Array]:
    """Maximizes a sum of tables over a grid, exactly.

    Variables are eliminated one by one: the tables and messages that involve a variable are
    added up over its clique, and the maximum over the variable is the message to the parent. In
    reverse order, each variable is then set to its best value given those already set.

    Args:
        tables: the factors, group g with shape (F_g, G, ..., G).
        layout: the junction tree of their graph.

    Returns:
        The maximum, and the grid index of each variable there, shape (D,).

    References:
        Rolland et al. 2018, Algorithm 2.
    """
    flat, value = pass_messages(tables, layout, lambda table: table.max(0))
    return value, read_off(flat, layout, lambda values, _: jnp.argmax(values))


def pass_messages(
    tables: tuple[Array, ...], layout: Layout, reduce: Callable[[Array], Array]
) -> tuple[Array, Array]:
    """Eliminates all variables, each clique's table reduced over its first axis to a message.

    Args:
        tables: the factors, group g with shape (F_g, G, ..., G).
        layout: the junction tree of their graph.
        reduce: takes the eliminated variable, the first axis, out of a table.

    Returns:
        All tables and messages as one flat vector, and the total of what is left at the roots.
    """
    num_grid, width = layout.num_grid, layout.width
    num_dims = len(layout.order)
    offsets, strides = jnp.asarray(layout.offsets), jnp.asarray(layout.strides)
    message_offset = sum(table.size for table in tables)
    points = jnp.arange(num_grid, dtype=offsets.dtype)
    flat = jnp.concatenate(
        [*(table.ravel() for table in tables), jnp.zeros(num_dims * num_grid**width)]
    )

    def message(size: int, flat: Array, first: Array, stop: Array) -> Array:
        """Reduces the table of a clique with a separator of this size."""

        def add(entry: Array, table: Array) -> Array:
            index = offsets[entry]
            for axis in range(size + 1):
                index += (strides[entry, axis] * points).reshape((-1,) + (1,) * (size - axis))
            return table + flat.at[index].get(mode="promise_in_bounds")

        table = jax.lax.fori_loop(first, stop, add, jnp.zeros((num_grid,) * (size + 1)))
        return jnp.pad(reduce(table).ravel(), (0, num_grid**width - num_grid**size))

    messages = [partial(message, size) for size in range(width + 1)]

    def eliminate(flat: Array, step: tuple[Array, ...]) -> tuple[Array, Array]:
        number, size, first, stop = step
        new = jax.lax.switch(size, messages, flat, first, stop)
        start = message_offset + number * num_grid**width
        return jax.lax.dynamic_update_slice(flat, new, (start,)), jnp.where(size == 0, new[0], 0.0)

    sizes = jnp.asarray(layout.separator_sizes)
    flat, at_roots = jax.lax.scan(
        eliminate, flat, (jnp.arange(num_dims), sizes, *_entry_ranges(layout))
    )
    return flat, at_roots.sum()


def read_off(flat: Array, layout: Layout, choose: Callable[[Array, Array], Array]) -> Array:
    """Sets the variables one by one, in the reverse order of their elimination.

    Args:
        flat: all tables and messages, from `pass_messages`.
        layout: the junction tree.
        choose: from the clique's table at the values of its separator, shape (G,), and the number
            of the step, the index of the variable's value.

    Returns:
        The grid index of each variable, shape (D,).
    """
    num_dims = len(layout.order)
    offsets, strides = jnp.asarray(layout.offsets), jnp.asarray(layout.strides)
    points = jnp.arange(layout.num_grid, dtype=offsets.dtype)

    def assign(index: Array, step: tuple[Array, ...]) -> tuple[Array, None]:
        number, variable, separator, first, stop = step

        def add(entry: Array, values: Array) -> Array:
            fixed = offsets[entry] + strides[entry, 1:] @ index[separator]
            return values + flat[fixed + strides[entry, 0] * points]

        values = jax.lax.fori_loop(first, stop, add, jnp.zeros(layout.num_grid))
        return index.at[variable].set(choose(values, number).astype(index.dtype)), None

    order, separators = jnp.asarray(layout.order), jnp.asarray(layout.separators)
    steps = (jnp.arange(num_dims), order, separators, *_entry_ranges(layout))
    return jax.lax.scan(assign, jnp.zeros(num_dims, offsets.dtype), steps, reverse=True)[0]


def _entry_ranges(layout: Layout) -> tuple[Array, Array]:
    """First entry of every step, and the one after its last."""
    return jnp.asarray(layout.entries[:-1]), jnp.asarray(layout.entries[1:])


@jax.jit
def coarse_to_fine(
    function: AdditiveFunction, layout: Layout, levels: Levels, start: Array, num_rounds: int
) -> tuple[Array, Array]:
    """Maximizes an additive function by max-sum on ever finer grids.

    The first grid spreads over all positions, both ends included; each later one over a window
    around the best point so far, as wide as 4 steps of the last grid and at most half as wide as
    its window. The grid point nearest to the best point is replaced by it, so that the value never
    decreases. A discrete variable with at most G levels has all of them on every grid; one with
    more has a window of them, in the end of adjacent ones.

    Args:
        function: the additive function.
        layout: the junction tree of its graph; clamped variables stay at ``start``.
        levels: the legal coordinates.
        start: a point that is on the first grid, shape (D,); zeros leave that grid regular.
        num_rounds: number of grids, at least 1.

    Returns:
        The maximizer, shape (D,), and its value.
    """
    num_grid = layout.num_grid
    ruler = jnp.linspace(0.0, 1.0, num_grid)
    narrowest = jnp.where(levels.discrete, jnp.minimum(levels.span, num_grid - 1.0), 0.0)

    def one_round(_: Array, state: tuple[Array, Array, Array]) -> tuple[Array, Array, Array]:
        best, window, value = state
        low = jnp.clip(best - window / 2.0, 0.0, levels.span - window)
        grid = jnp.where(levels.discrete, jnp.floor(low), low) + window * ruler
        grid = jnp.where(levels.discrete, jnp.round(grid), grid)
        nearest = jnp.argmin(jnp.abs(grid - best), axis=1, keepdims=True)
        is_best = (jnp.arange(num_grid) == nearest) | layout.clamped[:, None]
        grid = jnp.where(is_best, best, grid)
        new_value, index = max_sum(function.tables(levels.coordinates(grid)), layout)
        new_best = jnp.take_along_axis(grid, index[:, None], axis=1)
        better = new_value > value
        window = jnp.maximum(window * _shrinkage(num_grid), narrowest)
        return jnp.where(better, new_best, best), window, jnp.where(better, new_value, value)

    state = (levels.positions(start), levels.span, jnp.array(-jnp.inf))
    best, _, value = jax.lax.fori_loop(0, num_rounds, one_round, state)
    return levels.coordinates(best)[:, 0], value


def rounds_needed(num_grid: int, resolution: float = 1e-3) -> int:
    """How many grids `coarse_to_fine` needs to bring their step down to a resolution.

    Args:
        num_grid: number of grid points G.
        resolution: largest step of the last grid.

    Returns:
        The number of rounds.

    Example:
        >>> rounds_needed(33), rounds_needed(9)
        (3, 8)
    """
    narrowing = math.log(resolution * (num_grid - 1)) / math.log(_shrinkage(num_grid))
    return 1 + max(0, math.ceil(narrowing))


def _shrinkage(num_grid: int) -> float:
    return min(0.5, 4.0 / (num_grid - 1))
