"""Polishing of candidates: values never fall, and points stay legal."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from structbo.maximizers.ascent import (
    MAX_LINES,
    constrained_ascent,
    coordinate_ascent,
    gradient_ascent,
)
from structbo.space import Levels
from structbo.space.half_spaces import HalfSpaces

LEVELS = [None, np.array([0.0, 0.2, 1.0]), None, np.linspace(0.0, 1.0, 7)]
IS_CONTINUOUS = np.array([True, False, True, False])
NUM_GRID = 9


def legal_starts(seed: int, number: int = 6) -> jax.Array:
    points = np.random.default_rng(seed).random((number, len(LEVELS)))
    return jax.jit(jax.vmap(Levels.of(LEVELS).nearest))(points)


def rugged(x: jax.Array) -> jax.Array:
    return jnp.sin(17.0 * x).sum(-1) + jnp.prod(jnp.cos(9.0 * x + 1.0), -1)


def rugged_at(points: jax.Array | np.ndarray) -> np.ndarray:
    """One program shape evaluates all points, so equal points have equal values."""
    return np.asarray(jax.jit(rugged)(points))


@pytest.mark.parametrize("seed", range(3))
def test_coordinate_ascent_never_falls_and_stays_legal(seed: int) -> None:
    starts = legal_starts(seed)
    ascend = jax.jit(lambda x, key: coordinate_ascent(rugged, x, Levels.of(LEVELS), key, NUM_GRID))
    points = np.asarray(ascend(starts, jax.random.key(seed)))
    before, after = rugged_at(starts), rugged_at(points)
    assert (after >= before).all()
    assert (after > before).any()
    assert ((points >= 0.0) & (points <= 1.0)).all()
    for dim, levels in enumerate(LEVELS):
        if levels is not None:
            assert np.isin(points[:, dim], levels).all()


@pytest.mark.parametrize(("num_dims", "num_moved"), [(MAX_LINES, MAX_LINES), (150, MAX_LINES)])
def test_coordinate_ascent_visits_some_of_many_dimensions(num_dims: int, num_moved: int) -> None:
    """The sum of switches is largest where all are on, and all are off at the start."""
    levels = Levels.of([np.array([0.0, 1.0])] * num_dims)

    @jax.jit
    def moved(key: jax.Array) -> jax.Array:
        return coordinate_ascent(lambda x: x.sum(1), jnp.zeros((1, num_dims)), levels, key, 4)[0]

    one, other = (np.asarray(moved(jax.random.key(seed))) for seed in (0, 1))
    assert one.sum() == other.sum() == num_moved
    assert (one != other).any() == (num_moved < num_dims)


def test_coordinate_ascent_finds_the_best_level_of_every_discrete_variable() -> None:
    """A sum over coordinates is maximized coordinate by coordinate; 9 positions hold all levels."""
    target = jnp.array([0.3, 0.2, 0.6, 5 / 6])

    def separable(x: jax.Array) -> jax.Array:
        return -jnp.square(x - target).sum(-1)

    @jax.jit
    def ascend(starts: jax.Array, key: jax.Array) -> jax.Array:
        return coordinate_ascent(separable, starts, Levels.of(LEVELS), key, NUM_GRID)

    points = np.asarray(ascend(legal_starts(0), jax.random.key(1)))
    assert np.allclose(points[:, ~IS_CONTINUOUS], np.asarray(target)[~IS_CONTINUOUS])
    assert np.abs(points - np.asarray(target))[:, IS_CONTINUOUS].max() <= 0.5 / NUM_GRID + 1e-9


def test_coordinate_ascent_leaves_the_basin_of_its_start() -> None:
    def two_peaks(x: jax.Array) -> jax.Array:
        return (jnp.exp(-200.0 * (x - 0.2) ** 2) + 2.0 * jnp.exp(-200.0 * (x - 0.8) ** 2)).sum(-1)

    levels = Levels.of([None, None])
    ascend = jax.jit(lambda x, key: coordinate_ascent(two_peaks, x, levels, key, 17))
    points = np.asarray(ascend(np.full((1, 2), 0.2), jax.random.key(0)))
    assert (np.abs(points - 0.8) < 0.1).all()


def value_and_gradient(function):
    """Values and gradients of a batch, in the form of `gradient_ascent`."""
    return jax.jit(jax.vmap(jax.value_and_grad(function)))


@pytest.mark.parametrize("seed", range(3))
def test_gradient_ascent_never_falls_stays_in_the_box_and_leaves_discrete(seed: int) -> None:
    starts = np.array(legal_starts(seed))
    before = starts.copy()
    points, values = gradient_ascent(value_and_gradient(rugged), starts, IS_CONTINUOUS)
    assert (starts == before).all()
    assert np.allclose(values, rugged(points))
    assert (values >= rugged(starts)).all()
    assert (values > rugged(starts) + 1e-3).any()
    assert ((points >= 0.0) & (points <= 1.0)).all()
    assert (points[:, ~IS_CONTINUOUS] == starts[:, ~IS_CONTINUOUS]).all()


def test_gradient_ascent_reaches_maxima_inside_and_on_the_boundary() -> None:
    target = jnp.array([0.37, 0.5, 1.6, 0.5])
    points, _ = gradient_ascent(
        value_and_gradient(lambda x: -jnp.square(x - target).sum()),
        np.array(legal_starts(0)),
        IS_CONTINUOUS,
    )
    assert np.allclose(points[:, 0], 0.37, atol=1e-5)
    assert np.allclose(points[:, 2], 1.0)


def test_a_point_without_a_value_does_not_stop_the_others() -> None:
    def half_defined(x: jax.Array) -> jax.Array:
        return jnp.where(x[0] < 0.5, jnp.nan, -jnp.square(x[0] - 0.8))

    starts = np.array([[0.1], [0.6], [0.9]])
    points, values = gradient_ascent(value_and_gradient(half_defined), starts, np.array([True]))
    assert points[0] == starts[0] and values[0] == -np.inf
    assert np.allclose(points[1:], 0.8, atol=1e-4)


@pytest.fixture
def triangle() -> HalfSpaces:
    """The sum of the first and third coordinates, both continuous, is at most .8."""
    normal, center = np.array([[0.5**0.5, 0.0, 0.5**0.5, 0.0]]), np.array([0.2, 0.5, 0.2, 0.5])
    corners = np.array([[0.0, 0.5, 0.8, 0.5], [0.8, 0.5, 0.0, 0.5], [0.0, 0.5, 0.0, 0.5]])
    return HalfSpaces.of(normal, np.array([0.8 * 0.5**0.5]), center, corners)


def test_coordinate_ascent_stays_in_half_spaces(triangle: HalfSpaces) -> None:
    levels = Levels.of(LEVELS, triangle)
    starts = jax.jit(jax.vmap(levels.nearest))(np.asarray(legal_starts(0)))
    ascend = jax.jit(lambda x, key: coordinate_ascent(rugged, x, levels, key, NUM_GRID))
    points = np.asarray(ascend(starts, jax.random.key(0)))
    assert (points[:, 0] + points[:, 2] <= 0.8).all()
    assert (rugged_at(points) >= rugged_at(starts)).all()
    assert (rugged_at(points) > rugged_at(starts)).any()


def test_constrained_ascent_ends_at_the_nearest_point_of_a_half_space(
    triangle: HalfSpaces,
) -> None:
    """Minus a squared distance is maximal at the projection, in closed form."""
    target = jnp.array([0.7, 0.5, 0.5, 0.5])
    function = value_and_gradient(lambda x: -jnp.square(x - target).sum())
    levels = Levels.of(LEVELS, triangle)
    starts = np.array(jax.jit(jax.vmap(levels.nearest))(np.asarray(legal_starts(1))))
    points, values = constrained_ascent(function, starts, IS_CONTINUOUS, triangle)
    assert np.allclose(points[:, [0, 2]], [0.5, 0.3], atol=1e-6)
    assert (points[:, 0] + points[:, 2] <= 0.8).all()
    assert (points[:, ~IS_CONTINUOUS] == starts[:, ~IS_CONTINUOUS]).all()
    assert np.allclose(values, function(points)[0])


def test_constrained_ascent_never_falls(triangle: HalfSpaces) -> None:
    levels = Levels.of(LEVELS, triangle)
    starts = np.array(jax.jit(jax.vmap(levels.nearest))(np.asarray(legal_starts(2))))
    function = value_and_gradient(rugged)
    points, values = constrained_ascent(function, starts, IS_CONTINUOUS, triangle)
    assert (values >= np.asarray(function(starts)[0])).all()
    assert (values > np.asarray(function(starts)[0]) + 1e-3).any()
    assert (points[:, 0] + points[:, 2] <= 0.8).all()
    blind = value_and_gradient(lambda x: jnp.where(x[0] < 2.0, jnp.nan, x[0]))
    points, values = constrained_ascent(blind, starts, IS_CONTINUOUS, triangle)
    assert (points == starts).all() and (values == -np.inf).all()
