"""The evaluations of one run, and how they end if an exception ends the run."""

import statistics
import time
from collections.abc import Callable
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Executor, Future, wait
from types import TracebackType
from typing import Any, Self

from structbo.data import Trial, one_number
from structbo.optimizer.exhaustion import as_many_as_left
from structbo.optimizer.optimizer import Optimizer

NUM_RECENT = 10
"""The number of recent evaluations that predict the duration of the next one."""


class Evaluations:
    """The trials of one run, and the running calls of the objective.

    Used as a context, it attaches the optimizer to any exception that ends the run.

    Args:
        optimizer: the optimizer that proposes trials and is told their values.
        objective: maps a point to a number.
        executor: runs the evaluations; without one, they run in this thread.
    """

    def __init__(
        self, optimizer: Optimizer, objective: Callable[[Any], Any], executor: Executor | None
    ) -> None:
        self._optimizer = optimizer
        self._objective = objective
        self._executor = executor
        self._pending_before = {t.number for t in optimizer.trials if t.state == "pending"}
        self._running: dict[Future[Any], Trial] = {}
        self._asked_at: dict[int, float] = {}
        self._seconds: list[float] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if error is None:
            return
        error.optimizer = self._optimizer  # type: ignore[attr-defined]
        try:
            self._break_off()
        finally:
            error.add_note(
                f"structbo: this exception has the attribute optimizer: {self._optimizer}. To "
                f"continue, call {self._optimizer.direction}(objective, optimizer=error.optimizer);"
                " in a notebook, error is sys.last_value."
            )

    def __len__(self) -> int:
        return len(self._running)

    @property
    def expected_seconds(self) -> float:
        """Median duration of recent trials, from asking to value; 0 before the first."""
        return statistics.median(self._seconds[-NUM_RECENT:]) if self._seconds else 0.0

    def start(self, number: int) -> int:
        """Starts a number of trials, or fewer if the space is exhausted; returns how many."""
        now = time.monotonic()
        trials = as_many_as_left(self._optimizer.ask, number)
        self._asked_at |= {trial.number: now for trial in trials}
        self._running |= {self._submit(trial): trial for trial in trials}
        return len(trials)

    def finished(self) -> list[tuple[Trial, Future[Any]]]:
        """Waits for finished evaluations, with failures last so that no value is lost."""
        done = wait(self._running, return_when=FIRST_COMPLETED).done
        pairs = [(self._running[future], future) for future in done]
        return sorted(pairs, key=lambda pair: (has_failed(pair[1]), pair[0].number))

    def tell(self, trial: Trial, future: Future[Any]) -> Trial:
        """Tells the value of a trial, or that it failed with an exception.

        Raises:
            ValueError: if the objective returned something other than one number.
        """
        value = None if has_failed(future) else future.result()
        name = f"trial {trial.number}: what {name_of(self._objective)} returned"
        told = self._optimizer.tell(trial, one_number(name, value))
        self._seconds.append(time.monotonic() - self._asked_at.pop(trial.number))
        del self._running[future]
        return told

    def _break_off(self) -> None:
        """Tells the finished trials and withdraws the others, so that none stays pending."""
        for future, trial in list(self._running.items()):
            future.cancel()
            if future.done() and not _is_interrupted(future):
                try:
                    self.tell(trial, future)
                except ValueError:
                    continue
        for trial in self._optimizer.trials:
            if trial.state == "pending" and trial.number not in self._pending_before:
                self._optimizer.withdraw(trial)

    def _submit(self, trial: Trial) -> Future[Any]:
        if self._executor is not None:
            return self._executor.submit(self._objective, trial.params)
        future: Future[Any] = Future()
        try:
            future.set_result(self._objective(trial.params))
        except BaseException as error:
            future.set_exception(error)
        return future


def name_of(objective: Callable[[Any], Any]) -> str:
    """The name of an objective in messages."""
    return f"the objective {getattr(objective, '__name__', repr(objective))}"


def has_failed(future: Future[Any]) -> bool:
    """Whether the evaluation was canceled or raised an exception."""
    return future.cancelled() or future.exception() is not None


def _is_interrupted(future: Future[Any]) -> bool:
    """Whether the evaluation was canceled or interrupted."""
    if future.cancelled():
        return True
    error = future.exception()
    return isinstance(error, BrokenExecutor) or not isinstance(error, Exception | None)
