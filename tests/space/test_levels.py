"""Legal coordinates."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from structbo.space import NEUTRAL, Levels


def test_even_points_have_every_level_equally_often():
    levels = Levels.of([np.array([0.0, 0.2, 1.0]), None, np.array([0.0, 1.0])])
    uniform = (np.arange(60)[:, None] + 0.5) / 60 * np.ones(3)
    even = np.asarray(levels.even(uniform))
    assert np.unique(even[:, 0], return_counts=True)[1].tolist() == [20, 20, 20]
    assert np.unique(even[:, 2], return_counts=True)[1].tolist() == [30, 30]
    assert np.array_equal(even[:, 1], uniform[:, 1])


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
