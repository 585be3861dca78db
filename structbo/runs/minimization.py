"""The whole loop: evaluate a function until the budget is spent."""

import inspect
import logging
import numbers
import time
import warnings
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import BrokenExecutor, Executor, Future
from typing import Any, Unpack

import numpy as np
from tqdm.auto import tqdm

from structbo.data import Direction, Trial, unit_points
from structbo.integrations import open_storage
from structbo.models.foundation.arguments import checked_count
from structbo.optimizer.optimizer import Optimizer
from structbo.optimizer.result import Result
from structbo.optimizer.settings import KEYWORDS, Keywords, shows
from structbo.optimizer.stopping import StopSearch
from structbo.proposal.candidates import SAME
from structbo.runs.evaluations import Evaluations, has_failed, name_of
from structbo.screening import Screening
from structbo.space import Space, SpaceLike

Callback = Callable[[Optimizer, Trial], None]
_logger = logging.getLogger(__name__)


class RunKeywords(Keywords, total=False):
    """Keyword arguments of `minimize` and `maximize`, described there and in `Settings`."""

    optimizer: Optimizer | None
    initial_points: Any
    screening: Screening | None
    storage: Any
    study_name: str | None
    load_if_exists: bool
    timeout: float | None
    catch: type[Exception] | tuple[type[Exception], ...]
    callbacks: Iterable[Callback]
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
    initial_points: Any = None,
    screening: Screening | None = None,
    storage: Any = None,
    study_name: str | None = None,
    load_if_exists: bool = False,
    timeout: float | None = None,
    catch: type[Exception] | tuple[type[Exception], ...] = (),
    callbacks: Iterable[Callback] = (),
    executor: Executor | None = None,
    n_jobs: int = 1,
    show_progress_bar: bool = True,
    **settings: Unpack[Keywords],
) -> Result:
    # Both are read more than once.
    callbacks, initial_points = (
        list(given) if isinstance(given, Iterator) else given
        for given in (callbacks, initial_points)
    )
    _check_arguments(objective, timeout, catch, callbacks, executor, n_jobs)
    n_trials = checked_count("n_trials", n_trials, least=0)
    if storage is None and (study_name is not None or load_if_exists):
        raise ValueError("study_name and load_if_exists need a storage: pass storage.")
    if optimizer is not None:
        if storage is not None:
            raise ValueError("optimizer holds trials already: leave out either it or storage.")
        _check_continued(optimizer, direction, space, screening, settings)
    elif space is None:
        raise ValueError("pass a space, or an optimizer to continue.")
    elif storage is None:
        optimizer = Optimizer(space, direction, screening=screening, **settings)
    elif screening is not None:
        raise ValueError("a storage cannot hold a screening: pass screening or storage, not both.")
    else:
        space = Space(space)
        unit_points(space, initial_points, "initial_points")  # checked before a study is created
        optimizer = open_storage(storage, study_name, load_if_exists, space, direction, settings)
    _enqueue_new(optimizer, initial_points)
    num_expected = sum(t.is_told for t in optimizer.trials) + n_trials
    stop_at = float("inf") if timeout is None else time.monotonic() + timeout
    asked = num_failed = 0
    with (
        optimizer.expecting(num_expected),
        Evaluations(optimizer, objective, executor) as evaluations,
        tqdm(total=n_trials, disable=not show_progress_bar, desc=direction) as progress,
    ):
        while True:
            free = min(n_trials - asked, n_jobs - len(evaluations))
            if free and time.monotonic() + evaluations.expected_seconds < stop_at:
                if optimizer.will_compile:
                    progress.set_description_str(f"{direction}, compiling")
                started = evaluations.start(free)
                progress.set_description_str(direction, refresh=False)
                if started < free:
                    warnings.warn("every point of the space is evaluated: stopping.", stacklevel=3)
                    n_trials = asked + started
                asked += started
            if not evaluations:
                return Result(optimizer)
            for trial, future in evaluations.finished():
                _check_outcome(trial, future, catch)
                told = evaluations.tell(trial, future)
                if told.state == "failed":
                    num_failed += 1
                    _warn_of_value(objective, future)
                progress.update()
                if any(t.state == "complete" for t in optimizer.trials):
                    progress.set_postfix(best=f"{optimizer.best.value:.6g}")
                if _stops(callbacks, optimizer, told):
                    n_trials = asked
                _check_some_succeeded(optimizer, num_failed)


