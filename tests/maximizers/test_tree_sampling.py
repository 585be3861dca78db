"""Samples on junction trees against the enumerated grid."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import networkx as nx
import numpy as np
import pytest
from scipy.special import logsumexp

from structbo.maximizers import (
    Layout,
    dependency_graph,
    make_layout,
    sample_additive,
    sample_tables,
    triangulate,
)
from structbo.proposal import candidate_points
from structbo.space import Levels

NUM_DIMS, NUM_GRID = 5, 3
SIBLINGS = (np.array([[0, 1], [4, 3], [-1, -1]]), np.array([[0, 1, 2], [0, 1, 3]]))
"""Two cliques share a pair with a separate factor; one row is padding."""
GRAPHS = {
    "siblings": SIBLINGS,
    "cycle": (np.array(nx.cycle_graph(5).edges),),
    "two trees": (np.array([[0, 3], [2, 4]]), np.array([[1]])),
    "a variable of no factor": (np.array([[0, 1], [1, 2]]), np.array([[3]])),
}


def layout_of(scopes, num_grid: int, max_width: int | None = None) -> Layout:
    tree = triangulate(dependency_graph(scopes, NUM_DIMS), max_width=max_width)
    return make_layout(tree, scopes, num_grid=num_grid)


def on_grid(tables, scopes) -> np.ndarray:
    """The sum of all tables at every point of the enumerated grid."""
    index = np.stack(np.unravel_index(np.arange(NUM_GRID**NUM_DIMS), [NUM_GRID] * NUM_DIMS))
    total = np.zeros(index.shape[1])
    for group, group_tables in zip(scopes, tables, strict=True):
        for scope, table in zip(group, group_tables, strict=True):
            if scope[0] >= 0:
                total += table[tuple(index[scope])]
    return total


@pytest.mark.parametrize("name", GRAPHS)
def test_samples_and_their_normalizer_equal_enumeration(name, total_variation):
    scopes = GRAPHS[name]
    rng = np.random.default_rng(0)
    tables = tuple(1.5 * rng.normal(size=(len(g), *[NUM_GRID] * g.shape[1])) for g in scopes)
    samples, log_total = sample_tables(
        jax.random.key(0), tables, layout_of(scopes, NUM_GRID), 20_000
    )
    total = on_grid(tables, scopes)
    assert float(log_total) == pytest.approx(logsumexp(total), abs=1e-12)
    values = np.stack(np.unravel_index(np.arange(total.size), [NUM_GRID] * NUM_DIMS), 1)
    # The mean distance is below sqrt(243 / (2 pi 20,000)) = 0.044, its deviation below 0.0035.
    expected = np.exp(total - logsumexp(total))
    assert total_variation(samples, values, expected) < 0.055


def test_large_values_do_not_overflow():
    scopes = GRAPHS["cycle"]
    tables = (1e6 * np.random.default_rng(0).normal(size=(5, NUM_GRID, NUM_GRID)),)
    samples, log_total = sample_tables(jax.random.key(0), tables, layout_of(scopes, NUM_GRID), 20)
    total = on_grid(tables, scopes)
    assert float(log_total) == pytest.approx(total.max())
    best = np.unravel_index(total.argmax(), [NUM_GRID] * NUM_DIMS)
    assert (np.asarray(samples) == best).all()


class Bowl(NamedTuple):
    """Minus the squared distance from a peak: a factor per variable, and some zero ones."""

    peak: jax.Array
    scopes = (np.arange(NUM_DIMS)[:, None], np.array([[0, 1], [1, 2], [2, 0]]))

    def tables(self, grids):
        pairs = jnp.zeros((3, grids.shape[1], grids.shape[1]))
        return -jnp.square(grids - self.peak[:, None]), pairs

    def __call__(self, x):
        return -jnp.square(x - self.peak).sum(1)


def test_points_lie_where_the_function_is_high():
    """For quadratic terms, the mean shortfall of samples is the given fraction of the range."""
    peak = jnp.full(NUM_DIMS, 0.5)
    bowl, levels = Bowl(peak), Levels.of([None] * NUM_DIMS)
    layout = layout_of(Bowl.scopes, 33)
    for shortfall in (0.05, 0.2):
        points = sample_additive(jax.random.key(0), bowl, layout, levels, peak, 2000, shortfall)
        spread = NUM_DIMS / 12.0
        assert float(-bowl(points).mean()) == pytest.approx(shortfall * spread, rel=0.15)
        assert points.min() >= 0.0 and points.max() <= 1.0
        assert len(np.unique(points, axis=0)) == 2000


def test_points_are_legal_and_clamped_variables_stay():
    levels = Levels.of([np.array([0.1, 0.7]), None, None, np.linspace(0, 1, 40) ** 2, None])
    layout = layout_of(Bowl.scopes, 9, max_width=1)
    (clamped,) = np.flatnonzero(layout.clamped)
    start = levels.nearest(jnp.full(NUM_DIMS, 0.3))
    points = np.asarray(sample_additive(jax.random.key(1), Bowl(start), layout, levels, start, 200))
    assert (points[:, clamped] == start[clamped]).all()
    legal = jax.jit(jax.vmap(levels.nearest))(points)
    np.testing.assert_allclose(legal, points, atol=1e-15)
    free = np.setdiff1d(np.arange(NUM_DIMS), [clamped])
    assert (points[:, free].std(0) > 0.0).all()


def test_a_third_of_the_candidates_lies_where_the_function_is_high():
    levels = Levels.of([None] * 4 + [np.array([0.0, 0.5, 1.0])])
    peak = np.array([0.9, 0.1, 0.9, 0.1, 1.0])
    bowl, layout = Bowl(jnp.asarray(peak)), layout_of(Bowl.scopes, 9)
    nearest = jax.jit(jax.vmap(levels.nearest))
    parents = nearest(np.random.default_rng(0).random((3, NUM_DIMS)))
    points = candidate_points(jax.random.key(0), (bowl, layout), levels, parents, 100)
    points = np.asarray(points)
    assert points.shape == (100, NUM_DIMS)
    np.testing.assert_allclose(nearest(points), points, atol=1e-15)
    drawn, children, spread = np.split(-np.square(points - peak).sum(1), [33, 66])
    assert drawn.mean() > np.quantile(spread, 0.95)
    expected = -np.square(np.asarray(parents) - peak).sum(1).mean()
    assert abs(children.mean() - expected) < 0.3
    assert len(np.unique(points, axis=0)) == 100
