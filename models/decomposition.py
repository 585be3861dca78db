"""Decompositions: the low-dimensional components of the additive model.

A structure is a random decomposition. It may sample edges, a partition or an active set, and
returns a `Decomposition`, which lists the components and knows *which of them change* between two
values. This makes structure moves cheap.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeVar

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.tree_util import register_dataclass
from jaxtyping import Bool, Float, Int

from structbo.models.foundation.arguments import check_vector, checked_count, checked_edges
from structbo.models.graphs import fold_maximal_cliques, maximal_cliques

Carry = TypeVar("Carry")
Visit = Callable[[Carry, Float[Array, ""], Bool[Array, " D"], Float[Array, ""]], Carry]
"""Maps (carry, sign, members, weight) to carry, for a component added (1) or removed (-1)."""
Flip = Callable[[Bool[Array, "D D"], Int[Array, ""], Int[Array, ""], Visit[Any], Any], Any]
"""Folds a visit over the components that change when edge (i, j) of an edge matrix is flipped."""


@partial(
    register_dataclass,
    data_fields=["edges", "members", "weights", "is_complete"],
    meta_fields=["flip", "max_size"],
)
@dataclass(frozen=True)
class FlipRule:
    """How the components that follow from an edge matrix change when one edge is flipped.

    The rule only applies to the table that it was created with, which it keeps. If members or
    weights are replaced, the tables are compared instead.

    Args:
        flip: folds a visit over the components that change.
        edges: the edge matrix. An entry on its diagonal is a component of one dimension.
        members: members of the components.
        weights: weights of the components.
        is_complete: whether the table has a row for every component; None if it always has.
        max_size: the largest number of members that a component can have, or None.
    """

    flip: Flip
    edges: Bool[Array, "D D"]
    members: Bool[Array, "C D"]
    weights: Float[Array, " C"]
    is_complete: Bool[Array, ""] | None = None
    max_size: int | None = None


@partial(
    register_dataclass,
    data_fields=["members", "weights", "valid", "projection", "is_complete", "flip_rule"],
    meta_fields=["max_size", "has_main_effects"],
)
@dataclass(frozen=True)
class Decomposition:
    """Components over P dimensions, in a padded table.

    The dimensions are projections of D parameters, or the D = P parameters themselves.

    Args:
        members: which dimensions belong to each component; rows without members are padding. If no
            row has members, the first row is a constant (the product over no dimensions), so that
            the prior variance stays the same.
        weights: relative prior variances; any numbers for padding.
        valid: whether the structure is inside its bounds; otherwise the likelihood is zero.
            ``replace(decomposition, valid=...)`` adds a custom bound to any decomposition.
        max_size: the largest number of members of a component; the likelihood is zero beyond it.
        has_main_effects: whether components of single dimensions exist for all edges.
        projection: directions W, if the dimensions of the components are projections ``z = W^T x``
            of the parameters.
        is_complete: whether the table has a row for every component, otherwise the likelihood is
            zero; None if it always has.
        flip_rule: how the components change when one edge is flipped, if they follow from an edge
            matrix. It speeds up moves, and is ignored if members or weights were replaced.

    Example:
        >>> Decomposition.of(jnp.array([[1, 1, 0], [0, 0, 1]], bool)).weights.tolist()
        [2.0, 1.0]
    """

    members: Bool[Array, "C P"]
    weights: Float[Array, " C"]
    valid: Bool[Array, ""]
    max_size: int | None = None
    has_main_effects: bool = False
    projection: Float[Array, "D P"] | None = None
    is_complete: Bool[Array, ""] | None = None
    flip_rule: FlipRule | None = None

    @classmethod
    def of(cls, members: Array) -> "Decomposition":
        """The components with these members, with variances in proportion to their sizes.

        The share of a component is ``d_c / sum_j d_j`` (Rolland et al. 2018, section 5).

        Raises:
            ValueError: if members is not a matrix.
        """
        members = jnp.asarray(members)
        if members.ndim != 2:
            raise ValueError(f"members must have shape (C, D), got {members.shape}.")
        return cls(members, _size(members), jnp.array(True))

    @property
    def is_inside(self) -> Bool[Array, ""]:
        """Whether the structure is inside all bounds: `valid`, `max_size` and the table's rows."""
        inside = self.valid
        if self.max_size is not None:
            inside &= self.members.sum(1).max() <= self.max_size
        return inside if self.is_complete is None else inside & self.is_complete

    @property
    def is_component(self) -> Bool[Array, " C"]:
        """Which rows are components and not padding."""
        return is_component(self.members)

    @property
    def rows(self) -> Int[Array, " C"]:
        """All rows, components first."""
        return true_first(self.is_component)

    @property
    def count(self) -> Int[Array, ""]:
        """The number of components."""
        return self.is_component.sum()

    @property
    def valid_flip_rule(self) -> FlipRule | None:
        """The flip rule, if it applies to the table."""
        rule = self.flip_rule
        if rule is None:
            return None
        own = (rule.members, rule.weights, rule.is_complete)
        table = (self.members, self.weights, self.is_complete)
        return rule if all(a is b for a, b in zip(own, table, strict=True)) else None

    def only(self, rows: Int[Array, " R"]) -> "Decomposition":
        """The decomposition with some rows, which include all components, without a flip rule.

        Args:
            rows: which rows, in this order; -1 for padding.
        """
        members = self.members[rows] & (rows >= 0)[:, None]
        return replace(self, members=members, weights=self.weights[rows], flip_rule=None)

    def fold(self, visit: Visit[Carry], init: Carry) -> Carry:
        """Folds a function over all components, each added once."""
        rows = self.rows

        def step(k: Array, carry: Carry) -> Carry:
            return visit(carry, jnp.array(1.0), self.members[rows[k]], self.weights[rows[k]])

        return jax.lax.fori_loop(0, self.count, step, init)

    def fold_changes(self, new: "Decomposition", visit: Visit[Carry], init: Carry) -> Carry:
        """Folds a function over the components in which two decompositions differ.

        Args:
            new: the other decomposition, from the same structure.
            visit: called with (carry, sign, members, weight); the sign is 1 for a component that
                only ``new`` has and -1 for one that only ``self`` has.
            init: the first carry.

        Returns:
            The last carry.
        """
        rule, new_rule = self.valid_flip_rule, new.valid_flip_rule
        if rule is None or new_rule is None:
            return _fold_table_changes(self, new, visit, init)
        num_dims = rule.edges.shape[0]

        def step(state: tuple[Array, Array, Carry]) -> tuple[Array, Array, Carry]:
            differ, edges, carry = state
            i, j = jnp.divmod(jnp.argmax(differ), num_dims)
            carry = rule.flip(edges, i, j, visit, carry)
            return differ.at[i, j].set(False), flip_edge(edges, i, j), carry

        differ = jnp.triu(rule.edges != new_rule.edges)
        return jax.lax.while_loop(lambda s: s[0].any(), step, (differ, rule.edges, init))[2]


