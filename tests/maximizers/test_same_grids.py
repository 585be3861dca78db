"""Several additive functions on the same grids against brute force."""

from itertools import product

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from structbo.maximizers import (
    at_places,
    dependency_graph,
    make_layout,
    maxima_on_same_grids,
    triangulate,
)
from structbo.space import Levels

NUM_DIMS, NUM_GRID = 5, 6
SCOPES = np.array([[0, 1], [1, 2], [2, 3], [3, 0], [0, 2]])
PRESENT = np.array([[1, 1, 1, 1, 1], [1, 0, 1, 0, 0], [0, 0, 0, 0, 1]], bool)
"""The factors of each function. The first function has treewidth 2; no factor has variable 4."""


def layout_of(present):
    scopes = (np.where(present[:, None], SCOPES, -1),)
    tree = triangulate(dependency_graph(scopes, NUM_DIMS), max_width=1)
    return make_layout(tree, scopes, num_grid=NUM_GRID, width=1)


@pytest.mark.parametrize("seed", range(5))
def test_every_function_is_maximized_with_its_own_variables_clamped(seed):
    rng = np.random.default_rng(seed)
    start = rng.uniform(size=NUM_DIMS)
    tables = rng.normal(size=(3, 5, NUM_GRID, NUM_GRID)) * PRESENT[:, :, None, None]
    layouts = [layout_of(present) for present in PRESENT]
    clamped = np.array([layout.clamped for layout in layouts])
    assert clamped.sum(1).tolist() == [2, 1, 3]

    def stacked(_, places):
        return jax.lax.map(
            lambda item: at_places((item[0],), (jnp.asarray(SCOPES),), item[1]),
            (jnp.asarray(tables), places),
        )

    points, values = maxima_on_same_grids(
        stacked,
        jax.tree.map(lambda *leaves: np.stack(leaves), *layouts),
        Levels.of([None] * NUM_DIMS),
        jnp.asarray(start),
        1,
    )
    grid = np.tile(np.linspace(0.0, 1.0, NUM_GRID), (NUM_DIMS, 1))
    nearest = np.abs(grid - start[:, None]).argmin(1)
    grid[np.arange(NUM_DIMS), nearest] = start
    for k in range(3):
        places = [[nearest[d]] if clamped[k, d] else range(NUM_GRID) for d in range(NUM_DIMS)]
        indices = np.array(list(product(*places)))
        sums = tables[k][np.arange(5), indices[:, SCOPES[:, 0]], indices[:, SCOPES[:, 1]]].sum(1)
        assert float(values[k]) == pytest.approx(sums.max())
        assert np.array_equal(points[k], grid[np.arange(NUM_DIMS), indices[sums.argmax()]])
        assert points[k][4] == start[4]


def test_later_grids_close_in_on_the_maximum_of_the_first_function():
    """The maximum of the first parabola is found exactly, of the second on its grids."""
    peaks = jnp.array([[0.3123, 0.8071], [0.9, 0.1]])
    scopes = (np.array([[0, 1]]),)
    layout = make_layout(triangulate(dependency_graph(scopes, 2)), scopes, num_grid=9)

    def tables(grids, _):
        x, y = grids
        squares = jax.vmap(lambda p: -((x[:, None] - p[0]) ** 2) - (y - p[1]) ** 2)(peaks)
        return (squares[:, None],)

    both = jax.tree.map(lambda leaf: np.stack([leaf, leaf]), layout)
    levels = Levels.of([None, None])
    points, values = maxima_on_same_grids(tables, both, levels, jnp.zeros(2), 12)
    assert np.allclose(points[0], peaks[0], atol=1e-3)
    assert np.abs(np.asarray(points[1]) - peaks[1]).max() <= 1 / 16
    assert values[1] == pytest.approx(-float(((points[1] - peaks[1]) ** 2).sum()))
