"""The whole loop: how it ends, what it keeps, and that it finds the optimum of easy functions."""

import importlib
import math
import multiprocessing
import os
import re
import signal
import sys
import threading
from collections.abc import Callable
from concurrent.futures import (
    BrokenExecutor,
    Executor,
    Future,
    ProcessPoolExecutor,
    ThreadPoolExecutor,
)
from decimal import Decimal
from fractions import Fraction
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import structbo
from structbo import Categorical, Integer, Optimizer, Space, Trial

SPACE = Space({"lr": (1e-3, 1.0, "log"), "k": Integer(1, 5), "act": Categorical(["a", "b", "c"])})
BOX = np.array([[-1.0, 1.0], [0.0, 10.0]])
MANY = 100
"""More quasi-random points than any test here evaluates: no model, hence fast."""

minimize = partial(structbo.minimize, show_progress_bar=False)
maximize = partial(structbo.maximize, show_progress_bar=False)


@pytest.fixture
def optimizer() -> Optimizer:
    return Optimizer(BOX, num_initial=MANY)


def bowl(point: np.ndarray) -> float:
    """At least 0, at (0.3, 6)."""
    return float((point[0] - 0.3) ** 2 + (point[1] / 10.0 - 0.6) ** 2)


def failing_at(
    number: int, error: type[BaseException], objective: Callable[[Any], float] = bowl
) -> Callable[[Any], float]:
    """Raises at one call, counted from 0."""
    calls = iter(range(1000))

    def function(point: Any) -> float:
        if next(calls) == number:
            raise error("out of memory")
        return objective(point)

    return function


@pytest.mark.nightly
def test_minimize_comes_near_the_optimum_of_a_bowl() -> None:
    """The best of as many quasi-random points is at 0.013, and that of the model at 0.0001."""
    result = minimize(bowl, BOX, 14)
    assert len(result.trials) == 14
    assert result.best_value == bowl(result.best_params) == min(t.value for t in result.trials)
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


def test_an_exception_is_raised_with_a_note_and_the_trials_are_kept(optimizer: Optimizer) -> None:
    with pytest.raises(MemoryError, match="out of memory") as caught:
        minimize(failing_at(2, MemoryError), optimizer=optimizer)
    assert "trial 2 ended at" in caught.value.__notes__[0]
    assert "catch=Exception" in caught.value.__notes__[0]
    assert "minimize(objective, optimizer=error.optimizer)" in caught.value.__notes__[1]
    assert caught.value.optimizer is optimizer
    assert [t.state for t in optimizer.trials] == ["complete", "complete", "failed"]


def test_an_interruption_is_passed_on_with_the_optimizer() -> None:
    """Also with catch=Exception, which an interruption is not; the best is in its note."""
    with pytest.raises(KeyboardInterrupt) as caught:
        maximize(failing_at(2, KeyboardInterrupt), BOX, num_initial=MANY, catch=Exception)
    optimizer: Optimizer = caught.value.optimizer
    assert [t.state for t in optimizer.trials] == ["complete", "complete", "withdrawn"]
    (note,) = caught.value.__notes__
    assert f"best {optimizer.best.value:.6g} at" in note
    assert "maximize(objective, optimizer=error.optimizer)" in note
    maximize(bowl, None, 2, optimizer=optimizer)
    assert [t.state for t in optimizer.trials][3:] == ["complete", "complete"]


def test_an_interruption_between_evaluations_is_passed_on_with_the_optimizer() -> None:
    """Of a callback, or of the search for the next point."""

    def callback(optimizer: Optimizer, trial: Trial) -> None:
        if trial.number == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt) as caught:
        minimize(bowl, BOX, num_initial=MANY, callbacks=[callback])
    assert [t.value for t in caught.value.optimizer.trials] == [
        bowl(t.params) for t in caught.value.optimizer.trials
    ]
    assert len(caught.value.optimizer.trials) == 3