Structure = Callable[[int], Decomposition]
"""A NumPyro sub-program that maps the number of dimensions to a random decomposition."""


def cliques(
    edges: Array, max_size: int | None = None, capacity: int | None = None
) -> Decomposition:
    """The decomposition whose components are the maximal cliques of a graph.

    Args:
        edges: symmetric 0/1 edge matrix with an empty diagonal, shape (D, D).
        max_size: graphs with a larger clique get likelihood zero.
        capacity: graphs with more maximal cliques get likelihood zero; by default
            ``D (D + 1) / 2``.

    Returns:
        A decomposition with one component per maximal clique.

    Raises:
        ValueError: if edges is not an edge matrix, or a bound is less than 1.

    References:
        Rolland et al. 2018, section 2.

    Example:
        >>> triangle_and_one = jnp.array([[0, 1, 1, 0], [1, 0, 1, 0], [1, 1, 0, 0], [0, 0, 0, 0]])
        >>> cliques(triangle_and_one).members[:2].astype(int).tolist()
        [[1, 1, 1, 0], [0, 0, 0, 1]]
    """
    edges = checked_edges(edges)
    if max_size is not None:
        checked_count("max_size", max_size)
    if capacity is None:
        capacity = _triangular(edges.shape[0])
    checked_count("capacity", capacity)
    members, count = maximal_cliques(edges, capacity)
    table = (members, _size(members), count <= capacity)
    return Decomposition(
        *table[:2],
        jnp.array(True),
        max_size,
        is_complete=table[2],
        flip_rule=FlipRule(_flip_cliques, edges, *table),
    )


