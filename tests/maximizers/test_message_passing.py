"""Message passing against brute force on a grid; its compilations and its memory."""

import jax
import networkx as nx
import numpy as np
import pytest
from additive_functions import edge_function, layout_for, tabulated, total_table

from structbo.maximizers import coarse_to_fine, max_sum, table_bytes, triangulate
from structbo.space import Levels


def random_scopes(rng, num_dims, active, shapes):
    """Groups of scopes on the first variables only; rows with larger indices become padding."""
    groups = []
    for count, size in shapes:
        group = np.full((count, size), -1)
        for row in group[: rng.integers(0, count + 1)]:
            if size <= active:
                row[:] = rng.choice(active, size, replace=False)
        groups.append(group)
    return tuple(groups)


SHAPES = [(4, 1), (6, 2), (4, 2), (3, 3), (2, 4)]


def test_max_sum_equals_brute_force():
    rng = np.random.default_rng(0)
    num_dims, num_grid = 7, 3
    for trial in range(240):
        scopes = random_scopes(rng, num_dims, 1 + trial % num_dims, SHAPES)
        tables = tuple(rng.normal(size=(len(g), *[num_grid] * g.shape[1])) for g in scopes)
        value, index = max_sum(tables, layout_for(scopes, num_dims, num_grid, width=6))
        total = total_table(tables, scopes, num_dims, num_grid)
        assert float(value) == pytest.approx(total.max(), abs=1e-12)
        assert total[tuple(index)] == pytest.approx(total.max(), abs=1e-12)


@pytest.mark.parametrize("num_dims", [1, 2, 4])
def test_max_sum_without_spare_room(num_dims):
    rng = np.random.default_rng(num_dims)
    scopes = random_scopes(rng, num_dims, num_dims, [(3, size) for size in range(1, num_dims + 1)])
    tables = tuple(rng.normal(size=(len(g), *[5] * g.shape[1])) for g in scopes)
    value, _ = max_sum(tables, layout_for(scopes, num_dims, 5))
    assert float(value) == pytest.approx(total_table(tables, scopes, num_dims, 5).max(), abs=1e-12)


def test_sum_over_draws_is_maximized_on_the_union_graph():
    rng = np.random.default_rng(1)
    num_dims, num_grid, num_draws = 6, 4, 3
    for _ in range(20):
        draws = [random_scopes(rng, num_dims, num_dims, [(3, 2), (2, 3)]) for _ in range(num_draws)]
        scopes = sum(draws, ())
        tables = tuple(rng.normal(size=(len(g), *[num_grid] * g.shape[1])) for g in scopes)
        parts = zip(draws, (tables[2 * d : 2 * d + 2] for d in range(num_draws)), strict=True)
        mean = sum(total_table(t, s, num_dims, num_grid) for s, t in parts) / num_draws
        value, index = max_sum(
            tuple(t / num_draws for t in tables), layout_for(scopes, num_dims, num_grid, width=5)
        )
        assert float(value) == pytest.approx(mean.max(), abs=1e-12)
        assert mean[tuple(index)] == pytest.approx(mean.max(), abs=1e-12)


def test_every_factor_counts_exactly_once():
    """With constant tables 1, 2, 4, ..., the sum shows how often each factor was counted."""
    siblings = (np.array([[0, 1], [1, 0], [-1, -1]]), np.array([[0, 1, 2], [0, 1, 3], [4, 1, 0]]))
    rng = np.random.default_rng(2)
    for scopes in [siblings, *(random_scopes(rng, 6, 6, [(6, 2), (4, 3)]) for _ in range(20))]:
        weights = np.split(2.0 ** np.arange(sum(map(len, scopes))), [len(scopes[0])])
        tables = tuple(
            np.broadcast_to(w.reshape(-1, *[1] * g.shape[1]), (len(w), *[2] * g.shape[1]))
            for w, g in zip(weights, scopes, strict=True)
        )
        value, _ = max_sum(tables, layout_for(scopes, 6, 2))
        assert value == sum(w[g[:, 0] >= 0].sum() for w, g in zip(weights, scopes, strict=True))


def test_max_sum_maps_over_layouts():
    rng = np.random.default_rng(3)
    scopes = [random_scopes(rng, 5, 5, [(4, 2)]) for _ in range(3)]
    tables = rng.normal(size=(3, 4, 3, 3))
    layouts = [layout_for(s, 5, 3, width=4) for s in scopes]
    values, _ = jax.vmap(max_sum)((tables,), jax.tree.map(lambda *a: np.stack(a), *layouts))
    single = [max_sum((t,), layout)[0] for t, layout in zip(tables, layouts, strict=True)]
    np.testing.assert_allclose(values, single)


def test_graphs_of_one_shape_share_a_compilation():
    graphs = [nx.gnm_random_graph(9, 11, seed=seed) for seed in range(20)]
    functions = [edge_function(graph)[0] for graph in graphs]
    before = max_sum._cache_size(), coarse_to_fine._cache_size()
    for function in functions:
        layout = layout_for(function.scopes, 9, 4, width=6)
        grids = np.tile(np.linspace(0.0, 1.0, 4), (9, 1))
        max_sum(tabulated(function, grids), layout)
        coarse_to_fine(function, layout, Levels.of([None] * 9), np.zeros(9), 3)
    assert len({triangulate(graph.adj).treewidth for graph in graphs}) > 1
    assert (max_sum._cache_size(), coarse_to_fine._cache_size()) == (before[0] + 1, before[1] + 1)


def test_table_bytes_is_what_the_compiled_program_takes():
    function, _ = edge_function(nx.grid_2d_graph(3, 4))
    layout = layout_for(function.scopes, 12, 13)
    tables = tabulated(function, np.zeros((12, 13)))
    used = max_sum.lower(tables, layout).compile().memory_analysis().temp_size_in_bytes
    need = table_bytes(function.scopes, 12, num_grid=13, width=layout.width)
    assert need == pytest.approx(used, rel=0.1)