class DyingExecutor(Executor):
    """Evaluates at once, until a worker dies with all that the executor has from then on."""

    def __init__(self, num_good: int) -> None:
        self._num_good = num_good

    def submit(self, function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        future: Future[Any] = Future()
        self._num_good -= 1
        if self._num_good < 0:
            future.set_exception(BrokenExecutor("a worker died"))
        else:
            future.set_result(function(*args, **kwargs))
        return future


def test_points_whose_worker_died_did_not_fail() -> None:
    """Also with catch=Exception: another executor evaluates them again."""
    run = partial(minimize, bowl, BOX, 6, num_initial=MANY, n_jobs=4, catch=Exception)
    with pytest.raises(BrokenExecutor) as caught:
        run(executor=DyingExecutor(3))
    optimizer: Optimizer = caught.value.optimizer  # type: ignore[attr-defined]
    assert [t.state for t in optimizer.trials] == [*["complete"] * 3, "withdrawn"]
    assert "a worker died" in caught.value.__notes__[0]
    minimize(bowl, None, 3, optimizer=optimizer)
    values = [t.value for t in optimizer.trials if t.state == "complete"]
    assert values == [t.value for t in minimize(bowl, BOX, 6, num_initial=MANY).trials]


def killing_its_worker_at_first(point: np.ndarray) -> float:
    """Once: the first worker leaves a file behind."""
    killed = Path("killed")
    if not killed.exists():
        killed.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return float(point[0])


@pytest.mark.nightly
def test_a_worker_that_is_killed_costs_what_it_evaluated(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    spawn = multiprocessing.get_context("spawn")
    optimizer = Optimizer(BOX, num_initial=MANY)
    run = partial(minimize, killing_its_worker_at_first, None, optimizer=optimizer)
    with pytest.raises(BrokenExecutor), ProcessPoolExecutor(1, mp_context=spawn) as pool:
        run(4, executor=pool)
    with ProcessPoolExecutor(1, mp_context=spawn) as pool:
        run(4, executor=pool)
    assert [t.state for t in optimizer.trials] == ["withdrawn", *["complete"] * 4]
    assert np.array_equal(optimizer.trials[0].params, optimizer.trials[1].params)


@pytest.mark.parametrize("error", [KeyboardInterrupt, ValueError])
def test_nothing_stays_pending_in_an_executor(error: type[BaseException]) -> None:
    """Two workers; one trial breaks the run off, one has a value, one runs, one is in the queue."""
    optimizer = Optimizer(BOX, num_initial=MANY)
    own = optimizer.ask()
    told, wait_no_more = threading.Event(), threading.Event()

    def objective(point: np.ndarray) -> float:
        match next(t.number for t in optimizer.trials if np.array_equal(t.params, point)):
            case 1:
                wait_no_more.wait(30.0)
            case 3:
                told.wait(30.0)
                raise error("out of memory")
        return bowl(point)

    with ThreadPoolExecutor(2) as executor:
        run = partial(minimize, executor=executor, n_jobs=4, callbacks=[lambda *_: told.set()])
        with pytest.raises(error) as caught:
            run(objective, None, 4, optimizer=optimizer)
        wait_no_more.set()
    assert caught.value.optimizer is optimizer
    states = [t.state for t in optimizer.trials]
    assert states[:3] == ["pending", "withdrawn", "complete"], "its own trial is not of the run"
    assert states[3] == ("failed" if error is ValueError else "withdrawn")
    assert states[4] in ("withdrawn", "complete"), "it may have come first"
    assert optimizer.trials[2].value == bowl(optimizer.trials[2].params)
    assert optimizer.tell(own, 1.0).state == "complete"


@pytest.mark.parametrize("catch", [ValueError, (KeyError, ValueError), Exception])
def test_caught_exceptions_are_failures_and_the_run_goes_on(catch: Any) -> None:
    with pytest.warns(
        UserWarning, match=r"trial 1 failed: ValueError\('out of memory'\)"
    ) as warned:
        result = minimize(failing_at(1, ValueError), BOX, 4, num_initial=MANY, catch=catch)
    assert [t.state for t in result.trials] == ["complete", "failed", "complete", "complete"]
    assert [w.filename for w in warned] == [__file__]


def test_other_exceptions_than_those_to_catch_are_raised() -> None:
    with pytest.raises(ValueError, match="out of memory"):
        minimize(failing_at(1, ValueError), BOX, 4, num_initial=MANY, catch=KeyError)


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, None])
def test_values_that_are_not_finite_are_failures(value: Any) -> None:
    with pytest.warns(UserWarning, match=f"<lambda> returned {value}, which counts as") as warned:
        result = minimize(lambda p: value if p[0] < 0 else bowl(p), BOX, 8, num_initial=MANY)
    assert {w.filename for w in warned} == {__file__}
    assert len({str(w.message) for w in warned}) == 1, "Python shows the same text once"
    assert ("return statement" in str(warned[0].message)) == (value is None)
    for trial in result.trials:
        assert trial.state == ("failed" if trial.params[0] < 0 else "complete")
    assert {t.state for t in result.trials} == {"failed", "complete"}
    assert math.isfinite(result.best_value)


