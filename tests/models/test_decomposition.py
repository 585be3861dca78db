"""Decompositions: their components, weights and bounds, and which components a move changes."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import networkx as nx
import numpy as np
import numpyro
import pytest

from structbo.models import (
    AdditiveCovariance,
    Decomposition,
    cliques,
    edges,
    pairs,
    squared_exponential,
)
from structbo.models.components import ComponentTable, component_product
from structbo.models.foundation.program import compiler_options
from structbo.models.gram import Coefficients, component_sum
from structbo.models.structure_checks import run_structure

NUM_DIMS = 6


def neighborhoods(edges: jax.Array) -> Decomposition:
    """A custom table: neighborhoods of dimensions, with unequal weights and repeated rows."""
    members = edges.astype(bool) | jnp.eye(NUM_DIMS, dtype=bool)
    return Decomposition(members, 1.0 + members.sum(1) ** 2, jnp.array(True))


CONSTRUCTORS: dict[str, Callable[[jax.Array], Decomposition]] = {
    "cliques": cliques,
    "bounded cliques": partial(cliques, max_size=3),
    "pairs": pairs,
    "table": neighborhoods,
}


@pytest.fixture(scope="module")
def factors() -> jax.Array:
    return jnp.array(np.random.default_rng(0).random((NUM_DIMS, 3, 3)))


@pytest.fixture(
    scope="module",
    params=[
        pytest.param(make, id=name, marks=[pytest.mark.nightly] * (name == "bounded cliques"))
        for name, make in CONSTRUCTORS.items()
    ],
)
def moved_and_recomputed(request, factors):
    """Gram matrix, total weight and count of a graph, updated from a neighbor and from scratch."""

    def visit(state, sign, members, weight):
        gram, total, count = state
        gram += sign * weight * component_product(factors, members)
        return gram, total + sign * weight, count + sign

    def both(old_edges, new_edges):
        old, new = request.param(old_edges), request.param(new_edges)
        nothing = (jnp.zeros((3, 3)), jnp.array(0.0), jnp.array(0.0))
        start = old.fold(visit, nothing)
        return old.fold_changes(new, visit, start), new.fold(visit, nothing)

    return jax.jit(both)


@pytest.mark.parametrize("num_changes", [0, 1, 4, 15])
def test_changes_give_what_recomputation_gives(moved_and_recomputed, random_edges, num_changes):
    for seed in range(12):
        old = random_edges(NUM_DIMS, seed, density=(seed % 6) / 5)
        new, (rows, columns) = old.copy(), np.triu_indices(NUM_DIMS, 1)
        changed = np.random.default_rng(seed).permutation(len(rows))[:num_changes]
        new[rows[changed], columns[changed]] ^= True
        new |= new.T & ~old.T  # added edges
        new &= new.T | ~old.T  # removed edges
        new = np.triu(new, 1) | np.triu(new, 1).T
        assert (np.triu(old != new).sum()) == num_changes
        moved, recomputed = moved_and_recomputed(old, new)
        for one, two in zip(moved, recomputed, strict=True):
            np.testing.assert_allclose(one, two, atol=1e-9)


def test_one_flip_of_cliques_touches_few_components():
    """Flipping an edge of an empty graph only removes two singletons and adds one pair."""
    empty = np.zeros((NUM_DIMS, NUM_DIMS), bool)
    one = empty.copy()
    one[[1, 4], [4, 1]] = True

    @jax.jit
    def visits(old, new):
        def visit(count, sign, members, weight):
            return count + 1

        return cliques(old).fold_changes(cliques(new), visit, jnp.array(0))

    assert int(visits(empty, one)) == 3


class Table(NamedTuple):
    """A decomposition and its properties in NumPy."""

    members: np.ndarray
    weights: np.ndarray
    count: np.ndarray
    is_inside: np.ndarray
    has_main_effects: bool


@partial(jax.jit, static_argnums=0)
def compiled(make: Callable[[jax.Array], Decomposition], edges: jax.Array) -> Table:
    d = make(edges)
    return Table(d.members, d.weights, d.count, d.is_inside, d.has_main_effects)


def table_of(make: Callable[[jax.Array], Decomposition], edges: np.ndarray) -> Table:
    return jax.tree.map(np.asarray, compiled(make, edges))


@pytest.mark.parametrize("seed", range(10))
def test_cliques_are_the_components(random_edges, seed: int):
    edges = random_edges(NUM_DIMS, seed, density=(seed % 5) / 4)
    decomposition = table_of(cliques, edges.astype(int))
    expected = list(nx.find_cliques(nx.from_numpy_array(edges)))
    count = int(decomposition.count)
    rows = [tuple(np.flatnonzero(row)) for row in decomposition.members[:count]]
    assert sorted(rows) == sorted(tuple(sorted(clique)) for clique in expected)
    assert decomposition.weights[:count].tolist() == [float(len(row)) for row in rows]
    assert not decomposition.weights[count:].any()
    assert decomposition.is_inside


@pytest.mark.parametrize("seed", range(10))
def test_pairs_are_main_effects_and_edges(random_edges, seed: int):
    edges = random_edges(NUM_DIMS, seed, density=(seed % 5) / 4)
    decomposition = table_of(pairs, edges.astype(int))
    count = int(decomposition.count)
    rows = [tuple(np.flatnonzero(row)) for row in decomposition.members[:count]]
    present = list(zip(*np.nonzero(np.triu(edges)), strict=True))
    assert rows == [(d,) for d in range(NUM_DIMS)] + present
    assert decomposition.weights[:count].tolist() == [float(len(row)) for row in rows]
    assert not decomposition.members[count:].any()
    assert not decomposition.weights[count:].any()
    assert decomposition.has_main_effects


def test_user_table_weights_follow_sizes():
    members = jnp.array([[1, 1, 1], [0, 1, 0], [0, 0, 0]], bool)
    assert Decomposition.of(members).weights.tolist() == [3.0, 1.0, 0.0]
    assert int(Decomposition.of(members).count) == 2


@pytest.mark.parametrize(
    ("max_size", "capacity", "is_inside"),
    [(None, None, True), (3, None, True), (2, None, False), (None, 4, True), (None, 3, False)],
)
def test_bounds_of_cliques(max_size, capacity, is_inside):
    """A triangle and three single vertices: largest clique 3, four cliques."""
    edges = np.zeros((NUM_DIMS, NUM_DIMS), bool)
    edges[:3, :3] = ~np.eye(3, dtype=bool)
    bounded = partial(cliques, max_size=max_size, capacity=capacity)
    assert bool(table_of(bounded, edges).is_inside) == is_inside


@pytest.mark.parametrize(
    ("capacity", "num_rows", "is_inside"), [(None, 10, True), (3, 7, True), (2, 6, False)]
)
def test_room_for_pairs(capacity, num_rows, is_inside):
    """A triangle has three pairs beside the four main effects."""
    edges = np.zeros((4, 4), bool)
    edges[:3, :3] = ~np.eye(3, dtype=bool)
    decomposition = pairs(jnp.asarray(edges), capacity=capacity)
    assert decomposition.members.shape == (num_rows, 4)
    assert bool(decomposition.is_inside) == is_inside
    stored = min(num_rows - 4, 3)
    pairs_stored = decomposition.members[4 : 4 + stored]
    assert (pairs_stored.sum(1) == 2).all() and not pairs_stored[:, 3].any()


@pytest.mark.parametrize("components", [pairs, partial(pairs, capacity=2), cliques])
def test_flip_rules_hold_for_what_the_model_gets(components):
    """Checks of a structure's result must not replace arrays, which would void its flip rule."""

    def rule_is_valid(Z):
        with numpyro.handlers.seed(rng_seed=0), numpyro.handlers.substitute(data={"Z": Z}):
            decomposition = run_structure(edges(components=components), NUM_DIMS)
        assert decomposition.valid_flip_rule is not None
        return decomposition.weights

    jax.eval_shape(rule_is_valid, jnp.zeros((NUM_DIMS, NUM_DIMS), int))


