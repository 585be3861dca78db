"""Upper bounds on sums of tables against brute force and exact message passing."""

from itertools import combinations

import networkx as nx
import numpy as np
import pytest

from structbo.maximizers import dependency_graph, make_layout, max_sum, triangulate, upper_bound

NUM_DIMS, NUM_GRID = 6, 3


def random_tables(seed: int) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Tables of single variables, pairs in either order and triples, some of them padding."""
    rng = np.random.default_rng(seed)
    scopes = [np.arange(NUM_DIMS)[:, None]]
    for size, number in ((2, 9), (3, 3)):
        every = np.array(list(combinations(range(NUM_DIMS), size)))
        group = rng.permuted(rng.permutation(every)[:number], axis=1)
        scopes.append(np.concatenate([group, np.full((2, size), -1)]))
    tables = [rng.normal(size=(len(g), *[NUM_GRID] * g.shape[1])) for g in scopes]
    return tables, scopes


def brute_force(tables: list[np.ndarray], scopes: list[np.ndarray]) -> float:
    points = np.stack(np.meshgrid(*[np.arange(NUM_GRID)] * NUM_DIMS, indexing="ij"), -1)
    points = points.reshape(-1, NUM_DIMS)
    total = np.zeros(len(points))
    for group, group_tables in zip(scopes, tables, strict=True):
        for scope, table in zip(group, group_tables, strict=True):
            if scope[0] >= 0:
                total += table[tuple(points[:, scope].T)]
    return float(total.max())


@pytest.mark.parametrize("seed", range(20))
def test_the_bound_is_never_below_the_maximum_and_meets_it_when_there_is_room(seed: int) -> None:
    tables, scopes = random_tables(seed)
    maximum = brute_force(tables, scopes)
    bounds = [upper_bound(tables, scopes, NUM_DIMS, max_size=size) for size in range(2, 7)]
    assert min(bounds) >= maximum - 1e-9
    width = triangulate(dependency_graph(scopes, NUM_DIMS)).treewidth
    for size, bound in zip(range(2, 7), bounds, strict=True):
        if size > width:
            assert bound == pytest.approx(maximum, abs=1e-9)


def test_small_buckets_are_not_always_enough() -> None:
    """Otherwise the bound would not be tested."""
    gaps = []
    for seed in range(20):
        tables, scopes = random_tables(seed)
        maximum = brute_force(tables, scopes)
        independent = sum(t.reshape(len(t), -1).max(1)[g[:, 0] >= 0].sum()
                          for t, g in zip(tables, scopes, strict=True))  # fmt: skip
        bound = upper_bound(tables, scopes, NUM_DIMS, max_size=3)
        gaps.append(bound - maximum)
        assert bound < independent
    assert max(gaps) > 0.1
    assert np.median(gaps) < 0.5


def test_the_bound_is_that_of_message_passing_on_a_tree() -> None:
    graph = nx.random_labeled_tree(30, seed=1)
    scopes = (np.array(graph.edges),)
    tables = (np.random.default_rng(0).normal(size=(29, 9, 9)),)
    layout = make_layout(triangulate(graph.adj), scopes, num_grid=9)
    exact = float(max_sum(tables, layout)[0])
    assert upper_bound(tables, scopes, 30, max_size=2) == pytest.approx(exact)
