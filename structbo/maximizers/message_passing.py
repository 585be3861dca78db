"""Exact maximization of an additive function: max-sum message passing, from coarse to fine.

`max_sum` maximizes over a grid. `coarse_to_fine` repeats it on grids that close in on the best
point so far, which stays on every grid. Both are traceable, and the graph enters as the integer
arrays of a `Layout`: one compilation serves all graphs whose layouts have the same shape.
"""

import math
from collections.abc import Callable
from functools import partial
from typing import Any, Protocol

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jaxtyping import Float, Int

from structbo.maximizers.junction_tree import Layout
from structbo.models.foundation.arrays import AnyArray
from structbo.space import Levels

Tables = tuple[Float[Array, " _F *_grid"], ...]
"""The F factors of each group on a grid: an axis of G points for each variable of a factor."""


class AdditiveFunction(Protocol):
    """A sum of factors, each a function of few variables; a pytree, so that `jax.jit` takes it.

    ``scopes`` is read on the host only: each group lists the variables of F factors of one size; a
    row of -1 is padding and is ignored.
    """

    @property
    def scopes(self) -> tuple[Int[np.ndarray, "_F _size"], ...]:
        """Variables of all factors, by group."""
        ...

    def tables(self, grids: Float[Array, "D G"]) -> Tables:
        """The factors on grids, with axes as in their scopes."""
        ...

    def __call__(self, x: Float[Array, "m D"]) -> Float[Array, " m"]:
        """The sum of all factors at points."""
        ...


@jax.jit
def max_sum(tables: Tables, layout: Layout) -> tuple[Float[Array, ""], Int[Array, " D"]]:
    """Maximizes a sum of tables over a grid, exactly.

    Variables are eliminated one by one: the tables and messages that involve a variable are
    added up over its clique, and the maximum over the variable is the message to the parent. In
    reverse order, each variable is then set to its best value given those already set.

    Args:
        tables: the factors.
        layout: the junction tree of their graph.

    Returns:
        The maximum, and the grid index of each variable there.

    References:
        Rolland et al. 2018, Algorithm 2.
    """
    flat, value = pass_messages(tables, layout, lambda table: table.max(0))
    return value, read_off(flat, layout, lambda values, _: jnp.argmax(values))


def pass_messages(
    tables: Tables,
    layout: Layout,
    reduce: Callable[[Float[Array, " G *grid"]], Float[Array, "*grid"]],
) -> tuple[Float[Array, " flat"], Float[Array, ""]]:
    """Eliminates all variables, each clique's table reduced over its first axis to a message.

    Args:
        tables: the factors.
        layout: the junction tree of their graph.
        reduce: removes the eliminated variable, the first axis, from a table.

    Returns:
        All tables and messages as one flat vector, and the sum of the values at the roots.
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


def read_off(
    flat: Float[Array, " flat"],
    layout: Layout,
    choose: Callable[[Float[Array, " G"], Int[Array, ""]], Int[Array, ""]],
) -> Int[Array, " D"]:
    """Sets the variables one by one, in the reverse order of their elimination.

    Args:
        flat: all tables and messages, from `pass_messages`.
        layout: the junction tree.
        choose: maps the clique's table at the values of its separator, and the number of the step
            to the index of the variable's value.

    Returns:
        The grid index of each variable.
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


def _entry_ranges(layout: Layout) -> tuple[Int[Array, " D"], Int[Array, " D"]]:
    """First entry of every step, and the one after its last."""
    return jnp.asarray(layout.entries[:-1]), jnp.asarray(layout.entries[1:])


@jax.jit
def coarse_to_fine(
    function: AdditiveFunction,
    layout: Layout,
    levels: Levels,
    start: Float[AnyArray, " D"],
    num_rounds: int,
) -> tuple[Float[Array, " D"], Float[Array, ""]]:
    """Maximizes an additive function by max-sum on ever finer grids; see `maxima_on_same_grids`.

    Args:
        function: the additive function.
        layout: the junction tree of its graph; clamped variables stay at ``start``.
        levels: the legal coordinates.
        start: a point to include in the first grid; with zeros this grid is regular.
        num_rounds: number of grids, at least 1.

    Returns:
        The maximizer and its value.
    """

    def tables(
        grids: Float[Array, "D G"], places: Int[Array, "1 D G"]
    ) -> tuple[Float[Array, " 1 _F *_grid"], ...]:
        own = jnp.take_along_axis(grids, places[0], axis=1)
        return tuple(table[None] for table in function.tables(own))

    one = jax.tree.map(lambda leaf: jnp.asarray(leaf)[None], layout)
    points, values = maxima_on_same_grids(tables, one, levels, start, num_rounds)
    return points[0], values[0]


