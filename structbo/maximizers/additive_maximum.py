"""Maximization of an additive function with any graph within a memory budget.

If the tables of the junction tree fit, message passing finds the maximum. Otherwise, block
coordinate ascent uses blocks of variables with narrow junction trees, and a bound limits the
distance to the maximum.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import product
from typing import NamedTuple, cast

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jaxtyping import Float

from structbo.maximizers.junction_tree import (
    Graph,
    JunctionTree,
    Layout,
    dependency_graph,
    make_layout,
    table_bytes,
    triangulate,
)
from structbo.maximizers.maximizer import Function, Maximizer, evaluate, is_additive, ranked
from structbo.maximizers.message_passing import (
    AdditiveFunction,
    Tables,
    coarse_to_fine,
    max_sum,
    rounds_needed,
)
from structbo.maximizers.mini_buckets import upper_bound
from structbo.maximizers.search_state import Search
from structbo.models.foundation.precision import double_precision
from structbo.space import Levels

# Grid sizes, finest first. More points cost time without better maxima; fewer may miss the best
# basin.
GRIDS = (33, 25, 17, 13, 11, 9)
_COARSE = 17
# Blocks of width 3 on 17 points take some 30 ms; small grids are for factors of many variables.
BLOCK_GRIDS = (17, 13, 9, 5, 3)
BLOCK_WIDTHS = (3, 2, 1, 0)
_MAX_BLOCKS = 50
_PATIENCE = 3
_TOLERANCE = 1e-6
_NUM_STARTS = 8
_NUM_RANDOM_POINTS = 1024
# Mini-buckets of 5 variables on 17 points; larger ones take seconds.
_MAX_BUCKET_BYTES = 2**24


class Maximum(NamedTuple):
    """The result of `maximize_additive`.

    Args:
        x: the maximizer.
        value: the value of the function at the maximizer.
        treewidth: width of the junction tree of the function's graph.
        exact: whether this tree fits the memory budget. The value is then at least the maximum over
            a regular grid, otherwise a maximum over blocks of variables.
        upper_bound: upper bound of the function on a regular grid, and at least the value; equal to
            the value if exact. The grid has ``bound_grid`` points per variable, both ends included,
            or equally many levels of a discrete variable. Between grid points the function may be
            larger.
        bound_grid: the number of grid points per variable for which the bound holds.
    """

    x: Float[np.ndarray, " D"]
    value: float
    treewidth: int
    exact: bool
    upper_bound: float
    bound_grid: int

    @property
    def gap(self) -> float:
        """An upper bound on the gain of any point of the regular grid over the result."""
        return self.upper_bound - self.value


@dataclass(frozen=True)
class MessagePassing(Maximizer):
    """The maximum of an additive acquisition, by message passing alone.

    For other acquisitions, the best of the maxima of a surrogate, the additive confidence bound.
    """

    def starts(self, function: Function, search: Search) -> Float[Array, "K D"]:
        return ranked(function, jnp.asarray(search.maxima))

    def __call__(self, function: Function, search: Search) -> Float[np.ndarray, "K D"]:
        starts = np.asarray(search.starts)
        if not is_additive(function):
            return starts
        additive = cast(AdditiveFunction, function)
        best = maximize_additive(additive, levels=search.levels.as_arrays(), start=starts[:1]).x
        return np.concatenate([best[None], starts])


def maximize_additive(
    function: AdditiveFunction,
    *,
    levels: Sequence[Float[np.ndarray, " _L"] | None],
    num_grid: int | None = None,
    num_rounds: int | None = None,
    memory_budget: int = 64 * 2**20,
    start: Float[np.ndarray, "*S D"] | None = None,
    seed: int = 0,
) -> Maximum:
    """Maximizes an additive function over the unit cube, discrete variables over their levels.

    If the tables of the function's junction tree fit the memory budget with 17 points per variable
    or more, message passing runs from coarse to fine. Otherwise block coordinate ascent clamps
    variables until the treewidth is at most 3, maximizes over the others by message passing, and
    clamps other variables next, until 3 blocks in a row bring no improvement. It runs from several
    starts, including the result on 9 to 13 points if their tables fit. Message passing then finds
    the best combination of coordinates of all results, the start of a last ascent.

    Args:
        function: the additive function.
        levels: legal coordinates of each variable in [0, 1], or None for a continuous one.
        num_grid: grid points per variable, by default as many as fit, at most 33.
        num_rounds: number of successively finer grids, by default down to steps of 0.001.
        memory_budget: bound in bytes on the factor tables, messages and largest clique table.
        start: a point or several to start from; the result is at least as good. By default, block
            ascent starts from the best of 1024 random points, 8 starts in all.
        seed: seed of the random points.

    Returns:
        The maximizer, its value and an upper bound, the treewidth, and whether the junction tree
        fitted.

    References:
        Rolland et al. 2018, section 3.2.
    """
    num_dims = len(levels)
    scopes = tuple(np.asarray(group) for group in function.scopes)
    graph = dependency_graph(scopes, num_dims)
    tree = triangulate(graph)

    def finest(grids: Sequence[int], widths: Sequence[int]) -> tuple[int, int] | None:
        for points, width in product(grids, widths):
            if table_bytes(scopes, num_dims, num_grid=points, width=width) <= memory_budget:
                return points, width
        return None

    whole = finest(GRIDS if num_grid is None else [num_grid], [tree.treewidth])
    blocks = finest(BLOCK_GRIDS if num_grid is None else [num_grid], BLOCK_WIDTHS)
    if blocks is None:
        raise ValueError(
            f"memory_budget={memory_budget} bytes cannot hold the tables of the factors, which "
            f"have up to {max(group.shape[1] for group in scopes)} variables: raise it, or bound "
            "the size of the components."
        )

    with double_precision():
        legal = Levels.of(levels)
        resolution = 1.0 / max([1000, *(len(values) for values in levels if values is not None)])

        def solve(
            tree: JunctionTree, start: Float[Array, " D"], points: int, width: int
        ) -> tuple[Float[Array, " D"], float]:
            layout = make_layout(tree, scopes, num_grid=points, width=width)
            rounds = num_rounds or rounds_needed(points, resolution)
            x, value = coarse_to_fine(function, layout, legal, start, rounds)
            return x, float(value)

        starts = [] if start is None else _best_first(function, legal, start)
        if whole is not None:
            points, width = whole
            # From a corner: a start inside would move points of the grid, for which the bound
            # holds.
            x, value = solve(tree, jnp.zeros(num_dims), points, width)
            if starts and float(evaluate(function, starts[0][None])[0]) > value:
                x, value = solve(tree, starts[0], points, width)
            if num_grid is not None or points >= _COARSE:
                return Maximum(np.asarray(x), value, tree.treewidth, True, value, points)
            starts = [x, *starts]
        if start is None:
            random = np.random.default_rng(seed).uniform(size=(_NUM_RANDOM_POINTS, num_dims))
            starts = (starts + _best_first(function, legal, random))[:_NUM_STARTS]
        points, width = blocks
        ascend = partial(_block_ascent, graph, width, partial(solve, points=points, width=width))
        answers = sorted(map(ascend, starts), key=lambda answer: -answer[1])
        x, value = answers[0]
        if crossing := finest(range(len(answers), 1, -1), [tree.treewidth]):
            layout = make_layout(tree, scopes, num_grid=crossing[0])
            parents = jnp.stack([x for x, _ in answers[: crossing[0]]])
            x, value = ascend(recombine(function, layout, parents))
        if whole is not None:
            return Maximum(np.asarray(x), value, tree.treewidth, True, value, whole[0])
        tables = [np.asarray(table) for table in _on_regular_grid(function, legal, points)]
        max_size = max(group.shape[1] for group in scopes)
        while 8 * points ** (max_size + 1) <= min(memory_budget, _MAX_BUCKET_BYTES):
            max_size += 1
        bound = max(value, upper_bound(tables, scopes, num_dims, max_size=max_size))
        return Maximum(np.asarray(x), value, tree.treewidth, False, bound, points)


def _best_first(
    function: AdditiveFunction, levels: Levels, points: Float[np.ndarray, "*S D"]
) -> list[Float[Array, " D"]]:
    """The legal points nearest to a point or several, best first."""
    legal = jax.vmap(levels.nearest)(jnp.atleast_2d(jnp.asarray(points)))
    return list(ranked(partial(evaluate, function), legal))


@partial(jax.jit, static_argnums=2)
def _on_regular_grid(function: AdditiveFunction, levels: Levels, num_grid: int) -> Tables:
    """The factors on a regular grid."""
    return function.tables(levels.regular_grid(num_grid))


@jax.jit
def recombine(
    function: AdditiveFunction, layout: Layout, parents: Float[Array, "G D"]
) -> Float[Array, " D"]:
    """The best point among all combinations of coordinates of G parents."""
    _, index = max_sum(function.tables(parents.T), layout)
    return jnp.take_along_axis(parents, index[None], axis=0)[0]


def _block_ascent(
    graph: Graph,
    width: int,
    solve: Callable[[JunctionTree, Float[Array, " D"]], tuple[Float[Array, " D"], float]],
    x: Float[Array, " D"],
) -> tuple[Float[Array, " D"], float]:
    """Maximizes over blocks of variables in turn, until there is no improvement."""
    value, idle = -np.inf, 0
    times_clamped = np.zeros(len(graph), int)
    for _ in range(_MAX_BLOCKS):
        tree = triangulate(graph, max_width=width, times_clamped=times_clamped)
        times_clamped[list(tree.clamped)] += 1
        x, new_value = solve(tree, x)
        idle = 0 if new_value - value > _TOLERANCE * abs(new_value) else idle + 1
        value = new_value
        if idle == _PATIENCE or not tree.clamped:
            break
    return x, value
