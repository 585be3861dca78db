"""Elimination widths against brute force, and the prior over graphs of bounded treewidth."""

from collections.abc import Callable
from itertools import permutations

import jax
import jax.numpy as jnp
import networkx as nx
import numpy as np
import numpyro.distributions as dist
import pytest
from networkx.algorithms.approximation import treewidth_min_degree
from numpyro import handlers
from numpyro.distributions import constraints

from structbo.models import BoundedTreewidth, EdgeBernoulli, adjacency, edges, elimination_width

NUM_DIMS = 4
UPPER = np.triu_indices(NUM_DIMS, 1)
MATRIX = np.zeros((NUM_DIMS, NUM_DIMS))
MATRIX[UPPER] = [0.15, 0.3, 0.45, 0.5, 0.7, 0.9]
MATRIX += MATRIX.T

widths = jax.jit(jax.vmap(elimination_width))


def brute_force_treewidths(graphs: np.ndarray) -> np.ndarray:
    """The least width over all orders of elimination, which is the treewidth."""
    num_dims = graphs.shape[1]
    best = np.full(len(graphs), num_dims)
    for order in permutations(range(num_dims)):
        filled, width = graphs.astype(bool), np.zeros(len(graphs), int)
        for vertex in order:
            near = filled[:, vertex].copy()
            width = np.maximum(width, near.sum(1))
            filled |= near[:, :, None] & near[:, None, :] & ~np.eye(num_dims, dtype=bool)
            filled[:, vertex] = filled[:, :, vertex] = False
        best = np.minimum(best, width)
    return best


@pytest.mark.parametrize("num_dims", [1, 2, 3, 4, 5])
def test_width_is_the_treewidth_where_that_is_at_most_two(all_graphs, num_dims: int):
    graphs = np.asarray(all_graphs(num_dims))
    exact, width = brute_force_treewidths(graphs), np.asarray(widths(graphs))
    assert exact.max() == num_dims - 1
    assert (width >= exact).all()
    np.testing.assert_array_equal(width[exact <= 2], exact[exact <= 2])
    assert ((width <= 2) == (exact <= 2)).all()


def min_degree_width(graph: np.ndarray) -> int:
    """The definition with sets of neighbors: eliminates the first vertex of minimal degree."""
    near = {v: set(np.flatnonzero(row).tolist()) for v, row in enumerate(graph)}
    width = 0
    while near:
        vertex = min(near, key=lambda v: (len(near[v]), v))
        neighbors = near.pop(vertex)
        width = max(width, len(neighbors))
        for u in neighbors:
            near[u] = (near[u] | neighbors) - {u, vertex}
    return width


@pytest.mark.parametrize("num_dims", [8, 9, 30, 50])
def test_width_of_larger_graphs(random_edges: Callable[..., np.ndarray], num_dims: int):
    for seed in range(10):
        graph = random_edges(num_dims, seed, density=(seed + 1) / (2 * num_dims))
        width = int(elimination_width(jnp.array(graph)))
        assert width == min_degree_width(graph)
        network = nx.from_numpy_array(graph)
        assert (width <= 1) == nx.is_forest(network)
        # A min-degree elimination with other ties agrees if both are exact.
        assert (width <= 2) == (treewidth_min_degree(network)[0] <= 2)


@pytest.mark.parametrize(
    ("graph", "expected"),
    [
        (nx.empty_graph(12), 0),
        (nx.star_graph(11), 1),
        (nx.cycle_graph(12), 2),
        (nx.circular_ladder_graph(6), 4),
        (nx.complete_graph(12), 11),
        (nx.complete_bipartite_graph(3, 9), 3),
    ],
)
def test_width_of_known_graphs(graph: nx.Graph, expected: int):
    Z = jnp.array(nx.to_numpy_array(graph, dtype=int))
    assert int(elimination_width(Z)) == expected


@pytest.mark.parametrize("max_width", [1, 2, 3])
def test_log_prob_is_that_of_independent_edges_inside_the_bound(all_graphs, max_width: int):
    graphs = np.asarray(all_graphs(NUM_DIMS))
    prior = BoundedTreewidth(NUM_DIMS, MATRIX, max_width)
    inside = brute_force_treewidths(graphs) <= max_width
    assert inside.sum() == {1: 38, 2: 63, 3: 64}[max_width]
    log_prob = jax.jit(lambda law, graphs: law.log_prob(graphs))
    free = log_prob(EdgeBernoulli(NUM_DIMS, MATRIX), graphs)
    np.testing.assert_array_equal(log_prob(prior, graphs), np.where(inside, free, -np.inf))
    assert float(log_prob(prior, graphs[0])) == free[0]