def _enqueue_new(optimizer: Optimizer, initial_points: Any) -> None:
    """Enqueues the initial points without a trial, so that the same call can resume a run.

    A trial counts for one of several equal points.
    """
    space = optimizer.space
    unit = unit_points(space, initial_points, "initial_points")
    if not len(unit):
        return
    own = [t.params for t in optimizer.trials if t.state != "withdrawn"]
    known = unit_points(space, own, "params")
    for point, place in zip(space.as_legal(initial_points), unit, strict=True):
        same = np.flatnonzero((np.abs(known - place) < SAME).all(1))
        if len(same):
            known = np.delete(known, same[0], axis=0)
        else:
            optimizer.enqueue(point)


def _check_outcome(
    trial: Trial, future: Future[Any], catch: type[Exception] | tuple[type[Exception], ...]
) -> None:
    """Raises the exception of an evaluation, unless `catch` includes it."""
    try:
        future.result()
    except BrokenExecutor as error:
        error.add_note(
            "structbo: a worker died and broke the executor; its trials are withdrawn. Continue "
            "with a new executor."
        )
        raise
    except catch as error:
        warnings.warn(f"trial {trial.number} failed: {error!r}", stacklevel=4)
    except Exception as error:
        error.add_note(
            f"structbo: trial {trial.number} failed at {trial.params}. Pass catch=Exception to "
            "continue after failures."
        )
        raise


def _warn_of_value(objective: Callable[[Any], float], future: Future[Any]) -> None:
    """Warns of a missing value, with a constant text so that Python shows the warning once."""
    if has_failed(future):
        return
    value = future.result()
    hint = "; is a return statement missing?" if value is None else "."
    warnings.warn(
        f"{name_of(objective)} returned {value}, which counts as a failed evaluation{hint}",
        stacklevel=4,
    )


def _stops(callbacks: Iterable[Callback], optimizer: Optimizer, told: Trial) -> bool:
    """Calls the callbacks; returns whether one of them ends the run."""
    stops = False
    for callback in callbacks:
        try:
            callback(optimizer, told)
        except StopSearch as reason:
            _logger.info("stopping after trial %d: %s", told.number, reason)
            stops = True
    return stops


def _check_arguments(
    objective: Callable[[Any], float],
    timeout: float | None,
    catch: type[Exception] | tuple[type[Exception], ...],
    callbacks: Iterable[Callback],
    executor: Executor | None,
    n_jobs: int,
) -> None:
    if not callable(objective):
        raise TypeError(f"objective must be a function, got {objective!r}.")
    if timeout is not None and not (
        isinstance(timeout, numbers.Real) and not isinstance(timeout, bool) and timeout >= 0
    ):
        raise ValueError(f"timeout must be a number of seconds or None, got {timeout!r}.")
    classes = catch if isinstance(catch, tuple) else (catch,)
    if not all(isinstance(c, type) and issubclass(c, Exception) for c in classes):
        raise TypeError(
            "catch must be an exception class such as ValueError, or a tuple of them, got "
            f"{catch!r}; catch=Exception catches all."
        )
    if callable(callbacks) or not isinstance(callbacks, Iterable):
        raise TypeError(f"callbacks must be a sequence, got {callbacks!r}: pass [{callbacks!r}].")
    for callback in callbacks:
        if not callable(callback):
            raise TypeError(f"callbacks must be functions, got {callback!r}.")
    if checked_count("n_jobs", n_jobs) > 1 and executor is None:
        raise ValueError(
            f"n_jobs={n_jobs} needs an executor, such as "
            f"concurrent.futures.ThreadPoolExecutor({n_jobs})."
        )
    if executor is not None and not hasattr(executor, "submit"):
        raise TypeError(f"executor must be a concurrent.futures.Executor, got {executor!r}.")