def test_tables_are_not_turned_into_numbers():
    """Tables of numbers in place of booleans would take eight times the memory."""

    def weights_by_dim(Z):
        decomposition = pairs(Z)
        return ComponentTable.of(decomposition.members).by_dim(decomposition.weights, len(Z))

    num_dims = 100
    lowered = jax.jit(weights_by_dim, compiler_options=compiler_options()).lower(
        jnp.zeros((num_dims, num_dims), int)
    )
    program = lowered.compile()
    num_truth_values = num_dims**2 * (num_dims + 1) // 2
    assert program.memory_analysis().temp_size_in_bytes < 4 * num_truth_values
    np.testing.assert_array_equal(
        program(jnp.eye(num_dims, k=1, dtype=int) + jnp.eye(num_dims, k=-1, dtype=int)),
        np.ones(num_dims),
    )


def test_main_effects_of_a_table_that_repeats_rows():
    members = jnp.array([[0, 1, 0], [1, 1, 0], [0, 1, 0], [0, 0, 0], [1, 0, 0]], bool)
    table = ComponentTable.of(members)
    assert table.by_dim(jnp.array([1.0, 2.0, 4.0, 8.0, 16.0]), 3).tolist() == [16.0, 5.0, 0.0]
    assert table.joint[: int(table.num_joint)].tolist() == [1]