def pairs(edges: Array, active: Array | None = None, capacity: int | None = None) -> Decomposition:
    """The decomposition into main effects and one component per edge.

    Args:
        edges: symmetric 0/1 edge matrix with an empty diagonal, shape (D, D).
        active: active dimensions, 0/1, shape (D,); main effects and edges of the others are
            omitted. Default: all.
        capacity: graphs with more edges get likelihood zero; by default there is room for all. The
            cost of a model of hundreds of dimensions grows with it.

    Returns:
        A decomposition with components of one and two members; a constant if no dimension is
        active.

    Raises:
        ValueError: if edges is not an edge matrix, active does not have shape (D,), or the capacity
            is less than 1.

    Example:
        >>> pairs(jnp.array([[0, 1], [1, 0]])).members.astype(int).tolist()
        [[1, 0], [0, 1], [1, 1]]
    """
    edges = checked_edges(edges)
    if active is not None:
        check_vector("active", active, edges.shape[0])
    num_dims = edges.shape[0]
    num_all = num_rows = _triangular(num_dims)
    if capacity is not None:
        num_rows = min(num_dims + checked_count("capacity", capacity), num_all)
    terms, members, weights, count = _pairs_table(edges, active, num_rows)
    is_complete = None if num_rows == num_all else count <= num_rows
    flip = _flip_pairs if active is None else _flip_active_pairs
    return Decomposition(
        members,
        weights,
        jnp.array(True),
        has_main_effects=True,
        is_complete=is_complete,
        flip_rule=FlipRule(flip, terms, members, weights, is_complete, max_size=2),
    )


@partial(jax.jit, inline=True, static_argnums=2)
def _pairs_table(
    edges: Bool[Array, "D D"], active: Bool[Array, " D"] | Int[Array, " D"] | None, num_rows: int
) -> tuple[Bool[Array, "D D"], Bool[Array, "C D"], Float[Array, " C"], Int[Array, ""]]:
    """The edges with main effects on the diagonal, the first C components, and the number of all.

    Components are given by their members and weights.
    """
    num_dims = edges.shape[0]
    main = jnp.eye(num_dims, dtype=bool)
    terms = edges | main
    if active is not None:
        is_active = active.astype(bool)
        terms &= is_active[:, None] & is_active
    rows, columns = (
        np.concatenate([np.arange(num_dims), side]) for side in np.triu_indices(num_dims, 1)
    )
    is_present = terms[rows, columns]
    count, order = is_present.sum(), true_first(is_present)[:num_rows]
    one, other, is_present = (
        jnp.asarray(rows)[order],
        jnp.asarray(columns)[order],
        is_present[order],
    )
    members = (main[one] | main[other]) & is_present[:, None]
    sizes = is_present * (1.0 + (one != other).astype(float))
    return terms, members, sizes.at[0].max(1.0), count


def true_first(condition: Bool[Array, " n"]) -> Int[Array, " n"]:
    """The indices of a vector, with the ones that satisfy a condition first.

    Unlike `jax.numpy.nonzero`, with its cumulative sums, this is a single operation, which compiles
    fast.

    Example:
        >>> true_first(jnp.array([False, True, False, True])).tolist()
        [1, 3, 0, 2]
    """
    return jnp.argsort(~condition)


def is_component(members: Bool[Array, "C D"]) -> Bool[Array, " C"]:
    """Which rows of a table are components and not padding.

    Components are the rows with members, or the first row if no row has members.
    """
    has_members = members.any(1)
    return has_members.at[0].set(has_members[0] | ~has_members.any())


def flip_edge(
    edges: Bool[Array, "D D"], i: Int[Array, ""], j: Int[Array, ""]
) -> Bool[Array, "D D"]:
    """The edge matrix with edge (i, j) added if it was absent, removed if it was present."""
    return edges.at[jnp.array([i, j]), jnp.array([j, i])].set(~edges[i, j])