def maxima_on_same_grids(
    tables: Callable[
        [Float[Array, "D G"], Int[Array, "K D G"]], tuple[Float[Array, " K _F *_grid"], ...]
    ],
    layouts: Layout,
    levels: Levels,
    start: Float[AnyArray, " D"],
    num_rounds: Int[Array, ""] | int,
) -> tuple[Float[Array, "K D"], Float[Array, " K"]]:
    """Maximizes several additive functions by max-sum on common, successively finer grids.

    The first grid spans all positions, both ends included. Each later one spans a window around the
    first function's best point so far, 4 steps of the last grid wide and at most half of its
    window. The best point replaces the nearest grid point, so its value never decreases. A discrete
    variable with at most G levels has all of them on every grid; one with more has a window of
    levels, adjacent ones on the last grids. Traceable.

    Args:
        tables: maps grids and places to the factors of K functions. For function k, position i of
            variable d means position ``places[k, d, i]`` of its grid; all positions of a clamped
            variable mean the same one.
        layouts: the junction trees of their graphs, stacked; clamped variables stay at ``start``.
        levels: the legal coordinates.
        start: a point to include in the first grid; with zeros this grid is regular.
        num_rounds: number of grids, at least 1.

    Returns:
        The best points and their values.
    """
    num_grid, is_clamped = layouts.num_grid, jnp.asarray(layouts.clamped)[..., None]
    ruler = jnp.linspace(0.0, 1.0, num_grid)
    narrowest = jnp.where(levels.discrete, jnp.minimum(levels.span, num_grid - 1.0), 0.0)

    def one_round(_: Array, state: tuple[Array, Array, Array]) -> tuple[Array, Array, Array]:
        best, window, value = state
        center = best[0]
        low = jnp.clip(center - window / 2.0, 0.0, levels.span - window)
        grid = jnp.where(levels.discrete, jnp.floor(low), low) + window * ruler
        grid = jnp.where(levels.discrete, jnp.round(grid), grid)
        nearest = jnp.argmin(jnp.abs(grid - center), axis=1, keepdims=True)
        positions = jnp.arange(num_grid)
        grid = jnp.where(positions == nearest, center, grid)
        places = jnp.where(is_clamped, nearest, positions)

        def maximum(item: tuple[Any, Layout, Array]) -> tuple[Array, Array]:
            tables, layout, places = item
            new_value, index = max_sum(tables, layout)
            index = jnp.take_along_axis(places, index[:, None], axis=1)
            return jnp.take_along_axis(grid, index, axis=1), new_value

        on_grid = tables(levels.coordinates(grid), places)
        new_best, new_value = jax.lax.map(maximum, (on_grid, layouts, places))
        better = new_value > value
        window = jnp.maximum(window * _shrinkage(num_grid), narrowest)
        best = jnp.where(better[:, None, None], new_best, best)
        return best, window, jnp.where(better, new_value, value)

    shape = is_clamped.shape
    starts = jnp.broadcast_to(levels.positions(start), shape)
    state = (starts, levels.span, jnp.full(shape[0], -jnp.inf))
    best, _, value = jax.lax.fori_loop(0, num_rounds, one_round, state)
    return jax.vmap(levels.coordinates)(best)[..., 0], value


def at_places(
    tables: Tables, scopes: tuple[Int[Array, "_F _size"], ...], places: Int[Array, "D G"]
) -> Tables:
    """Tables with positions replaced by others, as in `maxima_on_same_grids`.

    Args:
        tables: the factors.
        scopes: their variables, by group.
        places: the replacement of each position, by variable.

    Returns:
        Tables of the same shapes.
    """

    def moved(
        table: Float[Array, " F *grid"], scope: Int[Array, "F size"]
    ) -> Float[Array, " F *grid"]:
        for axis in range(scope.shape[1]):
            others = [1 + other for other in range(scope.shape[1]) if other != axis]
            index = jnp.expand_dims(places[scope[:, axis]], others)
            table = jnp.take_along_axis(table, index, axis=1 + axis)
        return table

    return tuple(map(moved, tables, scopes))


def rounds_needed(num_grid: int, resolution: float = 1e-3) -> int:
    """The number of grids that `coarse_to_fine` needs to reach a resolution.

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