def _check_some_succeeded(optimizer: Optimizer, num_failed: int) -> None:
    """Checks that not all initial points of a run have failed."""
    enough = num_failed >= max(optimizer.method.num_initial, 1)
    if enough and not any(t.state == "complete" for t in optimizer.trials):
        raise RuntimeError(
            f"all {num_failed} initial points failed. Check the objective; if failures are "
            "frequent, raise num_initial."
        )


def _check_continued(
    optimizer: Optimizer,
    direction: Direction,
    space: SpaceLike | None,
    screening: Screening | None,
    settings: Keywords,
) -> None:
    """Checks that arguments agree with the space, direction and settings of an optimizer."""
    if not isinstance(optimizer, Optimizer):
        raise TypeError(f"optimizer must be an Optimizer, got {optimizer!r}.")
    if optimizer.direction != direction:
        raise ValueError(f"optimizer is to {optimizer.direction}: call {optimizer.direction}.")
    others = [] if screening is None else ["screening"]
    if space is not None and Space(space) != optimizer.space:
        others.append("space")
    others += optimizer.method.contradicted(optimizer.space, settings)
    if others:
        raise ValueError(
            f"optimizer has other values of {', '.join(others)}: leave these out, or make a new "
            "Optimizer with them."
        )


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
    **settings: Unpack[RunKeywords],
) -> Result:
    """Minimizes a function of the parameters of a space.

    The objective is a single number; combine several objectives into one. For a point that violates
    an unknown constraint, return NaN: it counts as the worst value, and feasibility is not modeled.

    An exception that ends the run early, Ctrl-C included, has the attribute ``optimizer``, which
    holds all results so far: continue with ``minimize(objective, optimizer=error.optimizer)``.
    Trials without a value are withdrawn, also if an executor is still evaluating them.

    Args:
        objective: maps a point - a dict by name, or an array (D,) for a plain box - to a number.
            NaN, infinite values and None count as failed evaluations. It may change its argument.
        space: the search space, or what `Space` accepts.
        n_trials: number of points to evaluate, in addition to earlier ones of a continued run.
        optimizer: an optimizer to continue, with its space and settings.
        initial_points: points to evaluate first, a list or a table, such as the settings in use;
            see `Optimizer.enqueue`. They count in n_trials. Repeat a point to see the noise. A
            continued run skips points that it already has.
        screening: a first stage that finds the active parameters, see `Optimizer`.
        storage: an Optuna storage, or the URL of a database such as "sqlite:///runs.db", to which
            every value is written at once. The study is ``result.optimizer.study``. Needs ``pip
            install "structbo[optuna]"``.
        study_name: name of the study in the storage; by default Optuna generates one.
        load_if_exists: whether to continue an existing study, with the same settings. Its running
            trials count as lost, so only one process at a time may use the study; several processes
            can share one with `StructboSampler`.
        timeout: maximum duration of the run in seconds. No new point is asked for if the median
            duration of the last ten trials would exceed it; running evaluations are awaited.
        catch: exceptions of the objective that count as failed evaluations; others are raised.
        callbacks: called with (optimizer, trial) after every evaluation. A callback ends the run by
            raising `StopSearch`, as `StopBelowGain` does.
        executor: a `concurrent.futures.Executor` that runs the evaluations. A process pool needs
            ``mp_context=multiprocessing.get_context("spawn")``: JAX has threads, so forked
            processes may hang.
        n_jobs: number of simultaneous evaluations in the executor.
        show_progress_bar: whether to show progress and the best value.
        settings: settings of the search, such as seed, model and criterion; see `Settings`.

    Returns:
        The best point and value, all trials, and the posterior.

    Raises:
        ValueError: if a number is out of range, space and optimizer are both missing, settings
            contradict the optimizer, the storage cannot be opened or does not match, or the
            objective does not return a number.
        ImportError: if a storage is given and Optuna is not installed.
        TypeError: if a setting is unknown or of the wrong kind.
        RuntimeError: if all initial points failed.

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
    **settings: Unpack[RunKeywords],
) -> Result:
    """Maximizes a function; for arguments and result see `minimize`.

    Example:
        >>> result = maximize(lambda p: p["x"], {"x": (-1.0, 0.0)}, 3, show_progress_bar=False)
        >>> result.best_value <= 0
        True
    """
    return _run("maximize", objective, space, n_trials, **settings)
