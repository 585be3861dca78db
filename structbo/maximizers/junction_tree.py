"""Junction trees: the order in which variables of an additive function are eliminated.

An additive function is a sum of factors, each over its scope, a few variables. Eliminating its
variables one by one, min-fill first, triangulates the dependency graph: an eliminated variable and
its remaining neighbors are a clique, whose parent is the clique of the neighbor eliminated first.
All of this happens on the host; message passing sees only the integer arrays of a `Layout`.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import combinations
from typing import NamedTuple

import numpy as np
from jax.tree_util import register_dataclass
from jaxtyping import Bool, Int

from structbo.models.foundation.arrays import AnyArray

Graph = Mapping[int, Iterable[int]]
"""The neighbors of every variable 0 to D - 1, such as `networkx.Graph.adj`."""
Scopes = Sequence[Int[np.ndarray, "_F _size"]]
"""Variables of all factors, in groups of factors of one size; a row of -1 is padding."""


class JunctionTree(NamedTuple):
    """A junction tree, one clique per variable: the variable and its separator.

    Args:
        order: the variables in the order of elimination, clamped ones first.
        separators: for every step, the remaining neighbors of its variable, in the order of
            elimination.
        clamped: fixed variables, which are not part of other cliques.
    """

    order: tuple[int, ...]
    separators: tuple[tuple[int, ...], ...]
    clamped: frozenset[int]

    @property
    def treewidth(self) -> int:
        """The size of the largest separator: the width of this tree, which may not be minimal."""
        return max(map(len, self.separators))

    @property
    def cliques(self) -> tuple[tuple[int, ...], ...]:
        """For every step, the eliminated variable followed by its separator."""
        pairs = zip(self.order, self.separators, strict=True)
        return tuple([(v, *rest) for v, rest in pairs])

    @property
    def steps(self) -> dict[int, int]:
        """The step at which each variable is eliminated."""
        return {v: step for step, v in enumerate(self.order)}

    @property
    def parents(self) -> tuple[int | None, ...]:
        """For every step, the step that receives its message; None for a root."""
        steps = self.steps
        return tuple(steps[rest[0]] if rest else None for rest in self.separators)


def dependency_graph(scopes: Scopes, num_dims: int) -> dict[int, set[int]]:
    """The graph that joins two variables when a factor depends on both.

    Args:
        scopes: variables of all factors, by group.
        num_dims: number of variables D.

    Returns:
        The neighbors of every variable.

    Example:
        >>> dependency_graph([np.array([[0, 1, 2]]), np.array([[2, 3]])], 4)
        {0: {1, 2}, 1: {0, 2}, 2: {0, 1, 3}, 3: {2}}
    """
    graph: dict[int, set[int]] = {v: set() for v in range(num_dims)}
    for group in scopes:
        for scope in group[(group >= 0).all(1)].tolist():
            for u, v in combinations(scope, 2):
                graph[u].add(v)
                graph[v].add(u)
    return graph


def triangulate(
    graph: Graph,
    *,
    max_width: int | None = None,
    times_clamped: Int[np.ndarray, " {len(graph)}"] | None = None,
) -> JunctionTree:
    """Triangulates a graph by min-fill elimination.

    The next variable is the one whose elimination joins the fewest pairs of its neighbors, among
    the variables with at most ``max_width`` neighbors. If all variables left have more, the one
    with most neighbors is clamped, that is, removed from the graph.

    Args:
        graph: the neighbors of every variable 0 to D - 1.
        max_width: bound on the treewidth; without it no variable is clamped.
        times_clamped: how often each variable was clamped before: the least often clamped are
            clamped first.

    Returns:
        The junction tree.

    References:
        Rolland et al. 2018, section 3.2; Koller and Friedman 2009, section 9.4.3.2 (min-fill).

    Example:
        >>> import networkx as nx
        >>> tree = triangulate(nx.cycle_graph(4).adj)
        >>> tree.cliques, tree.treewidth
        (((0, 1, 3), (1, 2, 3), (2, 3), (3,)), 2)
        >>> triangulate(nx.cycle_graph(4).adj, max_width=1).clamped
        frozenset({0})
    """
    adjacent = {v: set(graph[v]) for v in sorted(graph)}
    # Variables without neighbors come first, so that the search below is for the others.
    eliminated = {v: adjacent.pop(v) for v in sorted(graph) if not adjacent[v]}
    fill = {}
    for v, neighbors in adjacent.items():
        joined = map(neighbors.intersection, map(adjacent.__getitem__, neighbors))
        fill[v] = (len(neighbors) * (len(neighbors) - 1) - sum(map(len, joined))) // 2
    clamps = np.zeros(len(graph), int) if times_clamped is None else times_clamped
    limit = len(graph) if max_width is None else max_width

    clamped: list[int] = []
    while adjacent:
        narrow = [(fill[v], len(n), v) for v, n in adjacent.items() if len(n) <= limit]
        if narrow:
            *_, v = min(narrow)
            for a, b in combinations(adjacent[v], 2):
                if b not in adjacent[a]:
                    common = adjacent[a] & adjacent[b]
                    for w in common:
                        fill[w] -= 1
                    fill[a] += len(adjacent[a]) - len(common)
                    fill[b] += len(adjacent[b]) - len(common)
                    adjacent[a].add(b)
                    adjacent[b].add(a)
            eliminated[v] = adjacent[v]
        else:
            *_, v = min([(clamps[v], -len(n), v) for v, n in adjacent.items()])
            clamped.append(v)
        neighbors = adjacent.pop(v)
        for u in neighbors:
            adjacent[u].remove(v)
            fill[u] -= len(adjacent[u] - neighbors)

    order = (*clamped, *eliminated)
    steps = dict(zip(order, range(len(order)), strict=True))
    separators: list[tuple[int, ...]] = [()] * len(clamped)
    for rest in eliminated.values():
        separators.append(tuple(sorted(rest.difference(clamped), key=steps.__getitem__)))
    return JunctionTree(order, tuple(separators), frozenset(clamped))


@partial(
    register_dataclass,
    data_fields=[
        "order",
        "separators",
        "separator_sizes",
        "clamped",
        "entries",
        "offsets",
        "strides",
    ],
    meta_fields=["num_grid"],
)
@dataclass(frozen=True)
class Layout:
    """A junction tree as padded integer arrays, for message passing under `jax.jit`.

    All tables are slices of one flat vector: the factor tables, group after group, then one message
    of ``G^width`` numbers per step. An *entry* adds one of them to the table of one clique: at
    coordinates ``c`` of the clique's variables it contributes ``flat[offset + strides @ c]``.
    The arrays' shapes depend only on D, the width and the shapes of the scopes.

    Args:
        order: variable eliminated at each step.
        separators: its separator, padded with 0.
        separator_sizes: how many variables the separator has.
        clamped: which variables are held fixed, including variables of no factor.
        entries: step t adds entries ``entries[t]`` to ``entries[t + 1] - 1``.
        offsets: where each entry starts in the flat vector.
        strides: per axis of the clique, the eliminated variable first.
        num_grid: number of grid points G of every variable.
    """

    order: Int[AnyArray, " D"]
    separators: Int[AnyArray, "D width"]
    separator_sizes: Int[AnyArray, " D"]
    clamped: Bool[AnyArray, " D"]
    entries: Int[AnyArray, " D+1"]
    offsets: Int[AnyArray, " E"]
    strides: Int[AnyArray, "E width+1"]
    num_grid: int

    @property
    def width(self) -> int:
        """The maximum size of separators."""
        return self.separators.shape[1]


def make_layout(
    tree: JunctionTree, scopes: Scopes, *, num_grid: int, width: int | None = None
) -> Layout:
    """Lays out the factors and messages of a junction tree.

    Every factor is only added to the clique of its first eliminated variable: the printed eq. (7)
    of Rolland et al. 2018 counts it twice if siblings contain it.

    Args:
        tree: junction tree of the factors' dependency graph.
        scopes: variables of all factors, by group.
        num_grid: number of grid points G of every variable.
        width: room for separators, the tree's width by default; a common bound for several graphs
            makes their layouts share one compilation.

    Returns:
        The layout, as NumPy arrays.
    """
    num_dims = len(tree.order)
    width = tree.treewidth if width is None else width
    if width < tree.treewidth:
        raise ValueError(f"width must be at least the treewidth {tree.treewidth}, got {width}.")
    order, steps = np.array(tree.order), np.argsort(tree.order)
    clamped = np.isin(np.arange(num_dims), list(tree.clamped))
    no_variable = num_dims  # pads cliques; -1 pads scopes
    cliques = np.array([[*c, *[no_variable] * (width + 1 - len(c))] for c in tree.cliques])
    messages = np.array([[*[-1] * (width - len(s)), *s] for s in tree.separators], int)
    # The variable of lowest rank receives a factor; clamped ones rank last, before padding.
    rank = np.append(np.where(clamped, num_dims + steps, steps), 2 * num_dims)

    receivers, offsets, strides, start = [], [], [], 0
    for group in (*scopes, messages):
        rows = np.flatnonzero((group >= 0).any(1))
        scope = group[rows]
        receiver = rank[scope].min(1, initial=2 * num_dims) % num_dims
        axes = cliques[receiver][:, :, None] == np.where(clamped[scope], -1, scope)[:, None]
        receivers.append(receiver)
        offsets.append(start + num_grid ** group.shape[1] * rows)
        strides.append(axes @ num_grid ** np.arange(group.shape[1])[::-1])
        start += num_grid ** group.shape[1] * len(group)

    by_step = np.argsort(np.concatenate(receivers), kind="stable")
    padding = sum(map(len, scopes)) + num_dims - len(by_step)
    entries = np.searchsorted(np.concatenate(receivers)[by_step], np.arange(num_dims + 1))
    # Variables without factors are clamped, since they do not change the value.
    clamped[order[np.diff(entries) == 0]] = True
    return Layout(
        order=order.astype(np.int32),
        separators=np.where(cliques == no_variable, 0, cliques)[:, 1:].astype(np.int32),
        separator_sizes=np.array(list(map(len, tree.separators)), np.int32),
        clamped=clamped,
        entries=entries.astype(np.int32),
        offsets=np.pad(np.concatenate(offsets)[by_step], (0, padding)).astype(np.int32),
        strides=np.pad(np.concatenate(strides)[by_step], ((0, padding), (0, 0))).astype(np.int32),
        num_grid=num_grid,
    )


def table_bytes(scopes: Scopes, num_dims: int, *, num_grid: int, width: int) -> int:
    """Memory that message passing needs: factor tables, messages and the largest clique table.

    Args:
        scopes: variables of all factors, by group; only the shapes matter.
        num_dims: number of variables D.
        num_grid: number of grid points G of every variable.
        width: room for separators.

    Returns:
        Bytes, at double precision.

    Example:
        >>> table_bytes([np.array([[0, 1], [1, 2]])], 3, num_grid=10, width=1)
        2640
    """
    numbers: int = sum(len(group) * num_grid ** group.shape[1] for group in scopes)
    numbers += num_dims * num_grid**width + num_grid ** (width + 1)
    return 8 * numbers
