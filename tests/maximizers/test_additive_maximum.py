"""The maximum of an additive function: starts, bounds, and limited memory."""

from itertools import product

import jax
import jax.numpy as jnp
import networkx as nx
import numpy as np
import pytest
from additive_functions import Formula, Waves, edge_function, layout_for, value_of

from structbo.maximizers import (
    additive_maximum,
    coarse_to_fine,
    max_sum,
    maximize_additive,
    table_bytes,
)


def test_a_start_does_not_move_the_grid_that_the_bound_is_of():
    """A peak on the grid is found from a lower start next to it."""

    def spike(x, y, target):
        return jnp.exp(-(((x - target) ** 2 + (y - target) ** 2) / 0.004**2)) + 0.1 * x

    start = np.array([0.51, 0.51])
    found = maximize_additive(Formula(0.5, spike), levels=[None, None], start=start)
    assert found.exact and found.bound_grid == 33
    assert found.upper_bound == found.value >= 1.05


def test_the_answer_is_never_below_a_start():
    function, levels = edge_function(nx.grid_2d_graph(3, 3))
    rng = np.random.default_rng(0)
    good = maximize_additive(function, levels=levels).x
    starts = np.stack([rng.uniform(size=9), good])
    for budget in (2**26, 2**17):
        coarse = maximize_additive(
            function, levels=levels, num_grid=5, num_rounds=1, memory_budget=budget, start=starts
        )
        assert coarse.value >= value_of(function, good[None])[0] - 1e-12


@pytest.mark.nightly
def test_fallback_is_close_to_exact_and_says_that_it_is_not(monkeypatch):
    needs = []

    def recorded(function, layout, *rest):
        needs.append(table_bytes(function.scopes, 9, num_grid=layout.num_grid, width=layout.width))
        return coarse_to_fine(function, layout, *rest)

    hits = 0
    monkeypatch.setattr(additive_maximum, "coarse_to_fine", recorded)
    monkeypatch.setattr(additive_maximum, "BLOCK_WIDTHS", (1,))
    for seed in range(6):
        function, levels = edge_function(nx.grid_2d_graph(3, 3), seed)
        exact = maximize_additive(function, levels=levels)
        needs.clear()
        answer = maximize_additive(function, levels=levels, memory_budget=2**16)
        assert max(needs) <= 2**16
        assert (answer.exact, exact.exact, answer.treewidth) == (False, True, 3)
        assert answer.value <= exact.value + 1e-3
        assert answer.value == pytest.approx(float(function(answer.x[None])[0]), abs=1e-12)
        hits += answer.value >= exact.value - 1e-3
        grid = jnp.tile(jnp.linspace(0.0, 1.0, answer.bound_grid), (9, 1))
        layout = layout_for(function.scopes, 9, answer.bound_grid)
        on_grid = float(max_sum(function.tables(grid), layout)[0])
        assert answer.upper_bound >= max(on_grid, answer.value) - 1e-9
        assert answer.gap < 0.1 * abs(answer.value)
        assert (exact.gap, exact.upper_bound) == (0.0, exact.value)
    assert hits >= 5


@pytest.mark.nightly
def test_a_coarse_exact_answer_is_improved_by_block_ascent(monkeypatch):
    monkeypatch.setattr(additive_maximum, "GRIDS", (5,))
    gains = []
    for seed in range(3):
        function, levels = edge_function(nx.grid_2d_graph(3, 3), seed)
        coarse = maximize_additive(function, levels=levels, num_grid=5)
        answer = maximize_additive(function, levels=levels)
        assert answer.exact
        gains.append(answer.value - coarse.value)
    assert min(gains) >= 0.0
    assert max(gains) > 0.1


def test_recombination_is_the_best_mixture_of_the_parents():
    function, _ = edge_function(nx.grid_2d_graph(2, 3))
    parents = np.random.default_rng(0).uniform(size=(3, 6))
    best = additive_maximum.recombine(function, layout_for(function.scopes, 6, 3), parents)
    mixtures = np.array(list(product(*parents.T)))
    best = value_of(function, np.asarray(best)[None])[0]
    assert best == pytest.approx(value_of(function, mixtures).max(), abs=1e-12)


@pytest.mark.nightly
def test_many_starts_are_at_least_as_good_as_each(monkeypatch):
    monkeypatch.setattr(additive_maximum, "BLOCK_WIDTHS", (1,))
    small = {"num_grid": 3, "num_rounds": 2, "memory_budget": 2**12}
    for seed in range(3):
        function, levels = edge_function(nx.grid_2d_graph(3, 4), seed)
        starts = np.random.default_rng(seed).uniform(size=(4, 12))
        each = [maximize_additive(function, levels=levels, start=x, **small) for x in starts]
        together = maximize_additive(function, levels=levels, start=starts, **small)
        assert not together.exact
        assert together.value >= max(answer.value for answer in each) - 1e-12


def test_factors_that_cannot_be_tabulated_are_refused():
    function = Waves.sample((np.arange(20)[None],), seed=0)
    with pytest.raises(ValueError, match="budget=1048576 bytes cannot hold"):
        maximize_additive(function, levels=[None] * 20, memory_budget=2**20)


def test_answers_are_in_double_precision_whatever_the_global_flag():
    function, levels = edge_function(nx.path_graph(4))
    expected = maximize_additive(function, levels=levels)
    with jax.enable_x64(False):
        answer = maximize_additive(function, levels=levels)
    assert answer.x.dtype == np.float64
    assert answer.value == expected.value
