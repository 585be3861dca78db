"""Random trees: all labeled trees are equally frequent."""

import jax
import jax.numpy as jnp
import networkx as nx
import numpy as np
import pytest
from scipy.stats import chi2

import structbo as sb
from structbo.models import AdditiveGP, UniformTree, random_tree, spanning_tree


@pytest.mark.nightly
@pytest.mark.parametrize(("num_dims", "count"), [(1, 1), (2, 1), (3, 3), (4, 16), (5, 125)])
def test_all_trees_are_as_frequent(num_dims, count):
    """A chi-squared test of equal frequencies, which fails for one seed in ten thousand."""
    num_draws = 100 * count
    trees = np.asarray(UniformTree(num_dims).sample(jax.random.key(0), (num_draws,)))
    _, frequencies = np.unique(trees.reshape(num_draws, -1), axis=0, return_counts=True)
    assert len(frequencies) == count
    statistic = np.square(frequencies - 100).sum() / 100
    assert count == 1 or statistic < chi2.isf(1e-4, count - 1)


def test_draws_are_trees():
    draw = jax.jit(lambda key: UniformTree(30).sample(key, (2, 5)))
    for tree in np.asarray(draw(jax.random.key(1))).reshape(-1, 30, 30):
        assert nx.is_tree(nx.from_numpy_array(tree))
        assert (tree == tree.T).all()


def test_support_is_the_trees(all_graphs):
    @jax.jit
    def known(graphs, size_9):
        density = UniformTree(4, validate_args=False).log_prob(graphs)
        feasible = spanning_tree.feasible_like(jnp.zeros((6, 6), int))
        return density, *map(spanning_tree, (graphs, feasible, size_9))

    path, cycle = nx.path_graph(9), nx.cycle_graph(8)
    cycle.add_node(8)
    graphs = np.asarray(all_graphs(4))
    expected = [nx.is_tree(nx.from_numpy_array(graph)) for graph in graphs]
    assert sum(expected) == 16
    density, is_tree, is_feasible, of_nine = known(
        graphs, np.stack([nx.to_numpy_array(graph, dtype=int) for graph in (path, cycle)])
    )
    np.testing.assert_array_equal(is_tree, expected)
    np.testing.assert_allclose(np.exp(density), np.array(expected) / 16)
    assert is_feasible
    assert of_nine.tolist() == [True, False]


@pytest.mark.nightly
def test_default_sampler_draws_fresh_trees():
    """The data strongly prefer one tree, yet all trees are drawn equally often."""
    x = np.random.default_rng(0).random((12, 3))
    y = np.sin(6 * x[:, 0] * x[:, 1])
    model = AdditiveGP(random_tree())
    posterior = sb.fit(
        model, x, y, num_warmup=20, num_samples=300, num_chains=1, show_progress_bar=False
    )
    trees, frequencies = np.unique(
        posterior.draws["Z"][0].reshape(300, 9), axis=0, return_counts=True
    )
    assert len(trees) == 3 and (np.abs(frequencies - 100) < 4 * np.sqrt(300 * 2 / 9)).all()
    assert (posterior.structures.together.sum((-2, -1)) == 4).all()  # two edges, twice


def test_sizes_are_checked():
    with pytest.raises(ValueError, match="num_dims must be an integer of at least 1, got 0"):
        UniformTree(0)