@pytest.mark.filterwarnings("ignore:the objective:UserWarning")
@pytest.mark.filterwarnings("ignore:trial .* failed:UserWarning")
@pytest.mark.parametrize("objective", [lambda p: None, lambda p: math.nan, lambda p: 1 / 0])
def test_a_run_stops_when_all_initial_points_fail(objective: Callable[[Any], Any]) -> None:
    """One value is enough to go on; a run that is continued may fail as often again."""
    with pytest.raises(RuntimeError, match="all 3 initial points failed: no value is") as caught:
        minimize(objective, BOX, 9, num_initial=3, catch=ZeroDivisionError)
    optimizer: Optimizer = caught.value.optimizer
    assert [t.state for t in optimizer.trials] == ["failed"] * 3
    minimize(objective, None, 2, optimizer=optimizer, catch=ZeroDivisionError)
    assert [t.state for t in optimizer.trials] == ["failed"] * 5
    optimizer.tell([0.0, 0.0], 1.0)
    minimize(objective, None, 4, optimizer=optimizer, catch=ZeroDivisionError)


@pytest.mark.parametrize(
    "value",
    ["low", "0.5", (0.1, 0.2), [0.1], np.array([0.1, 0.2]), 1j, np.complex64(1j), {"loss": 0.1}],
    ids=repr,
)
def test_an_objective_that_returns_no_number_is_named(value: Any) -> None:
    """Whatever is caught; the point is withdrawn, since nothing is known of it."""

    def train(point: np.ndarray) -> Any:
        return value

    message = f"trial 0: what the objective train returned must be one number, got {value!r}."
    with pytest.raises(ValueError, match=re.escape(message)) as caught:
        minimize(train, BOX, 4, num_initial=MANY, catch=Exception)
    assert [t.state for t in caught.value.optimizer.trials] == ["withdrawn"]


def test_an_objective_that_yields_is_named() -> None:
    def train(point: np.ndarray) -> Any:
        yield bowl(point)

    with pytest.raises(ValueError, match=r"the objective train returned .* got <generator"):
        minimize(train, BOX, 4, num_initial=MANY)


@pytest.mark.parametrize(
    "number", [2, True, np.float32(2), np.array(2.0), np.array([[2.0]]), Fraction(2), Decimal(2)]
)
def test_numbers_of_all_kinds_are_values(number: Any) -> None:
    value = minimize(lambda p: number, BOX, 1).best_value
    assert type(value) is float and value == (1.0 if number is True else 2.0)


def test_callbacks_see_every_trial_once_it_is_told(optimizer: Optimizer) -> None:
    seen: list[Trial] = []

    def callback(given: Optimizer, trial: Trial) -> None:
        assert given is optimizer and given.trials[-1] is trial
        seen.append(trial)

    result = minimize(bowl, None, 3, optimizer=optimizer, callbacks=[callback, callback])
    assert seen == [trial for trial in result.trials for _ in range(2)]


@pytest.mark.parametrize("workers", [0, 2])
def test_an_objective_may_change_its_argument(workers: int) -> None:
    """What was proposed is what is stored, by name and in a box, here and in an executor."""

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


