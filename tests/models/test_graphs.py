"""Maximal cliques against NetworkX."""

from collections.abc import Callable

import jax
import jax.numpy as jnp
import networkx as nx
import numpy as np
import pytest

from structbo.models.graphs import fold_maximal_cliques, maximal_cliques

NUM_DIMS = 7
CAPACITY = 12
"""At least 3 ** (7 / 3), the maximum number of maximal cliques of a graph on 7 vertices."""


@pytest.fixture(scope="module")
def listed() -> Callable[..., tuple[jax.Array, jax.Array]]:
    return jax.jit(lambda edges: maximal_cliques(edges, CAPACITY))


def expected_cliques(edges: np.ndarray) -> set[frozenset[int]]:
    return {frozenset(clique) for clique in nx.find_cliques(nx.from_numpy_array(edges))}


def as_sets(members: np.ndarray) -> list[frozenset[int]]:
    return [frozenset(np.flatnonzero(row).tolist()) for row in members]


@pytest.mark.parametrize("seed", range(100))
def test_cliques_of_random_graphs(listed, random_edges, seed: int):
    edges = random_edges(NUM_DIMS, seed, density=(seed % 10) / 9)
    members, count = map(np.asarray, listed(edges))
    cliques = as_sets(members[: int(count)])
    assert len(set(cliques)) == len(cliques)
    assert set(cliques) == expected_cliques(edges)
    assert not members[int(count) :].any()


def test_cliques_beyond_the_capacity_are_counted():
    listed = jax.jit(maximal_cliques, static_argnums=1)
    members, count = listed(np.zeros((5, 5), bool), 3)
    assert int(count) == 5
    assert members.sum() == 3


@jax.jit
def clique_counts(edges: jax.Array, vertices: jax.Array) -> jax.Array:
    """How often each set of vertices is visited, indexed by its bits."""
    return fold_maximal_cliques(
        edges,
        vertices,
        lambda carry, clique: carry.at[clique @ 2 ** jnp.arange(NUM_DIMS)].add(1),
        jnp.zeros(2**NUM_DIMS, int),
    )


@pytest.mark.parametrize("seed", range(20))
def test_induced_subgraph(random_edges, seed: int):
    """Cliques are maximal within the subgraph, independently of other vertices."""
    edges = random_edges(NUM_DIMS, seed, density=0.6)
    vertices = np.random.default_rng(seed).random(NUM_DIMS) < 0.6
    counts = clique_counts(edges, vertices)
    graph = nx.from_numpy_array(edges).subgraph(np.flatnonzero(vertices).tolist())
    expected = np.zeros(2**NUM_DIMS, int)
    for clique in nx.find_cliques(graph):
        expected[sum(2**vertex for vertex in clique)] += 1
    np.testing.assert_array_equal(counts, expected)


def test_no_vertices_have_one_empty_clique():
    counts = np.asarray(clique_counts(~np.eye(NUM_DIMS, dtype=bool), np.zeros(NUM_DIMS, bool)))
    assert int(counts[0]) == int(counts.sum()) == 1
