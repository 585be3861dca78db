"""The whole loop: how it ends, its result, and the optimum of easy functions."""

import importlib
import itertools
import math
import sys
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from short_runs import BOX, MANY, bowl, failing_at, given_draws, maximize, minimize

import structbo
from structbo import Categorical, Integer, Optimizer, Space, Trial
from structbo.models import AdditiveGP, main_effects

SPACE = Space({"lr": (1e-3, 1.0, "log"), "k": Integer(1, 5), "act": Categorical(["a", "b", "c"])})


@pytest.mark.nightly
def test_minimize_comes_near_the_optimum_of_a_bowl() -> None:
    """The best of 14 quasi-random points has 0.013, the best of the search 0.0001."""
    result = minimize(bowl, BOX, 14)
    assert len(result.trials) == 14
    assert result.best_value == bowl(result.best_params) == min(t.value for t in result.trials)
    assert result.best == result.optimizer.best and result.best.value == result.best_value
    assert result.best_value < 2e-3


@pytest.mark.nightly
def test_maximize_comes_near_the_optimum_of_a_mixed_space() -> None:
    """The optimum is 0 at lr = 0.03, k = 4, act = b; quasi-random points come to -0.5 at best."""

    def objective(point: dict[str, Any]) -> float:
        return (
            -((math.log10(point["lr"] / 0.03)) ** 2)
            - (point["k"] - 4) ** 2
            - (2.0 * (point["act"] != "b"))
        )

    result = maximize(objective, SPACE, 20)
    assert result.best_value > -0.05
    assert (result.best_params["k"], result.best_params["act"]) == (4, "b")


def test_a_result_is_a_table_of_trials() -> None:
    space = Space({"act": Categorical(["a", "b"]), "value": Integer(1, 5)})
    with pytest.warns(UserWarning, match="failed"):
        run = failing_at(1, ValueError, lambda p: p["value"])
        result = minimize(run, space, 3, num_initial=MANY, catch=ValueError)
    frame = result.to_frame()
    assert list(frame.columns) == ["number", "act", "params_value", "value", "state"]
    assert frame["number"].tolist() == [0, 1, 2]
    assert frame["act"].tolist() == [t.params["act"] for t in result.trials]
    assert frame["params_value"].tolist() == [t.params["value"] for t in result.trials]
    assert frame["state"].tolist() == ["complete", "failed", "complete"]
    np.testing.assert_array_equal(frame["value"], [t.value or np.nan for t in result.trials])


def test_a_table_of_a_box_has_its_names(monkeypatch: pytest.MonkeyPatch) -> None:
    result = minimize(bowl, BOX, 2, num_initial=MANY)
    frame = result.to_frame()
    np.testing.assert_array_equal(frame[["x0", "x1"]], [t.params for t in result.trials])
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError, match="to_frame needs pandas: pip install pandas"):
        result.to_frame()


def test_the_seed_decides_the_run() -> None:
    runs = [minimize(bowl, BOX, 3, seed=seed, num_initial=MANY) for seed in (0, 0, 1)]
    values = [[t.value for t in run.trials] for run in runs]
    assert values[0] == values[1] != values[2]


def test_callbacks_see_every_trial_once_it_is_told(optimizer: Optimizer) -> None:
    seen: list[Trial] = []

    def callback(given: Optimizer, trial: Trial) -> None:
        assert given is optimizer and given.trials[-1] is trial
        seen.append(trial)

    callbacks = (callback for _ in range(2))
    result = minimize(bowl, None, 3, optimizer=optimizer, callbacks=callbacks)
    assert seen == [trial for trial in result.trials for _ in range(2)]


@pytest.mark.parametrize("workers", [0, 2])
def test_an_objective_may_change_its_argument(workers: int) -> None:
    """The stored point is the proposed one, by name and in a box, with and without an executor."""

    def emptied(point: dict[str, Any]) -> float:
        return math.log(point.pop("lr")) + point.pop("k")

    def halved(point: np.ndarray) -> float:
        value = bowl(point)
        point *= 0.5
        return value

    with ThreadPoolExecutor(2) as pool:
        run = partial(minimize, n_trials=3, num_initial=MANY, executor=pool if workers else None)
        by_name, box = run(emptied, SPACE), run(halved, BOX)
    for trial in by_name.trials:
        assert trial.value == math.log(trial.params["lr"]) + trial.params["k"]
        assert list(trial.params) == ["lr", "k", "act"]
    assert all(trial.value == bowl(trial.params) for trial in box.trials)
    assert [t.params for t in by_name.trials] == [
        t.params for t in run(lambda p: 0.0, SPACE, executor=None).trials
    ]


