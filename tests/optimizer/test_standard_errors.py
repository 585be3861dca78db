"""Values told with standard errors."""

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import optuna
import pandas as pd
import pytest
from short_runs import BOX, bowl, given_graphs

from structbo import Optimizer, Space, suggest
from structbo.data import NO_WARPING, Data, checked_errors
from structbo.draws import Chain
from structbo.integrations.study_optimizer import StudyOptimizer
from structbo.models import AdditiveGP, main_effects

SPACE = Space({"a": (0.0, 1.0), "b": (0.0, 1.0)})
MODEL = AdditiveGP(main_effects())
DRAW = {"lengthscale": np.full(2, 0.4), "outputscale": np.ones(()), "noise": np.array(1e-3)}


def points(number: int) -> list[Any]:
    return SPACE.from_unit(np.random.default_rng(0).random((number, 2)))


def test_a_trial_keeps_its_error() -> None:
    optimizer = Optimizer(SPACE)
    told = optimizer.tell(optimizer.ask(), (2.5, 0.5))
    assert (told.state, told.value, told.sem) == ("complete", 2.5, 0.5)
    assert optimizer.tell(points(1)[0], (np.float64(1.0), np.array(0.0))).sem == 0.0
    for missing in (None, np.nan, pd.NA, np.ma.masked):
        assert optimizer.tell(optimizer.ask(), (1.0, missing)).sem is None
    failed = optimizer.tell(optimizer.ask(), (np.nan, 0.5))
    assert (failed.state, failed.sem) == ("failed", None)
    assert pickle.loads(pickle.dumps(optimizer)).trials == optimizer.trials


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ((1.0, -0.5), "sem must be a standard error, 0 or more and finite, got -0.5"),
        ((1.0, np.inf), "sem must be a standard error.*got inf"),
        ((1.0, "0.5"), "sem must be one number, got '0.5'"),
        (("1.0", 0.5), "mean must be one number, got '1.0'"),
        ((1.0, 0.5, 2), r"value must be one number, got \(1.0, 0.5, 2\).*, or \(mean, sem\)"),
        ([1.0, 0.5], r"value must be one number, got \[1.0, 0.5\]"),
    ],
)
def test_pairs_that_are_none_are_named(value: Any, message: str) -> None:
    optimizer = Optimizer(SPACE)
    trial = optimizer.ask()
    with pytest.raises(ValueError, match=message):
        optimizer.tell(trial, value)
    assert optimizer.trials == (trial,)


def deaf(X: Any, y: Any = None, mask: Any = None) -> Any:
    return MODEL(X, y, mask)


def test_a_model_must_take_them() -> None:
    optimizer = Optimizer(SPACE, model=deaf)
    trial = optimizer.ask()
    with pytest.raises(TypeError, match=r"deaf.* does not use known noise .*: add the argument"):
        optimizer.tell(trial, (1.0, 0.1))
    assert optimizer.trials == (trial,)
    assert optimizer.tell(trial, (1.0, None)).value == 1.0
    frame = pd.DataFrame(points(2)).assign(value=[1.0, 2.0], sem=[np.nan, 0.1])
    with pytest.raises(TypeError, match=r"deaf.* does not use known noise"):
        optimizer.tell_frame(frame)
    assert len(optimizer.trials) == 1, "the row without an error is not told either"


def seen(monkeypatch: pytest.MonkeyPatch) -> list[Data]:
    """The data passed to chains."""
    found: list[Data] = []

    def advance(self: Chain, data: Data) -> dict[str, np.ndarray]:
        found.append(data)
        return {name: value[None] for name, value in DRAW.items()}

    monkeypatch.setattr(Chain, "advance", advance)
    monkeypatch.setattr(Chain, "warped", lambda self, data: (data, NO_WARPING))
    return found


def test_the_model_sees_variances_on_its_own_scale(monkeypatch: pytest.MonkeyPatch) -> None:
    found = seen(monkeypatch)
    optimizer = Optimizer(SPACE, model=MODEL, num_initial=3)
    values = [3.0, 1.0, 5.0]
    for point, value in zip(points(3), values, strict=True):
        optimizer.tell(point, value)
    optimizer.ask()
    assert found[0].known_noise is None, "as if there were no such argument"
    optimizer.tell(points(4)[3], (3.0, 0.5))
    optimizer.ask()
    assert found[1].known_noise is not None
    expected = 0.5**2 / np.var([*values, 3.0])
    np.testing.assert_allclose(found[1].known_noise[:5], [0.0, 0.0, 0.0, expected, 0.0])


