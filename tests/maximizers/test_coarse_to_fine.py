"""Refinement between the points of a grid: real variables, many levels, and clamped ones."""

from itertools import product

import jax.numpy as jnp
import networkx as nx
import numpy as np
import pytest
from additive_functions import (
    Formula,
    Waves,
    edge_function,
    layout_for,
    tabulated,
    total_table,
    value_of,
)

from structbo.maximizers import (
    coarse_to_fine,
    dependency_graph,
    make_layout,
    max_sum,
    maximize_additive,
    rounds_needed,
    triangulate,
)
from structbo.space import Levels


def test_refinement_never_falls_below_the_grid_and_never_decreases():
    for seed in range(5):
        function, levels = edge_function(nx.grid_2d_graph(2, 4), seed)
        layout = layout_for(function.scopes, 8, 7)
        grid = np.linspace(0.0, 1.0, 7)
        on_grid, _ = max_sum(tabulated(function, np.tile(grid, (8, 1))), layout)
        values = []
        for rounds in range(1, 8):
            x, value = coarse_to_fine(function, layout, Levels.of(levels), np.zeros(8), rounds)
            assert value_of(function, np.asarray(x)[None])[0] == pytest.approx(
                float(value), abs=1e-12
            )
            values.append(float(value))
        assert values[0] == pytest.approx(float(on_grid), abs=1e-12)
        assert values == sorted(values)
        assert values[-1] > values[0] + 1e-3


def test_refined_answer_equals_a_fine_brute_force():
    scopes = (np.array([[0], [1]]), np.array([[0, 1]]))
    grids = np.tile(np.linspace(0.0, 1.0, 401), (2, 1))
    for seed in range(4):
        function = Waves.sample(scopes, seed)
        brute = total_table(tabulated(function, grids), scopes, 2, 401).max()
        answer = maximize_additive(function, levels=[None, None])
        assert answer.exact
        assert brute - 1e-5 <= answer.value <= brute + 1e-3


@pytest.mark.parametrize(
    "graph",
    [
        pytest.param(nx.star_graph(9), marks=pytest.mark.nightly, id="star"),
        pytest.param(nx.path_graph(10), marks=pytest.mark.nightly, id="path"),
        pytest.param(nx.cycle_graph(10), id="cycle"),
    ],
)
def test_refined_answer_equals_a_fine_exact_grid(graph):
    function, levels = edge_function(graph)
    fine = maximize_additive(function, levels=levels, num_grid=101)
    answer = maximize_additive(function, levels=levels)
    points = np.random.default_rng(0).uniform(size=(1000, len(levels)))
    assert answer.exact
    assert (fine.value - answer.value) / (fine.value - value_of(function, points).mean()) < 1e-3


def test_discrete_variables_take_their_best_levels_exactly():
    levels = [np.array([0.1, 0.35, 0.9]), None, np.array([0.5]), np.linspace(0.0, 1.0, 5) ** 2]
    scopes = (np.array([[0, 1], [2, 3], [3, 0]]),)
    fine = np.linspace(0.0, 1.0, 2001)
    points = np.array(list(product(levels[0], fine, levels[2], levels[3])))
    for seed in range(5):
        function = Waves.sample(scopes, seed)
        answer = maximize_additive(function, levels=levels)
        values = value_of(function, points)
        best = points[values.argmax()]
        assert answer.value == pytest.approx(values.max(), abs=1e-5)
        assert all(answer.x[d] == best[d] for d in (0, 2, 3))


@pytest.mark.parametrize("count", [6, 7, 8, 50, 3000])
def test_more_levels_than_grid_points(count):
    levels = [np.linspace(0.0, 1.0, count) ** 1.5, np.linspace(0.0, 1.0, count)]
    function = Waves.sample((np.array([[0, 1]]),), seed=4, lengthscale=0.6)
    answer = maximize_additive(function, levels=levels, num_grid=7)
    pairs = list(zip(levels, answer.x, strict=True))
    assert all(x in values for values, x in pairs)
    near = [values[np.argsort(np.abs(values - x))[:40]] for values, x in pairs]
    assert answer.value == pytest.approx(value_of(function, np.array(list(product(*near)))).max())


@pytest.mark.parametrize("num_grid", [4, 5])
def test_windows_of_levels_end_on_adjacent_ones(num_grid):
    values = np.linspace(0.0, 1.0, 50)
    for target in values[::3]:
        function = Formula(target, _valley)
        answer = maximize_additive(function, levels=[values, values], num_grid=num_grid)
        assert answer.x.tolist() == [target, target]


def _valley(x, y, target):
    return -((x - target) ** 2) - (y - target) ** 2


def test_a_few_levels_stay_on_every_grid():
    """The best level shows only once the continuous variable is resolved."""
    function = Formula(0.31, _spike_at_level_0)
    answer = maximize_additive(function, levels=[np.array([0.0, 0.5, 0.8, 1.0]), None], num_grid=11)
    assert answer.x[0] == 0.0
    assert answer.value == pytest.approx(2.0, abs=1e-3)


def _spike_at_level_0(x, y, target):
    spike = 2.0 * jnp.exp(-(((y - target - 0.04) / 0.02) ** 2))
    return jnp.where(x == 0.0, spike, x - (y - target) ** 2)


def test_clamped_variables_stay_and_the_others_are_maximized():
    function, levels = edge_function(nx.cycle_graph(5))
    tree = triangulate(dependency_graph(function.scopes, 5), max_width=1)
    (clamped,) = tree.clamped
    start = np.random.default_rng(0).uniform(size=5)
    layout = make_layout(tree, function.scopes, num_grid=15)
    x, value = coarse_to_fine(function, layout, Levels.of(levels), start, 1)
    assert np.asarray(x)[clamped] == start[clamped]
    grids = np.tile(np.linspace(0.0, 1.0, 15), (5, 1))
    grids[np.arange(5), np.abs(grids - start[:, None]).argmin(1)] = start
    grids[clamped] = start[clamped]
    layout = layout_for(function.scopes, 5, 15)
    assert float(value) == pytest.approx(float(max_sum(tabulated(function, grids), layout)[0]))


def test_rounds_reach_the_resolution():
    for num_grid in (3, 9, 17, 33):
        step = 1.0 / (num_grid - 1)
        shrinkage = min(0.5, 4.0 * step)
        rounds = rounds_needed(num_grid)
        assert step * shrinkage ** (rounds - 1) <= 1e-3
        assert rounds == 1 or step * shrinkage ** (rounds - 2) > 1e-3
