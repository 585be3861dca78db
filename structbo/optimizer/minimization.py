"""The whole loop: evaluate a function until the budget is spent."""

import inspect
import time
import warnings
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Executor, Future, wait
from dataclasses import dataclass
from typing import Any, Unpack

from tqdm.auto import tqdm

from structbo.data import Direction, Trial
from structbo.models.arguments import checked_count
from structbo.optimizer.engine import SpaceExhausted
from structbo.optimizer.optimizer import Optimizer
from structbo.optimizer.settings import KEYWORDS, Settings, contradictions, shows
from structbo.posterior import Posterior
from structbo.screening import Screening
from structbo.space import Space, SpaceLike

Callback = Callable[[Optimizer, Trial], None]


@dataclass(frozen=True)
class Result:
    """The result of `minimize` and `maximize`.

    Args:
        optimizer: the optimizer with all trials; continue with `ask` and `tell`, or pass it back
            in.
    """

    optimizer: Optimizer

    @property
    def best_params(self) -> Any:
        """The point with the best value."""
        return self.optimizer.best.params

    @property
    def best_value(self) -> float:
        """The best value."""
        value = self.optimizer.best.value
        assert value is not None
        return value

    @property
    def trials(self) -> tuple[Trial, ...]:
        """All trials, in order."""
        return self.optimizer.trials

    @property
    def posterior(self) -> Posterior:
        """Posterior draws of the structure given all trials."""
        return self.optimizer.posterior

    def __repr__(self) -> str:
        return f"Result({self.optimizer!r})"


class RunSettings(Settings, total=False):
    """Keyword arguments of `minimize` and `maximize`, described there and in `Settings`."""

    optimizer: Optimizer | None
    screening: Screening | None
    timeout: float | None
    catch: type[Exception] | tuple[type[Exception], ...]
    callbacks: Sequence[Callback]
    executor: Executor | None
    n_jobs: int
    show_progress_bar: bool


@shows(KEYWORDS)
def _run(
    direction: Direction,
    objective: Callable[[Any], float],
    space: SpaceLike | None,
    n_trials: int,
    *,
    optimizer: Optimizer | None = None,
    screening: Screening | None = None,
    timeout: float | None = None,
    catch: type[Exception] | tuple[type[Exception], ...] = (),
    callbacks: Sequence[Callback] = (),
    executor: Executor | None = None,
    n_jobs: int = 1,
    show_progress_bar: bool = True,
    **settings: Unpack[Settings],
) -> Result:
    n_trials = checked_count("n_trials", n_trials, least=0)
    if checked_count("n_jobs", n_jobs) > 1 and executor is None:
        raise ValueError(
            f"n_jobs={n_jobs} needs an executor, such as "
            f"concurrent.futures.ThreadPoolExecutor({n_jobs})."
        )
    if executor is not None and not hasattr(executor, "submit"):
        raise TypeError(f"executor must be a concurrent.futures.Executor, got {executor!r}.")
    if callable(callbacks):
        raise TypeError(f"callbacks must be a sequence, [{callbacks!r}], got a function.")
    if optimizer is None:
        if space is None:
            raise ValueError("give a space, or an optimizer to continue.")
        optimizer = Optimizer(space, direction, screening=screening, **settings)
    else:
        _check_continued(optimizer, direction, space, screening, settings)
    stop_at = float("inf") if timeout is None else time.monotonic() + timeout
    running: dict[Future[float], Trial] = {}
    asked = 0
    with tqdm(total=n_trials, disable=not show_progress_bar, desc=direction) as progress:
        while True:
            free = min(n_trials - asked, n_jobs - len(running))
            if free and time.monotonic() < stop_at:
                trials = _ask(optimizer, free)
                if len(trials) < free:
                    warnings.warn("every point of the space is evaluated: stopping.", stacklevel=3)
                    n_trials = asked + len(trials)
                asked += len(trials)
                running |= {_submit(executor, objective, trial): trial for trial in trials}
            if not running:
                return Result(optimizer)
            done = wait(running, return_when=FIRST_COMPLETED).done
            for future in sorted(done, key=lambda f: (_failed(f), running[f].number)):
                trial = running.pop(future)
                try:
                    told = optimizer.tell(trial, future.result())
                except catch as error:
                    told = optimizer.tell(trial)
                    warnings.warn(f"trial {trial.number} failed: {error!r}", stacklevel=3)
                except BaseException as error:
                    if isinstance(error, Exception):
                        optimizer.tell(trial)
                    else:
                        optimizer.withdraw(trial)
                    error.add_note(
                        f"structbo: trial {trial.number} ended at {trial.params}. Pass "
                        "catch=Exception to continue after failures, and optimizer=Optimizer(...) "
                        "to keep the trials told so far."
                    )
                    raise
                progress.update()
                if any(t.state == "complete" for t in optimizer.trials):
                    progress.set_postfix(best=f"{optimizer.best.value:.6g}")
                for callback in callbacks:
                    callback(optimizer, told)


