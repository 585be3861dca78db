"""The engine proposes points without parameters that do not exist."""

import numpy as np
import pytest

from structbo import Categorical, Integer, Space, SpaceExhausted
from structbo.models.foundation.arrays import BoolArray, FloatArray
from structbo.optimizer import Engine
from structbo.space import NEUTRAL

SPACE = Space({"kind": Categorical(["a", "b"]), "of_a": (0.0, 1.0), "of_b": (0.0, 1.0)})


def conditions(space: Space) -> BoolArray:
    """The second parameter exists at level 0 of the first, the third at level 1."""
    allowed = np.ones(
        (3, 3, max(len(levels) for levels in space.levels if levels is not None)), bool
    )
    allowed[1, 0, 1] = allowed[2, 0, 0] = False
    return allowed


def are_legal(points: FloatArray) -> bool:
    """Whether every point has one of the last two parameters, with the other one neutral."""
    missing = np.where(points[:, 0] == 0.0, points[:, 2], points[:, 1])
    return bool((missing == NEUTRAL).all())


def value(x: FloatArray) -> FloatArray:
    """Level 1 is better if its parameter is near .8, and worse otherwise."""
    of_a = -np.square(x[:, 1] - 0.1)
    of_b = 1.0 - 9.0 * np.square(x[:, 2] - 0.8)
    return np.where(x[:, 0] == 0.0, of_a, of_b)


def test_quasi_random_points_are_legal_and_new() -> None:
    engine, known = Engine(SPACE, num_initial=99), np.empty((0, 3))
    for _ in range(3):
        values, none = np.zeros(len(known)), np.empty((0, 3))
        points = engine.propose(known, values, none, 4, conditions=conditions(SPACE))
        assert are_legal(points)
        assert np.array_equal(engine.existing(points), points != NEUTRAL)
        known = np.concatenate([known, points])
    assert len(np.unique(known, axis=0)) == 12
    assert set(known[:, 0]) == {0.0, 1.0}


@pytest.mark.nightly
@pytest.mark.parametrize("criterion", ["log_ei", "additive_ucb", "thompson"])
def test_points_of_the_model_are_legal_and_good(criterion: str) -> None:
    engine, pending = Engine(SPACE, num_initial=8, criterion=criterion), np.empty((0, 3))
    allowed = conditions(SPACE)
    x = engine.propose(np.empty((0, 3)), np.empty(0), pending, 8, conditions=allowed)
    for _ in range(8):
        points = engine.propose(x, value(x), pending, 1, conditions=allowed)
        assert are_legal(points)
        x = np.concatenate([x, points])
    assert value(x)[8:].max() > 0.98
    batch = engine.propose(x, value(x), x[:1], 3, conditions=allowed)
    assert are_legal(batch) and len(batch) == 3


def test_a_finite_space_is_exhausted_when_all_legal_points_are_known() -> None:
    space = Space({"kind": Categorical(["a", "b"]), "k": Integer(1, 3), "m": Integer(1, 2)})
    engine, none = Engine(space, num_initial=99), np.empty((0, 3))
    known = engine.propose(none, np.empty(0), none, 5, conditions=conditions(space))
    assert len(np.unique(known, axis=0)) == 5
    with pytest.raises(SpaceExhausted, match="1 new points were asked for, but only 0 are left"):
        engine.propose(known, np.zeros(5), none, 1, conditions=conditions(space))