@pytest.mark.nightly
@pytest.mark.parametrize("max_width", [1, 2])
@pytest.mark.parametrize("probs", [0.6, MATRIX], ids=["number", "matrix"])
def test_frequencies(probs, max_width: int, all_graphs, total_variation):
    graphs = all_graphs(NUM_DIMS)
    prior = BoundedTreewidth(NUM_DIMS, probs, max_width)
    draws = prior.sample(jax.random.key(0), (200, 200))
    assert draws.shape == (200, 200, NUM_DIMS, NUM_DIMS)
    assert draws.dtype == jnp.int32
    expected = np.asarray(jax.nn.softmax(prior.log_prob(graphs)))
    # The expected total variation of 40,000 independent draws over 63 graphs is at most 0.016.
    assert total_variation(draws, graphs, expected) < 0.02


@pytest.mark.parametrize("max_width", [pytest.param(1, marks=pytest.mark.nightly), 2])
def test_severe_restriction_is_sampled_inside_the_support(max_width: int):
    """All thousand tries fail, so the draw is a maximal subgraph of a dense graph."""
    num_dims = 15
    probs = np.full((num_dims, num_dims), 0.9)
    probs[[3, 7], [7, 3]] = 1.0
    prior = BoundedTreewidth(num_dims, probs, max_width)

    @jax.jit
    def run(prior, key):
        draws = prior.sample(key, (5,))
        return draws, adjacency(draws), jax.vmap(elimination_width)(draws), prior.log_prob(draws)

    draws, is_graph, width, density = map(np.asarray, run(prior, jax.random.key(0)))
    assert is_graph.all()
    assert (width == max_width).all()
    assert np.isfinite(density).all()
    assert draws[:, 3, 7].all()
    assert len(np.unique(draws, axis=0)) == 5
    # Maximal graphs of treewidth k have k D - k (k + 1) / 2 edges.
    most = max_width * num_dims - max_width * (max_width + 1) // 2
    counts = draws.sum((1, 2)) // 2
    assert (counts <= most).all()
    assert (counts >= most - 2).all()


@pytest.mark.parametrize("num_dims", [1, 2])
def test_few_dimensions_are_never_restricted(num_dims: int):
    prior = BoundedTreewidth(num_dims, 1.0, 1)
    draws = jax.jit(lambda prior, key: prior.sample(key, (3,)))(prior, jax.random.key(0))
    assert draws.sum() == 3 * num_dims * (num_dims - 1)


@pytest.mark.parametrize("max_width", [0, -1, 1.5, True, None])
def test_bound_must_be_a_positive_integer(max_width):
    with pytest.raises(ValueError, match=f"max_width must be an integer .*, got {max_width}"):
        BoundedTreewidth(NUM_DIMS, 0.5, max_width)


def test_certain_edges_must_fit():
    BoundedTreewidth(3, 1.0, 2)
    with pytest.raises(ValueError, match=r"width of more than max_width=1: .* raise max_width"):
        BoundedTreewidth(3, 1.0, 1)


def test_errors_of_independent_edges_remain():
    with pytest.raises(ValueError, match=r"probs must be in \[0, 1\], got 1.2"):
        BoundedTreewidth(NUM_DIMS, 1.2)


def test_distribution_passes_through_jit_and_vmap():
    Z = jnp.array([[0, 1, 0], [1, 0, 1], [0, 1, 0]])
    priors = jax.vmap(lambda p: BoundedTreewidth(3, p, 1))(jnp.array([0.1, 0.6]))
    densities = jax.jit(jax.vmap(lambda prior: prior.log_prob(Z)))(priors)
    np.testing.assert_allclose(densities, np.log([0.1**2 * 0.9, 0.6**2 * 0.4]), rtol=1e-12)


def test_support_is_that_of_edges():
    assert isinstance(BoundedTreewidth.support, constraints.Constraint)
    assert BoundedTreewidth.support is EdgeBernoulli.support


@pytest.mark.nightly
def test_structure_of_bounded_width():
    with handlers.seed(rng_seed=0), handlers.trace() as trace:
        edges(dist.Beta(8.0, 2.0), max_width=1)(8)
    assert set(trace) == {"edge_probability", "Z"}
    assert nx.is_forest(nx.from_numpy_array(np.asarray(trace["Z"]["value"])))
    assert trace["Z"]["fn"].max_width == 1
    assert trace["Z"]["fn"].probs == trace["edge_probability"]["value"]
