"""Message passing against brute force, on grids and refined; its fallback; its compilations."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from itertools import product
from typing import ClassVar

import jax
import jax.numpy as jnp
import networkx as nx
import numpy as np
import pytest
from jax.tree_util import register_dataclass

from structbo.maximizers import (
    additive,
    coarse_to_fine,
    dependency_graph,
    make_layout,
    max_sum,
    maximize_additive,
    rounds_needed,
    table_bytes,
    triangulate,
)
from structbo.space import Levels


@partial(register_dataclass, data_fields=["scopes", "omega", "phase", "weight"], meta_fields=[])
@dataclass(frozen=True)
class Waves:
    """An additive function: a Gaussian-process sample per factor, by random Fourier features."""

    scopes: tuple
    omega: tuple
    phase: tuple
    weight: tuple
    num_features: ClassVar[int] = 32

    @classmethod
    def sample(cls, scopes, seed, lengthscale=0.2):
        rng = np.random.default_rng(seed)
        shapes = [(len(group), cls.num_features) for group in scopes]
        return cls(
            tuple(scopes),
            tuple(
                rng.normal(size=(*s, g.shape[1])) / lengthscale
                for s, g in zip(shapes, scopes, strict=True)
            ),
            tuple(rng.uniform(0.0, 2.0 * np.pi, s) for s in shapes),
            tuple(rng.normal(size=s) * np.sqrt(2.0 / cls.num_features) for s in shapes),
        )

    def tables(self, grids):
        def table(scope, omega, phase, weight):
            size, num_grid = len(scope), grids.shape[1]
            points = jnp.stack(jnp.meshgrid(*jnp.asarray(grids)[scope], indexing="ij"), -1)
            waves = jnp.cos(points.reshape(-1, size) @ omega.T + phase)
            return (waves @ weight).reshape((num_grid,) * size)

        groups = zip(self.scopes, self.omega, self.phase, self.weight, strict=True)
        return tuple(jax.vmap(table)(*group) for group in groups)

    def __call__(self, x):
        total = jnp.zeros(len(x))
        for scopes, omega, phase, weight in zip(
            self.scopes, self.omega, self.phase, self.weight, strict=True
        ):
            angle = jnp.einsum("fma,nfa->nfm", omega, x[:, scopes]) + phase
            total += jnp.einsum("fm,nfm->n", weight, jnp.cos(angle))
        return total


@jax.jit
def tabulated(function, grids):
    return function.tables(grids)


def value_of(function, x):
    """Waves at points, without JAX."""
    total = np.zeros(len(x))
    for scopes, omega, phase, weight in zip(
        function.scopes, function.omega, function.phase, function.weight, strict=True
    ):
        angle = np.einsum("fma,nfa->nfm", omega, np.asarray(x)[:, scopes]) + phase
        total += np.einsum("fm,nfm->n", weight, np.cos(angle))
    return total


@partial(register_dataclass, data_fields=["target"], meta_fields=["formula"])
@dataclass(frozen=True)
class Formula:
    """One factor over variables 0 and 1, given by a formula of both and of a target."""

    target: float
    formula: Callable
    scopes: ClassVar[tuple] = (np.array([[0, 1]]),)

    def tables(self, grids):
        return (self.formula(grids[0][:, None], grids[1], self.target)[None],)

    def __call__(self, x):
        return self.formula(x[:, 0], x[:, 1], self.target)


def edge_function(graph, seed=0):
    graph = nx.convert_node_labels_to_integers(graph)
    return Waves.sample((np.array(graph.edges),), seed), [None] * len(graph)


def layout_for(scopes, num_dims, num_grid, width=None):
    tree = triangulate(dependency_graph(scopes, num_dims))
    return make_layout(tree, scopes, num_grid=num_grid, width=width)


def random_scopes(rng, num_dims, active, shapes):
    """Groups of scopes on the first variables only; rows that are too large are padding."""
    groups = []
    for count, size in shapes:
        group = np.full((count, size), -1)
        for row in group[: rng.integers(0, count + 1)]:
            if size <= active:
                row[:] = rng.choice(active, size, replace=False)
        groups.append(group)
    return tuple(groups)


def total_table(tables, scopes, num_dims, num_grid):
    """The sum over the whole grid, shape (G,) * D."""
    total = np.zeros((num_grid,) * num_dims)
    for group, group_tables in zip(scopes, tables, strict=True):
        for scope, table in zip(group, group_tables, strict=True):
            if scope[0] >= 0:
                order = np.argsort(scope)
                shape = [num_grid if v in scope else 1 for v in range(num_dims)]
                total += np.transpose(np.asarray(table), order).reshape(shape)
    return total


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
    """Constant tables 1, 2, 4, ...: the sum tells which factors were counted how often."""
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
    assert len({triangulate(graph).treewidth for graph in graphs}) > 1
    assert (max_sum._cache_size(), coarse_to_fine._cache_size()) == (before[0] + 1, before[1] + 1)


def test_table_bytes_is_what_the_compiled_program_takes():
    function, _ = edge_function(nx.grid_2d_graph(3, 4))
    layout = layout_for(function.scopes, 12, 13)
    tables = tabulated(function, np.zeros((12, 13)))
    used = max_sum.lower(tables, layout).compile().memory_analysis().temp_size_in_bytes
    need = table_bytes(function.scopes, 12, num_grid=13, width=layout.width)
    assert need == pytest.approx(used, rel=0.1)


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


def test_a_start_does_not_move_the_grid_that_the_bound_is_of():
    """A peak on the grid is found although the start is next to it, and on lower ground."""

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
    monkeypatch.setattr(additive, "coarse_to_fine", recorded)
    monkeypatch.setattr(additive, "_BLOCK_WIDTHS", (1,))
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
    monkeypatch.setattr(additive, "_GRIDS", (5,))
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
    best = additive._recombine(function, layout_for(function.scopes, 6, 3), parents)
    mixtures = np.array(list(product(*parents.T)))
    best = value_of(function, np.asarray(best)[None])[0]
    assert best == pytest.approx(value_of(function, mixtures).max(), abs=1e-12)


@pytest.mark.nightly
def test_many_starts_are_at_least_as_good_as_each(monkeypatch):
    monkeypatch.setattr(additive, "_BLOCK_WIDTHS", (1,))
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


def test_rounds_reach_the_resolution():
    for num_grid in (3, 9, 17, 33):
        step = 1.0 / (num_grid - 1)
        shrinkage = min(0.5, 4.0 * step)
        rounds = rounds_needed(num_grid)
        assert step * shrinkage ** (rounds - 1) <= 1e-3
        assert rounds == 1 or step * shrinkage ** (rounds - 2) > 1e-3


def test_even_points_have_every_level_equally_often():
    levels = Levels.of([np.array([0.0, 0.2, 1.0]), None, np.array([0.0, 1.0])])
    uniform = (np.arange(60)[:, None] + 0.5) / 60 * np.ones(3)
    even = np.asarray(levels.even(uniform))
    assert np.unique(even[:, 0], return_counts=True)[1].tolist() == [20, 20, 20]
    assert np.unique(even[:, 2], return_counts=True)[1].tolist() == [30, 30]
    assert np.array_equal(even[:, 1], uniform[:, 1])
