"""Legal coordinates."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from structbo.space import NEUTRAL, Integer, Levels, Space


def test_even_points_have_levels_as_often_as_they_are_far_apart():
    """Around 0, 0.2 and 1 there is room for 0.2, 0.5 and 0.8 of 1.5 units."""
    levels = Levels.of([np.array([0.0, 0.2, 1.0]), None, np.array([0.0, 1.0])])
    uniform = (np.arange(60)[:, None] + 0.5) / 60 * np.ones(3)
    even = np.asarray(levels.even(uniform))
    assert np.unique(even[:, 0], return_counts=True)[1].tolist() == [8, 20, 32]
    assert np.unique(even[:, 2], return_counts=True)[1].tolist() == [30, 30]
    assert np.array_equal(even[:, 1], uniform[:, 1])


@pytest.mark.parametrize("num_levels", [1, 2, 3, 7, 8])
def test_levels_of_equal_steps_are_equally_likely(num_levels: int) -> None:
    levels = Levels.of([np.linspace(0.0, 1.0, num_levels)])
    uniform = np.random.default_rng(0).random((200, 1))
    index = np.floor(uniform[:, 0] * num_levels).astype(int)
    even = np.asarray(levels.even(uniform))[:, 0]
    np.testing.assert_allclose(even, np.linspace(0.0, 1.0, num_levels)[index], atol=1e-6)


@pytest.mark.parametrize("high", [512, 100_000])
def test_integers_on_a_logarithmic_scale_have_equally_likely_ratios(high: int) -> None:
    space = Space({"n": Integer(16, high, log=True)})
    levels, middle = Levels.of(space.levels), np.sqrt(16 * high)
    uniform = np.random.default_rng(0).random((2000, 1))
    drawn = [params["n"] for params in space.from_unit(np.asarray(levels.even(uniform)))]
    assert np.mean(np.array(drawn) < middle) == pytest.approx(0.5, abs=4 * 0.5 / 2000**0.5)
    grid = np.asarray(levels.regular_grid(9))[0]
    np.testing.assert_allclose(grid, np.linspace(0.0, 1.0, 9), atol=0.05)


@pytest.mark.parametrize("num_levels", [3, 2000])
def test_the_nearest_level_is_found(num_levels: int) -> None:
    values = np.sort(np.random.default_rng(0).random(num_levels))
    levels = Levels.of([values, None])
    for u in np.random.default_rng(1).random(20):
        position = np.asarray(levels.positions(np.array([u, 0.3])))[:, 0]
        assert position[0] == np.argmin(np.abs(values - u)) and position[1] == pytest.approx(0.3)


TERNARY, BINARY = np.array([0.0, 0.5, 1.0]), np.array([0.0, 1.0])


def conditional() -> Levels:
    """The second variable exists at the first one's last two levels, the third if it does."""
    allowed = np.ones((4, 4, 3), bool)
    allowed[1, 0] = allowed[2, 0] = [False, True, True]
    allowed[2, 1] = [False, True, False]
    return Levels.of([TERNARY, BINARY, None, None], conditions=allowed)


@pytest.mark.parametrize(
    ("point", "exists"),
    [
        ([0.0, 1.0, 0.3, 0.1], [True, False, False, True]),
        ([0.5, 0.0, 0.3, 0.1], [True, True, False, True]),
        ([1.0, 1.0, 0.3, 0.1], [True, True, True, True]),
    ],
)
def test_missing_variables_are_neutral(point: list[float], exists: list[bool]) -> None:
    levels = conditional()
    expected = np.where(exists, point, NEUTRAL)
    assert np.asarray(levels.existing(jnp.array(point))).tolist() == exists
    np.testing.assert_allclose(levels.imputed(jnp.array(point)), expected)
    near = jnp.array(point) + jnp.array([0.1, -0.2, 0.0, 0.0])
    np.testing.assert_allclose(levels.nearest(near), expected)


def test_even_points_are_legal_under_conditions() -> None:
    levels = conditional()
    points = levels.even(np.random.default_rng(0).random((200, 4)))
    np.testing.assert_allclose(points, jax.vmap(levels.imputed)(points))
    assert (np.asarray(points[:, 2]) == NEUTRAL).mean() == pytest.approx(2 / 3, abs=0.1)


def test_without_conditions_all_variables_exist() -> None:
    levels = Levels.of([None, BINARY])
    assert np.asarray(levels.existing(jnp.array([0.2, 1.0]))).all()