def _check_continued(
    optimizer: Optimizer,
    direction: Direction,
    space: SpaceLike | None,
    screening: Screening | None,
    settings: Settings,
) -> None:
    """Checks that nothing contradicts the space, direction and settings of an optimizer."""
    if not isinstance(optimizer, Optimizer):
        raise TypeError(f"optimizer must be an Optimizer, got {optimizer!r}.")
    if optimizer.direction != direction:
        raise ValueError(f"optimizer is to {optimizer.direction}; call that function instead.")
    others = [] if screening is None else ["screening"]
    if space is not None and Space(space) != optimizer.space:
        others.append("space")
    others += contradictions(optimizer.space, settings, optimizer.method)
    if others:
        raise ValueError(
            f"optimizer has settings of its own, and {', '.join(others)} differ from them: leave "
            "these out, or make a new Optimizer with them."
        )


def _ask(optimizer: Optimizer, number: int) -> list[Trial]:
    """A batch of so many trials, or of fewer if the space has no more points."""
    for size in range(number, 0, -1):
        try:
            return optimizer.ask(size)
        except SpaceExhausted:
            continue
    return []


def _submit(
    executor: Executor | None, objective: Callable[[Any], float], trial: Trial
) -> Future[float]:
    """Evaluates in the executor, or here and now if there is none."""
    if executor is not None:
        return executor.submit(objective, trial.params)
    future: Future[float] = Future()
    try:
        future.set_result(objective(trial.params))
    except BaseException as error:
        future.set_exception(error)
    return future


def _failed(future: Future[float]) -> bool:
    """Whether an evaluation failed; others are told first, so that an exception loses no value."""
    return future.cancelled() or future.exception() is not None


RUN_KEYWORDS = [
    parameter
    for parameter in inspect.signature(_run).parameters.values()
    if parameter.kind is parameter.KEYWORD_ONLY
]


@shows(RUN_KEYWORDS)
def minimize(
    objective: Callable[[Any], float],
    space: SpaceLike | None = None,
    n_trials: int = 100,
    **settings: Unpack[RunSettings],
) -> Result:
    """Minimizes a function of the parameters of a space.

    Args:
        objective: maps a point - a dict by name, or an array (D,) for a plain box - to a number.
            NaN and infinite values count as failed evaluations.
        space: the search space, or what `Space` accepts.
        n_trials: how many points to evaluate.
        optimizer: continues this one, which knows its space and settings, instead of a new one.
        screening: a first stage that finds which parameters matter, see `Optimizer`.
        timeout: stop asking for points after this many seconds.
        catch: exceptions of the objective that count as failed evaluations; others are raised,
            after all finished evaluations are told to ``optimizer``.
        callbacks: called with (optimizer, trial) after every evaluation.
        executor: where to evaluate, any `concurrent.futures.Executor`.
        n_jobs: how many evaluations the executor has at the same time.
        show_progress_bar: whether to show progress and the best value.
        settings: how points are found: seed, model, criterion and more, see `Settings`.

    Returns:
        The best point and value, all trials, and the posterior.

    Raises:
        ValueError: if a number is out of range, neither a space nor an optimizer is given, or
            settings contradict those of the optimizer.
        TypeError: if a setting is unknown or of the wrong kind.

    Example:
        >>> result = minimize(lambda p: p["x"] ** 2, {"x": (-1.0, 1.0)}, 3, show_progress_bar=False)
        >>> len(result.trials)
        3
    """
    return _run("minimize", objective, space, n_trials, **settings)


@shows(RUN_KEYWORDS)
def maximize(
    objective: Callable[[Any], float],
    space: SpaceLike | None = None,
    n_trials: int = 100,
    **settings: Unpack[RunSettings],
) -> Result:
    """Maximizes a function; arguments and result are those of `minimize`.

    Example:
        >>> result = maximize(lambda p: p["x"], {"x": (-1.0, 0.0)}, 3, show_progress_bar=False)
        >>> result.best_value <= 0
        True
    """
    return _run("maximize", objective, space, n_trials, **settings)
