"""Maximal cliques and elimination widths of small graphs, traceable by JAX.

Sets of vertices are boolean vectors. Enumeration is a fold: the caller's function sees one clique
at a time, and cliques are not stored.
"""

from collections.abc import Callable
from typing import TypeVar

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jaxtyping import Bool, Int

from structbo.models.foundation.arrays import AnyArray

Carry = TypeVar("Carry")


def fold_maximal_cliques(
    edges: Bool[Array, "D D"],
    vertices: Bool[Array, " D"],
    visit: Callable[[Carry, Bool[Array, " D"]], Carry],
    init: Carry,
) -> Carry:
    """Folds a function over the maximal cliques of an induced subgraph.

    The algorithm of Bron and Kerbosch (1973) with the pivot of Tomita et al. (2006), its recursion
    unrolled into a stack. The subgraph without vertices has one maximal clique, the empty set.

    Args:
        edges: symmetric adjacency matrix with an empty diagonal.
        vertices: which vertices belong to the subgraph.
        visit: maps (carry, clique) to carry.
        init: the first carry.

    Returns:
        The last carry.
    """
    num_dims = edges.shape[0]
    none = jnp.zeros(num_dims, bool)

    def branches(candidates: Bool[Array, " D"], excluded: Bool[Array, " D"]) -> Bool[Array, " D"]:
        """Candidates not joined to the pivot, the vertex with the most candidate neighbors."""
        reach = jnp.where(candidates | excluded, (edges & candidates).sum(1), -1)
        return candidates & ~edges[jnp.argmax(reach)]

    # One frame per level of the recursion: clique, candidates, excluded, branches still to take.
    stack = jnp.zeros((num_dims + 1, 4, num_dims), bool)
    stack = stack.at[0].set(jnp.stack([none, vertices, none, branches(vertices, none)]))

    def step(state: tuple[Array, Array, Carry]) -> tuple[Array, Array, Carry]:
        level, stack, carry = state
        clique, candidates, excluded, todo = stack[level]
        vertex = jnp.argmax(todo)
        chosen = none.at[vertex].set(True)
        grown = clique | chosen
        inner, outer = candidates & edges[vertex], excluded & edges[vertex]
        stack = stack.at[level].set(
            jnp.stack([clique, candidates & ~chosen, excluded | chosen, todo & ~chosen])
        )
        stack = stack.at[level + 1].set(jnp.stack([grown, inner, outer, branches(inner, outer)]))
        is_maximal = ~(inner.any() | outer.any())
        carry = jax.lax.cond(is_maximal, lambda c: visit(c, grown), lambda c: c, carry)
        level = jnp.where(inner.any(), level + 1, level)
        # Return from every level whose branches are all taken.
        alive = stack[:, 3].any(1) & (jnp.arange(num_dims + 1) <= level)
        return jnp.where(alive, jnp.arange(num_dims + 1), -1).max(), stack, carry

    carry = jax.lax.cond(vertices.any(), lambda c: c, lambda c: visit(c, none), init)
    level = jnp.where(vertices.any(), 0, -1)
    return jax.lax.while_loop(lambda s: s[0] >= 0, step, (level, stack, carry))[2]


def maximal_cliques(
    edges: Bool[Array, "D D"], capacity: int
) -> tuple[Bool[Array, "{capacity} D"], Int[Array, ""]]:
    """Lists the maximal cliques of a graph in a padded table.

    Args:
        edges: symmetric adjacency matrix with an empty diagonal.
        capacity: the number of rows; cliques beyond it are counted but not stored.

    Returns:
        The cliques, followed by empty rows, and their number.

    Example:
        >>> path = jnp.array([[0, 1, 0], [1, 0, 1], [0, 1, 0]], bool)
        >>> members, count = maximal_cliques(path, capacity=4)
        >>> members[:2].astype(int).tolist(), int(count)
        ([[1, 1, 0], [0, 1, 1]], 2)
    """
    num_dims = edges.shape[0]

    def visit(carry: tuple[Array, Array], clique: Array) -> tuple[Array, Array]:
        members, count = carry
        return members.at[count].set(clique, mode="drop"), count + 1

    init = (jnp.zeros((capacity, num_dims), bool), jnp.array(0))
    return fold_maximal_cliques(edges, jnp.ones(num_dims, bool), visit, init)


@jax.jit
def elimination_width(
    edges: Bool[AnyArray, "D D"] | Int[AnyArray, "D D"],
) -> Int[Array, ""]:
    """The width of the triangulation from min-degree elimination.

    Each step eliminates a vertex of minimal degree, the first of several, and joins its neighbors.
    The width is the largest degree of a vertex when it is eliminated. It is never below the
    treewidth. If the treewidth is at most 2, the width equals it: such a graph has a vertex of
    degree at most 2, whose elimination contracts an edge, which cannot raise the treewidth. So the
    width is 0 without edges and at most 1 for forests. If the width is 3 or more, the treewidth can
    be smaller, but is at least 3, and the width can depend on the order of the vertices.

    Args:
        edges: symmetric 0/1 edge matrix with an empty diagonal.

    References:
        Bodlaender and Koster 2010, "Treewidth computations I. Upper bounds".

    Example:
        >>> square = jnp.array([[0, 1, 0, 1], [1, 0, 1, 0], [0, 1, 0, 1], [1, 0, 1, 0]])
        >>> int(elimination_width(square))
        2
    """
    num_dims = edges.shape[0]
    # Eight vertices per byte, several times faster than boolean matrices.
    one = jnp.asarray(np.packbits(np.eye(num_dims, dtype=bool), axis=1))

    def eliminate(_: Array, state: tuple[Array, Array, Array]) -> tuple[Array, Array, Array]:
        neighbors, left, width = state
        degree = jax.lax.population_count(neighbors).sum(1, dtype=jnp.int32)
        vertex = jnp.argmin(jnp.where(left, degree, num_dims))
        is_neighbor = (one & neighbors[vertex]).any(1)
        joined = (neighbors | neighbors[vertex]) & ~one & ~one[vertex]
        neighbors = jnp.where(is_neighbor[:, None], joined, neighbors)
        return neighbors, left.at[vertex].set(False), jnp.maximum(width, degree[vertex])

    neighbors = jnp.packbits(edges.astype(bool), axis=1)
    init = (neighbors, jnp.ones(num_dims, bool), jnp.array(0, jnp.int32))
    return jax.lax.fori_loop(0, num_dims, eliminate, init)[2]