def test_a_run_is_over_when_its_time_is(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first two evaluations take 10 seconds, the others 4; the median is expected."""
    now = [100.0]
    fake = SimpleNamespace(monotonic=lambda: now[0])
    for module in ("minimization", "evaluations"):
        monkeypatch.setattr(importlib.import_module(f"structbo.runs.{module}"), "time", fake)

    def run(timeout: float) -> int:
        begin, calls = now[0], itertools.count()

        def objective(point: np.ndarray) -> float:
            now[0] += 10.0 if next(calls) < 2 else 4.0
            return bowl(point)

        trials = minimize(objective, BOX, 50, num_initial=MANY, timeout=timeout).trials
        assert now[0] - begin <= max(timeout, 10.0)
        return len(trials)

    timeouts = [0.0, 1.0, 20.0, 20.5, 30.0, 30.5, 34.5, 35.5, 36.5, 40.5]
    assert [run(timeout) for timeout in timeouts] == [0, 1, 1, 2, 2, 3, 4, 5, 6, 7]


def test_a_finite_space_ends_the_run_with_a_warning() -> None:
    with pytest.warns(UserWarning, match="every point of the space is evaluated") as warned:
        result = minimize(lambda p: p["x0"], [Integer(1, 3)], 10)
    assert [w.filename for w in warned] == [__file__]
    assert sorted(t.value for t in result.trials) == [1.0, 2.0, 3.0]
    assert result.best_params == {"x0": 1}


@pytest.mark.parametrize("num_initial", [MANY, pytest.param(4, marks=pytest.mark.nightly)])
def test_a_run_is_continued_with_its_optimizer(num_initial: int) -> None:
    """Two runs of one optimizer are one run."""
    model = AdditiveGP(main_effects())
    settings = {"model": model, "inference": given_draws, "num_initial": num_initial}
    whole = minimize(bowl, BOX, 6, **settings)
    half = minimize(bowl, BOX, 3, **settings)
    rest = minimize(bowl, n_trials=3, optimizer=half.optimizer)
    assert rest.optimizer is half.optimizer
    assert [t.value for t in rest.trials] == [t.value for t in whole.trials]


def test_a_run_needs_a_space_or_an_optimizer_of_its_direction(optimizer: Optimizer) -> None:
    with pytest.raises(ValueError, match="pass a space"):
        minimize(bowl)
    with pytest.raises(ValueError, match="optimizer is to minimize"):
        maximize(bowl, optimizer=optimizer)
    assert optimizer.trials == ()


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ({"n_trials": -1}, "n_trials must be an integer of at least 0, got -1"),
        ({"n_trials": 2.5}, "n_trials must be"),
        ({"n_jobs": 0}, "n_jobs must be an integer of at least 1, got 0"),
        ({"n_jobs": 4}, r"n_jobs=4 needs an executor, such as .*ThreadPoolExecutor\(4\)"),
        ({"executor": 2}, "executor must be"),
        ({"callbacks": print}, "callbacks must be a sequence"),
        ({"timeout": "10s"}, "timeout must be a number of seconds or None, got '10s'"),
        ({"timeout": -1.0}, "timeout must be a number of seconds"),
        ({"timeout": math.nan}, "timeout must be a number of seconds"),
        ({"timeout": True}, "timeout must be a number of seconds"),
        ({"catch": [ValueError]}, "catch must be an exception class .* got .*ValueError"),
        ({"catch": True}, "catch must be an exception class .* got True"),
        ({"catch": (ValueError, "x")}, "catch must be"),
        ({"catch": ValueError("x")}, "catch must be"),
        ({"catch": KeyboardInterrupt}, "catch must be"),
        ({"optimizer": 3}, "optimizer must be an Optimizer, got 3"),
    ],
)
def test_bad_arguments_are_named(bad: dict[str, Any], message: str) -> None:
    with pytest.raises((TypeError, ValueError), match=message):
        minimize(bowl, BOX, **bad)


def test_swapped_arguments_are_named() -> None:
    with pytest.raises(TypeError, match="objective must be a function, got array"):
        minimize(BOX, bowl)


def test_a_result_shows_the_best_point() -> None:
    result = minimize(lambda point: point["x"] ** 2, {"x": Integer(0, 1)}, 2)
    assert repr(result) == "Result(Optimizer(minimize, 2 trials, best 0 at {'x': 0}))"


def test_no_trials_are_no_error() -> None:
    result = minimize(bowl, BOX, 0)
    assert result.trials == ()
    with pytest.raises(ValueError, match="no best trial yet"):
        _ = result.best_value


def test_progress_is_shown_if_wanted(capsys: pytest.CaptureFixture[str]) -> None:
    minimize(bowl, BOX, 2, num_initial=MANY)
    assert capsys.readouterr() == ("", "")
    structbo.minimize(lambda p: 2.5, BOX, 2, num_initial=MANY)
    shown = capsys.readouterr()
    assert shown.out == ""
    assert "minimize: 100%" in shown.err and "2/2" in shown.err and "best=2.5" in shown.err


def test_an_initial_point_runs_as_often_as_it_is_given() -> None:
    """A continued run skips the repeats that it already has."""
    space, point = {"x": (-1.0, 1.0)}, {"x": 0.25}
    result = minimize(lambda p: p["x"], space, 2, initial_points=[point, point])
    assert [trial.params for trial in result.trials] == [point, point]
    optimizer = result.optimizer
    for times in (1, 2, 3):
        minimize(lambda p: p["x"], None, 0, optimizer=optimizer, initial_points=[point] * times)
        assert len(optimizer.trials) == max(times, 2)


def test_initial_points_may_come_from_a_generator(tmp_path: Path) -> None:
    points = [{"x": 0.25}, {"x": 0.5}]
    stored: dict[str, Any] = {"storage": f"sqlite:///{tmp_path / 'runs.db'}"}
    for settings in ({}, stored):
        given = (point for point in points)
        space = {"x": (-1.0, 1.0)}
        result = minimize(lambda p: p["x"], space, 2, initial_points=given, **settings)
        assert [trial.params for trial in result.trials] == points
