"""Junction trees: known widths, the running intersection property, and one clique per factor."""

from itertools import combinations

import networkx as nx
import numpy as np
import pytest
from networkx.algorithms.approximation import treewidth_min_degree, treewidth_min_fill_in

from structbo.maximizers import dependency_graph, make_layout, table_bytes, triangulate


def lattice(rows, columns):
    return nx.convert_node_labels_to_integers(nx.grid_2d_graph(rows, columns))


def random_graphs(count, max_dims=12):
    rng = np.random.default_rng(0)
    for seed in range(count):
        num_dims = int(rng.integers(1, max_dims + 1))
        yield nx.gnp_random_graph(num_dims, rng.uniform(0.05, 0.7), seed=seed)


@pytest.mark.parametrize(
    ("graph", "width"),
    [
        (nx.empty_graph(5), 0),
        (nx.random_labeled_tree(50, seed=1), 1),
        (nx.star_graph(49), 1),
        (nx.cycle_graph(9), 2),
        (lattice(3, 3), 3),
        (lattice(4, 5), 4),
        (lattice(5, 10), 5),
        (nx.complete_graph(7), 6),
        (nx.disjoint_union(nx.cycle_graph(4), nx.complete_graph(4)), 3),
    ],
)
def test_treewidth_of_known_graphs(graph, width):
    assert triangulate(graph.adj).treewidth == width


def test_cliques_triangulate_the_graph():
    for graph in random_graphs(60):
        tree = triangulate(graph.adj)
        filled = nx.Graph()
        filled.add_nodes_from(graph)
        for clique in tree.cliques:
            filled.add_edges_from(combinations(clique, 2))
        assert set(tree.order) == set(graph)
        assert nx.is_chordal(filled) or filled.number_of_edges() == 0
        assert all(filled.has_edge(*edge) for edge in graph.edges)
        assert max(map(len, nx.find_cliques(filled))) == tree.treewidth + 1


def test_chordal_graphs_keep_their_edges():
    """Elimination adds no edges to chordal graphs and finds their largest cliques."""
    for graph in random_graphs(60):
        chordal, _ = nx.complete_to_chordal_graph(graph)
        cliques = list(map(frozenset, triangulate(chordal.adj).cliques))
        assert all(
            chordal.has_edge(*edge) for clique in cliques for edge in combinations(clique, 2)
        )
        maximal = {clique for clique in cliques if not any(clique < other for other in cliques)}
        assert maximal == set(nx.chordal_graph_cliques(chordal))
        assert triangulate(chordal.adj).treewidth == max(map(len, maximal)) - 1


def test_widths_beside_those_of_networkx():
    """Widths are not below the treewidth, and in total not above the heuristics of NetworkX."""
    graphs = list(random_graphs(100, max_dims=25))
    widths = [triangulate(graph.adj).treewidth for graph in graphs]
    for graph, width in zip(graphs, widths, strict=True):
        assert width >= max(nx.core_number(graph).values())
        assert (width <= 1) == nx.is_forest(graph)
    for heuristic in (treewidth_min_fill_in, treewidth_min_degree):
        assert sum(widths) <= sum(heuristic(graph)[0] for graph in graphs)


def test_running_intersection_property():
    for graph in random_graphs(60):
        tree = triangulate(graph.adj)
        joined = nx.Graph()
        joined.add_nodes_from(range(len(graph)))
        for step, parent in enumerate(tree.parents):
            if parent is not None:
                assert parent > step
                assert set(tree.separators[step]) <= set(tree.cliques[parent])
                joined.add_edge(step, parent)
        assert nx.is_forest(joined)
        for v in graph:
            holders = [step for step, clique in enumerate(tree.cliques) if v in clique]
            assert nx.is_connected(joined.subgraph(holders))