def test_pairs_of_a_table_come_first():
    members = jnp.array([[1, 1, 1], [1, 0, 0], [0, 1, 1], [0, 0, 0], [1, 0, 1]], bool)
    table = ComponentTable.of(members)
    assert (int(table.num_pairs), int(table.num_joint)) == (2, 3)
    assert table.joint[:3].tolist() == [2, 4, 0]
    first, second = table.first[table.joint[:2]], table.second[table.joint[:2]]
    assert (first.tolist(), second.tolist()) == ([1, 0], [2, 2])


def test_pairs_do_not_keep_a_table_of_members():
    """Nor do matrices of pairs change if their table could have larger components."""
    rng = np.random.default_rng(0)
    edges = jnp.array([[0, 1, 0, 1], [1, 0, 0, 0], [0, 0, 0, 0], [1, 0, 0, 0]])
    table = pairs(edges, jnp.array([1, 1, 1, 0]))
    x, cotangent = jnp.array(rng.random((9, 4))), jnp.array(rng.normal(size=(9, 9)))
    strengths = jnp.array(rng.uniform(0.5, 2.0, 4))

    def covariance(decomposition, lengthscale, strengths):
        one = jnp.array(1.0)
        return AdditiveCovariance(
            decomposition, lengthscale, one, strengths, None, squared_exponential
        )

    def weighted(lengthscale, strengths, decomposition):
        gram = covariance(decomposition, lengthscale, strengths)(x, x)
        return (gram * cotangent).sum(), gram

    found, expected = (
        jax.value_and_grad(weighted, (0, 1), has_aux=True)(jnp.ones(4), strengths, decomposition)
        for decomposition in (table, replace(table, flip_rule=None))
    )
    rule = table.valid_flip_rule
    assert ComponentTable.of(table.members, rule.max_size).members is None
    assert ComponentTable.of(table.members).members is not None
    jax.tree.map(partial(np.testing.assert_allclose, rtol=1e-12), found, expected)


@pytest.mark.parametrize("max_size", [None, 2])
def test_the_weight_of_a_constant_adds_to_every_element(max_size):
    table = ComponentTable.of(jnp.zeros((3, 2), bool), max_size)
    factors, cotangent = jnp.full((2, 4, 4), 0.5), jnp.arange(16.0).reshape(4, 4)

    def total(weights):
        gram = component_sum(factors, Coefficients(jnp.zeros(2), weights), table)
        return (cotangent * gram).sum()

    value, gradient = jax.value_and_grad(total)(jnp.array([3.0, 7.0, 7.0]))
    assert float(value) == 3.0 * 120.0
    assert gradient.tolist() == [120.0, 0.0, 0.0]


def test_a_constant_is_no_pair():
    table = ComponentTable.of(jnp.zeros((2, 3), bool))
    assert (int(table.num_pairs), int(table.num_joint)) == (0, 0)
    assert float(table.constant(jnp.array([3.0, 2.0]))) == 3.0