def test_a_value_of_which_little_is_known_says_little(monkeypatch: pytest.MonkeyPatch) -> None:
    """A low value far from the bowl distracts the search, unless its standard error is large."""
    seen(monkeypatch)

    def proposal(sem: float | None) -> np.ndarray:
        optimizer = Optimizer(SPACE, model=MODEL, num_initial=3, seed=1)
        for point in points(8):
            optimizer.tell(point, (point["a"] - 0.3) ** 2 + (point["b"] - 0.6) ** 2)
        optimizer.tell({"a": 0.9, "b": 0.9}, (-0.5, sem))
        return np.array([*optimizer.ask().params.values()])

    bottom = np.array([0.3, 0.6])
    assert np.linalg.norm(proposal(None) - bottom) > 0.5
    assert np.linalg.norm(proposal(100.0) - bottom) < 0.3


def test_tables_have_them(tmp_path: Path) -> None:
    optimizer = Optimizer(SPACE)
    assert "sem" not in optimizer.to_frame().columns
    first, second, third = points(3)
    optimizer.tell(first, (2.0, 0.25))
    optimizer.tell(second, 1.0)
    optimizer.tell(third, np.nan)
    frame = optimizer.to_frame()
    assert list(frame.columns) == ["number", "a", "b", "value", "sem", "state"]
    frame.to_csv(tmp_path / "runs.csv", index=False)
    for table in (frame, pd.read_csv(tmp_path / "runs.csv").drop(columns="state")):
        other = Optimizer(SPACE)
        assert other.tell_frame(table) == list(optimizer.trials)
    with pytest.raises(ValueError, match=r"'sem' of frame must hold .*, got -0\.25"):
        Optimizer(SPACE).tell_frame(frame.assign(sem=[-0.25, 0.0, 0.0]))


def test_a_study_keeps_them(tmp_path: Path) -> None:
    """Another process continues like an uninterrupted optimizer."""
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    settings: Any = {"num_initial": 3, "inference": given_graphs}
    study = optuna.create_study(storage=f"sqlite:///{tmp_path}/runs.db", study_name="run")
    whole, kept = Optimizer(BOX, **settings), StudyOptimizer(study, BOX, **settings)
    for number in range(4):
        told = []
        for optimizer in (whole, kept):
            trial = optimizer.ask()
            told.append(optimizer.tell(trial, (bowl(trial.params), 0.1 * number)))
        assert told[0] == told[1]
    added = kept.tell([0.5, 2.0], (1.0, 0.25))
    assert (added.value, added.sem) == (1.0, 0.25)
    whole.tell([0.5, 2.0], (1.0, 0.25))
    again = StudyOptimizer(
        optuna.load_study(study_name="run", storage=study._storage), BOX, **settings
    )
    assert again.trials == whole.trials
    assert np.array_equal(again.ask().params, whole.ask().params)


def test_a_table_has_them_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """`suggest` takes the same standard errors as an optimizer."""
    found = seen(monkeypatch)
    values, sem = [3.0, 1.0, 5.0, 2.0], [0.1, 0.0, np.nan, 0.4]
    settings: Any = {"model": MODEL, "num_initial": 3}
    optimizer = Optimizer(SPACE, **settings)
    for told in zip(points(4), values, [0.1, 0.0, None, 0.4], strict=True):
        optimizer.tell(told[0], told[1:])
    (proposed,) = suggest(SPACE, points(4), values, sem=sem, **settings)
    assert proposed == optimizer.ask().params
    np.testing.assert_array_equal(found[0].known_noise, found[1].known_noise)
    assert np.asarray(found[0].known_noise)[:4].tolist().count(0.0) == 2
    for bad, message in (([0.1], "sem must have one value"), ([-1.0] * 4, r"got sem\[0\] = -1")):
        with pytest.raises(ValueError, match=message):
            suggest(SPACE, points(4), values, sem=bad, **settings)
    with pytest.raises(TypeError, match="does not use known noise"):
        suggest(SPACE, points(4), values, sem=sem, num_initial=3, model=deaf)


@pytest.mark.parametrize("table", [np.array, pd.DataFrame])
def test_they_may_be_a_column(table: Any) -> None:
    errors = checked_errors(table([[0.1], [np.nan], [0.4]]), np.zeros(3))
    np.testing.assert_array_equal(errors, [0.1, 0.0, 0.4])