def test_elimination_is_min_fill():
    """The chosen variable adds a minimal number of pairs, recounted at every step."""
    for graph in random_graphs(40):
        left = graph.copy()
        for v, separator in zip(*triangulate(graph.adj)[:2], strict=True):
            fill = {
                u: sum(not left.has_edge(*pair) for pair in combinations(left[u], 2)) for u in left
            }
            assert fill[v] == min(fill.values())
            assert set(left[v]) == set(separator)
            left.add_edges_from(combinations(left[v], 2))
            left.remove_node(v)


@pytest.mark.parametrize("max_width", [0, 1, 2, 3])
def test_clamping_bounds_the_width(max_width):
    for graph in random_graphs(40):
        tree = triangulate(graph.adj, max_width=max_width)
        assert tree.treewidth <= max_width
        assert set(tree.order) == set(graph)
        free = graph.subgraph(set(graph) - tree.clamped)
        for clique in tree.cliques:
            assert len(clique) == 1 or not tree.clamped & set(clique)
        cliques = list(map(set, tree.cliques))
        assert all(any({*edge} <= clique for clique in cliques) for edge in free.edges)


def test_nothing_is_clamped_when_the_width_fits():
    assert triangulate(lattice(4, 5).adj, max_width=4).clamped == frozenset()


def test_clamped_variables_rotate():
    graph, times_clamped = nx.complete_graph(8), np.zeros(8, int)
    for _ in range(4):
        clamped = triangulate(graph.adj, max_width=1, times_clamped=times_clamped).clamped
        assert len(clamped) == 6
        times_clamped[list(clamped)] += 1
    assert times_clamped.tolist() == [3] * 8


def test_every_factor_and_message_is_delivered_once_to_a_clique_that_holds_it():
    rng = np.random.default_rng(0)
    for _ in range(40):
        num_dims, num_grid = 7, 3
        scopes = tuple(
            np.array([rng.choice(num_dims, size, replace=False) for _ in range(4)])
            for size in (1, 2, 3)
        )
        tree = triangulate(dependency_graph(scopes, num_dims))
        layout = make_layout(tree, scopes, num_grid=num_grid)
        steps = np.repeat(np.arange(num_dims), np.diff(layout.entries))
        delivered = dict(zip(layout.offsets.tolist(), steps.tolist(), strict=False))
        num_messages = sum(parent is not None for parent in tree.parents)
        assert len(delivered) == len(steps) == 12 + num_messages
        offset = 0
        for group in scopes:
            for scope in group:
                assert set(scope) <= set(tree.cliques[delivered[offset]])
                offset += num_grid ** len(scope)
        for step, parent in enumerate(tree.parents):
            if parent is not None:
                assert delivered[offset + step * num_grid**tree.treewidth] == parent


def test_padding_rows_are_ignored():
    scopes = (np.array([[0, 1], [-1, -1]]), np.array([[-1, -1, -1]]))
    graph = dependency_graph(scopes, 3)
    assert graph == {0: {1}, 1: {0}, 2: set()}
    layout = make_layout(triangulate(graph), scopes, num_grid=4)
    assert layout.entries.tolist()[-1] == 2
    assert layout.offsets.shape == (6,)


def test_variables_of_no_factor_are_held_fixed():
    scopes = [np.array([[1, 3], [-1, -1]])]
    tree = triangulate(dependency_graph(scopes, 4))
    layout = make_layout(tree, scopes, num_grid=3)
    assert layout.clamped.tolist() == [True, False, True, False]


def test_a_layout_needs_room_for_the_tree():
    scopes = (np.array([[0, 1, 2]]),)
    tree = triangulate(dependency_graph(scopes, 3))
    with pytest.raises(ValueError, match="treewidth 2, got 1"):
        make_layout(tree, scopes, num_grid=4, width=1)


def test_table_bytes_by_hand():
    scopes = (np.array([[0], [1]]), np.array([[0, 1]]))
    assert table_bytes(scopes, 2, num_grid=5, width=1) == 8 * ((2 * 5 + 25) + 2 * 5 + 25)
