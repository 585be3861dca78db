"""The graph of the posterior has its probabilities, also after a round trip to a file."""

from itertools import combinations
from pathlib import Path

import jax.numpy as jnp
import networkx as nx
import numpy as np
import pytest

from structbo.models import AdditiveGP, Decomposition, edges, partitions, projected
from structbo.posterior import Posterior

NAMES = ("rate", "depth", "width", "decay")
LABELS = [[0, 0, 1, 2], [0, 0, 1, 1], [0, 1, 2, 3], [0, 0, 1, 2]]
"""Rate and depth are in one block in 3 of 4 draws, width and decay in 1 of 4."""


def with_draws(model: AdditiveGP, site: str, values: np.ndarray) -> Posterior:
    shape = values.shape[:2]
    X = np.random.default_rng(0).random((3, len(NAMES)))
    draws = {site: values, "lengthscale": np.ones((*shape, len(NAMES)))}
    draws |= {"outputscale": np.ones(shape), "noise": np.ones(shape)}
    return Posterior(model, X, X[:, 0], draws, names=NAMES)


@pytest.fixture(scope="module")
def blocks() -> Posterior:
    return with_draws(AdditiveGP(partitions()), "labels", np.array([LABELS, LABELS[::-1]]))


def test_attributes_are_probabilities_and_their_errors(blocks: Posterior):
    graph = blocks.to_networkx()
    assert tuple(graph) == NAMES and not graph.is_directed()
    assert set(map(frozenset, graph.edges)) == {
        frozenset({"rate", "depth"}),
        frozenset({"width", "decay"}),
    }
    assert graph.edges["rate", "depth"]["probability"] == 0.75
    assert graph.edges["width", "decay"]["probability"] == 0.25
    mean, mcse = blocks.together_probabilities()
    active = blocks.active_probabilities()
    for a, b in combinations(range(len(NAMES)), 2):
        if graph.has_edge(NAMES[a], NAMES[b]):
            expected = {"probability": mean[a, b], "mcse": mcse[a, b]}
            assert graph.edges[NAMES[a], NAMES[b]] == expected
        else:
            assert mean[a, b] == 0.0
    for d, name in enumerate(NAMES):
        expected = {"probability": active.mean[d], "mcse": active.mcse[d]}
        assert graph.nodes[name] == expected


@pytest.mark.parametrize(("threshold", "count"), [(0.0, 2), (0.25, 1), (0.5, 1), (0.75, 0), (1, 0)])
def test_pairs_above_the_threshold_are_joined(blocks: Posterior, threshold: float, count: int):
    graph = blocks.to_networkx(threshold=threshold)
    assert len(graph) == len(NAMES)
    assert graph.number_of_edges() == count


@pytest.mark.parametrize("threshold", [-0.1, 1.1, np.nan])
def test_threshold_is_a_probability(blocks: Posterior, threshold: float):
    with pytest.raises(ValueError, match=r"threshold must be in \[0, 1\], got"):
        blocks.to_networkx(threshold=threshold)


def test_edges_have_the_shares_of_their_pairs(blocks: Posterior):
    importances = blocks.importances()
    graph = blocks.to_networkx(importances=importances)
    mean, lower, upper, _, matters = importances.pairs
    known = {"share": mean, "lower": lower, "upper": upper, "matters": matters}
    for a, b in ((0, 1), (2, 3)):
        edge = graph.edges[NAMES[a], NAMES[b]]
        for name, value in known.items():
            assert edge[name] == value[a, b] and type(edge[name]) is float
        assert edge["share"] > 0.0 and edge["matters"] <= edge["probability"]
    others = importances._replace(names=NAMES[::-1])
    with pytest.raises(ValueError, match="importances must be of the same parameters in the same"):
        blocks.to_networkx(importances=others)


def test_graphml_keeps_everything(blocks: Posterior, tmp_path: Path):
    graph = blocks.to_networkx()
    nx.write_graphml(graph, tmp_path / "posterior.graphml")
    read = nx.read_graphml(tmp_path / "posterior.graphml")
    assert read.nodes == graph.nodes
    assert read.adj == graph.adj


def test_attributes_are_plain_floats(blocks: Posterior):
    graph = blocks.to_networkx()
    attributes = [*graph.nodes.values(), *graph.edges.values()]
    assert {type(value) for found in attributes for value in found.values()} == {float}


def test_cliques_of_an_edge_model():
    """The cliques of edges in all draws are the components of the model."""
    Z = nx.to_numpy_array(nx.Graph([(0, 1), (1, 2), (0, 2), (2, 3)]), dtype=int)
    graph = with_draws(AdditiveGP(edges(0.5)), "Z", np.tile(Z, (1, 4, 1, 1))).to_networkx()
    cliques = set(map(frozenset, nx.find_cliques(graph)))
    assert cliques == {frozenset({"rate", "depth", "width"}), frozenset({"width", "decay"})}
    assert {probability for *_, probability in graph.edges(data="probability")} == {1.0}


def test_nodes_of_a_projection_are_its_directions():
    both = Decomposition.of(jnp.array([[True, True]]))
    plane = AdditiveGP(lambda num_dims: projected(both, jnp.ones((num_dims, 2))))
    values = {"lengthscale": np.ones(2), "outputscale": 1.0, "noise": 1.0}
    X = np.random.default_rng(0).random((3, len(NAMES)))
    posterior = Posterior.at(plane, X, X[:, 0], values)
    assert list(posterior.to_networkx().edges(data="probability")) == [("z0", "z1", 1.0)]