def _flip_pairs(
    edges: Bool[Array, "D D"],
    i: Int[Array, ""],
    j: Int[Array, ""],
    visit: Visit[Carry],
    carry: Carry,
) -> Carry:
    members = jnp.zeros(edges.shape[0], bool).at[jnp.array([i, j])].set(True)
    weight = jnp.where(i == j, 1.0, 2.0)
    return visit(carry, jnp.where(edges[i, j], -1.0, 1.0), members, weight)


def _flip_active_pairs(
    edges: Bool[Array, "D D"],
    i: Int[Array, ""],
    j: Int[Array, ""],
    visit: Visit[Carry],
    carry: Carry,
) -> Carry:
    """The constant exists only if no other component does."""
    carry = _flip_pairs(edges, i, j, visit, carry)
    others = edges.at[jnp.array([i, j]), jnp.array([j, i])].set(False)
    nothing = jnp.zeros(edges.shape[0], bool)
    sign = jnp.where(edges[i, j], 1.0, -1.0)
    return jax.lax.cond(
        others.any(), lambda c: c, lambda c: visit(c, sign, nothing, jnp.array(1.0)), carry
    )


def _flip_cliques(
    edges: Bool[Array, "D D"],
    i: Int[Array, ""],
    j: Int[Array, ""],
    visit: Visit[Carry],
    carry: Carry,
) -> Carry:
    """Only cliques inside the common neighborhood of i and j change.

    With the edge, {i, j} + M is a maximal clique for every maximal clique M of the common
    neighborhood. Without it, {i} + M is one unless another neighbor of i is joined to all of M,
    and {j} + M likewise.
    """
    sign = jnp.where(edges[i, j], -1.0, 1.0)
    edges = edges.at[jnp.array([i, j]), jnp.array([j, i])].set(False)
    one_i, one_j = (jnp.zeros(edges.shape[0], bool).at[k].set(True) for k in (i, j))

    def each(carry: Carry, core: Array) -> Carry:
        joined = (edges | ~core).all(1)
        carry = visit(carry, sign, core | one_i | one_j, core.sum() + 2.0)
        for end, one in ((i, one_i), (j, one_j)):
            is_maximal = ~(edges[end] & joined).any()
            carry = jax.lax.cond(
                is_maximal,
                lambda c, one=one: visit(c, -sign, core | one, core.sum() + 1.0),
                lambda c: c,
                carry,
            )
        return carry

    return fold_maximal_cliques(edges, edges[i] & edges[j], each, carry)


def _fold_table_changes(
    old: Decomposition, new: Decomposition, visit: Visit[Carry], init: Carry
) -> Carry:
    def equal(one: Decomposition, other: Decomposition) -> Bool[Array, "C K"]:
        # One matrix product counts common members of all pairs, faster than comparing a hundred
        # rows.
        shared = one.members.astype(jnp.float32) @ other.members.astype(jnp.float32).T
        sizes = (one.members.sum(1)[:, None], other.members.sum(1)[None])
        same = (shared == sizes[0]) & (shared == sizes[1])
        return same & (one.weights[:, None] == other.weights[None])

    def only_in(one: Decomposition, other: Decomposition) -> Bool[Array, " C"]:
        """Components that one table has more often than the other."""
        copies_before = jnp.tril(equal(one, one), -1).sum(1)
        return one.is_component & (copies_before >= (equal(one, other) & other.is_component).sum(1))

    rows = jnp.concatenate([old.members, new.members])
    weights = jnp.concatenate([old.weights, new.weights])
    signs = jnp.where(jnp.arange(len(rows)) < len(old.members), -1.0, 1.0)

    def step(state: tuple[Array, Carry]) -> tuple[Array, Carry]:
        todo, carry = state
        row = jnp.argmax(todo)
        return todo.at[row].set(False), visit(carry, signs[row], rows[row], weights[row])

    changed = jnp.concatenate([only_in(old, new), only_in(new, old)])
    return jax.lax.while_loop(lambda s: s[0].any(), step, (changed, init))[1]


def _size(members: Bool[Array, "C D"]) -> Float[Array, " C"]:
    """The number of members of each component; one for a constant."""
    size = members.sum(1).astype(float)
    return size.at[0].max(1.0)


def _triangular(num_dims: int) -> int:
    return num_dims * (num_dims + 1) // 2
