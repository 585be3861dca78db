"""Runs with workers: batches for free workers, and workers that die."""

import multiprocessing
import os
import signal
import threading
from collections.abc import Callable
from concurrent.futures import (
    BrokenExecutor,
    Executor,
    Future,
    ProcessPoolExecutor,
    ThreadPoolExecutor,
)
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from short_runs import BOX, MANY, bowl, failing_at, minimize

from structbo import Integer, Optimizer


class DyingExecutor(Executor):
    """Evaluates immediately, until a worker dies and breaks the executor."""

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
    """This includes catch=Exception; another executor repeats the evaluations."""
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
    """Kills its worker once; a file marks the first call."""
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
    """With two workers, one trial ends the run, one has a value, one runs, one is queued."""
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
    """In a space of five points, one point is left for two workers after four evaluations."""
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
    """An executor that finishes all evaluations on submission."""

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