def test_an_executor_evaluates_several_points_at_a_time() -> None:
    """Every evaluation waits until another one runs."""
    both = threading.Barrier(2, timeout=30.0)

    def objective(point: np.ndarray) -> float:
        both.wait()
        return bowl(point)

    with ThreadPoolExecutor(2) as executor:
        result = minimize(objective, BOX, 6, executor=executor, n_jobs=2, num_initial=MANY)
    assert [t.state for t in result.trials] == ["complete"] * 6
    assert all(t.value == bowl(t.params) for t in result.trials)
    assert len({tuple(t.params) for t in result.trials}) == 6


def test_free_workers_are_given_a_batch(monkeypatch: pytest.MonkeyPatch) -> None:
    """A space of five points: when four are evaluated there is one left for two workers."""
    optimizer, asked = Optimizer({"k": Integer(0, 4)}, num_initial=MANY), []
    ask = optimizer.ask

    def noted(n: int) -> Any:
        asked.append(n)
        return ask(n)

    monkeypatch.setattr(optimizer, "ask", noted)
    executor: Any = AtOnce()
    with pytest.warns(UserWarning, match="every point of the space is evaluated"):
        result = minimize(
            lambda point: float(point["k"]),
            None,
            9,
            optimizer=optimizer,
            executor=executor,
            n_jobs=2,
        )
    assert asked == [2, 2, 2, 1]
    assert sorted(t.value for t in result.trials) == [0.0, 1.0, 2.0, 3.0, 4.0]


class AtOnce:
    """An executor that has finished everything by the time it is asked."""

    def submit(self, objective: Callable[[Any], float], point: Any) -> Future[float]:
        future: Future[float] = Future()
        try:
            future.set_result(objective(point))
        except Exception as error:
            future.set_exception(error)
        return future


@pytest.mark.parametrize("number", range(4))
def test_values_that_arrive_with_an_exception_are_told(optimizer: Optimizer, number: int) -> None:
    executor: Any = AtOnce()
    with pytest.raises(ValueError, match="out of memory"):
        minimize(
            failing_at(number, ValueError),
            None,
            4,
            optimizer=optimizer,
            executor=executor,
            n_jobs=4,
        )
    expected = ["failed" if i == number else "complete" for i in range(4)]
    assert [t.state for t in optimizer.trials] == expected


def test_the_timeout_ends_the_run_after_the_evaluation_at_hand(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clock = iter(range(100, 1000))
    now = [100.0]
    fake = SimpleNamespace(monotonic=lambda: now[0])
    monkeypatch.setattr(importlib.import_module("structbo.optimizer.minimization"), "time", fake)

    def objective(point: np.ndarray) -> float:
        now[0] += 10.0
        return float(next(clock))

    assert len(minimize(objective, BOX, 50, num_initial=MANY, timeout=35.0).trials) == 4
    assert minimize(objective, BOX, 50, timeout=0.0).trials == ()


def test_a_finite_space_ends_the_run_with_a_warning() -> None:
    with pytest.warns(UserWarning, match="every point of the space is evaluated") as warned:
        result = minimize(lambda p: p["x0"], [Integer(1, 3)], 10)
    assert [w.filename for w in warned] == [__file__]
    assert sorted(t.value for t in result.trials) == [1.0, 2.0, 3.0]
    assert result.best_params == {"x0": 1}


def test_a_run_is_continued_with_its_optimizer() -> None:
    """Two runs of one optimizer are one run."""
    whole = minimize(bowl, BOX, 6)
    half = minimize(bowl, BOX, 3)
    rest = minimize(bowl, n_trials=3, optimizer=half.optimizer)
    assert rest.optimizer is half.optimizer
    assert [t.value for t in rest.trials] == [t.value for t in whole.trials]


def test_a_run_needs_a_space_or_an_optimizer_of_its_direction(optimizer: Optimizer) -> None:
    with pytest.raises(ValueError, match="give a space"):
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
        ({"timeout": "10s"}, "timeout must be a number of seconds, or None, got '10s'"),
        ({"timeout": -1.0}, "timeout must be a number of seconds"),
        ({"timeout": math.nan}, "timeout must be a number of seconds"),
        ({"timeout": True}, "timeout must be a number of seconds"),
        ({"catch": [ValueError]}, "catch must be a class of exceptions .* got .*ValueError"),
        ({"catch": True}, "catch must be a class of exceptions .* got True"),
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
