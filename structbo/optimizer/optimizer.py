"""Ask and tell: an optimizer that keeps its trials and the Markov chain between calls."""

import math
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, Unpack, cast, overload

import numpy as np
from jaxtyping import Float

from structbo.data import (
    Direction,
    Trial,
    trial_values,
    trials_in,
    unit_points,
    with_worst,
)
from structbo.draws import Draws, check_known_noise
from structbo.models.foundation.arguments import checked_count
from structbo.models.foundation.precision import KeepsPrecision
from structbo.optimizer.engine import Engine
from structbo.optimizer.first_stage import FirstStage
from structbo.optimizer.lookup import Told, number_of, number_to_tell, told_value
from structbo.optimizer.ranking import Estimate, best_estimates
from structbo.optimizer.record import Record
from structbo.optimizer.settings import KEYWORDS, Keywords, Settings, shows
from structbo.posterior import Posterior, Units, anova_model, fit
from structbo.samplers import default_sampler
from structbo.screening import Screening
from structbo.space import SpaceLike

NUM_SAMPLES = 150
"""Draws of each of the four chains of `Optimizer.posterior`."""


class Optimizer(Record, KeepsPrecision):
    """Bayesian optimization by ask and tell.

    Every told trial is logged by the logger "structbo", at level INFO.

    Args:
        space: the search space, or what `Space` accepts.
        direction: whether small or large values are good, "minimize" or "maximize".
        screening: a first stage that finds the active parameters, such as
            `HierarchicalDiagonalSampling`, on the same space without constraints. Its earlier
            trials are included. Once it is done and all its trials are told or withdrawn, its model
            is used unless a model is given; until then, further points are quasi-random.
        settings: settings of the search, such as seed, model and criterion; see `Settings`.

    Raises:
        ValueError: if a setting is out of range.
        TypeError: if a setting is unknown or of the wrong kind.

    Example:
        >>> optimizer = Optimizer({"x": (-1.0, 1.0)}, seed=0)
        >>> for _ in range(3):
        ...     trial = optimizer.ask()
        ...     trial = optimizer.tell(trial, trial.params["x"] ** 2)
        >>> optimizer.best.value == min(t.value for t in optimizer.trials)
        True
    """

    @shows(KEYWORDS)
    def __init__(
        self,
        space: SpaceLike,
        direction: Direction = "minimize",
        *,
        screening: Screening | None = None,
        **settings: Unpack[Keywords],
    ) -> None:
        super().__init__(space, direction)
        self._settings = settings
        self._engine = Engine(self.space, **settings)
        self._enqueued: set[int] = set()
        self._posterior: tuple[int, Posterior] | None = None
        self._num_expected = math.inf
        self._first_stage = FirstStage(screening, self.space)
        self._trials += self._first_stage.trials

    @property
    def method(self) -> Settings:
        """All settings, with instances in place of names."""
        return self._engine.method

    @contextmanager
    def expecting(self, num_evaluations: int) -> Iterator[None]:
        """Announces the maximum number of evaluations, to avoid compilation for more.

        Args:
            num_evaluations: maximum number of evaluations, including told ones.

        Example:
            >>> optimizer = Optimizer({"x": (0.0, 1.0)}, seed=0)
            >>> with optimizer.expecting(1):
            ...     trial = optimizer.tell(optimizer.ask(), 0.5)
        """
        before, self._num_expected = self._num_expected, num_evaluations
        try:
            yield
        finally:
            self._num_expected = before

    @overload
    def ask(self) -> Trial: ...
    @overload
    def ask(self, n: int) -> list[Trial]: ...
    def ask(self, n: int | None = None) -> Trial | list[Trial]:
        """Returns queued points, then proposed ones; all are pending until they are told.

        Args:
            n: number of points; by default one.

        Returns:
            A trial, or a list of n trials if n is given.

        Raises:
            SpaceExhausted: if a finite space has too few new points.
        """
        count = 1 if n is None else checked_count("n", n)
        self._end_first_stage()
        first = len(self._trials)
        queue = [t.number for t in self._trials if t.state == "waiting"][:count]
        points = self._first_stage.next_points(count - len(queue))
        from_screening = range(first, first + len(points))
        if missing := count - len(queue) - len(points):
            pending = [t for t in self._trials if t.state == "pending" or t.number in queue]
            points += self._proposed(missing, [*(t.params for t in pending), *points])
        self._first_stage.take(from_screening)
        self._trials += [Trial(first + i, params) for i, params in enumerate(points)]
        for number in queue:
            self._trials[number] = replace(self._trials[number], state="pending")
        asked = [self._trials[number] for number in queue] + self._trials[first:]
        return asked[0] if n is None else asked

    def enqueue(self, point: Any) -> Trial:
        """Adds a point to the queue, which is asked for before any proposal.

        Args:
            point: a point in the format of ``params``. It may have been evaluated before.

        Returns:
            The waiting trial. `ask` makes it pending; `withdraw` removes it from the queue.

        Raises:
            ValueError: if the point is outside the space.

        Example:
            >>> optimizer = Optimizer({"x": (-1.0, 1.0)})
            >>> trial = optimizer.enqueue({"x": 0.25})
            >>> optimizer.ask().params
            {'x': 0.25}
        """
        params = self.space.as_legal([point], name="point")[0]
        self._trials.append(Trial(len(self._trials), params, state="waiting"))
        self._enqueued.add(len(self._trials) - 1)
        return self._trials[-1]

    def _end_first_stage(self) -> None:
        """Takes over the model of the first stage when it is over."""
        screening = self._first_stage.screening
        if screening is None or not self._first_stage.is_over:
            return
        if self._settings.get("model") is None:
            given = {k: v for k, v in self._settings.items() if k != "model"}
            self._settings = cast(Keywords, screening.settings() | given)
            self._engine = Engine(self.space, **self._settings)
        self._first_stage = FirstStage(None, self.space)

    def _proposed(self, n: int, pending: list[Any]) -> list[Any]:
        """Points proposed by the engine, which has no model during the first stage."""
        x, y, sem = self._table(self._told)
        waiting = unit_points(self.space, pending, "params")
        if self._first_stage.screening is not None:
            # Without values, points are quasi-random.
            points = self._engine.propose(x[:0], y[:0], np.concatenate([x, waiting]), n)
        else:
            points = self._engine.propose(x, y, waiting, n, sem=sem)
            if len(x):  # the first evaluation, which may fail at once, does not wait
                num_pending = len(pending) + n
                self._engine.prepare(x, num_pending, sem=sem, num_expected=self._num_expected)
        return list(self.space.from_unit(points))

    def tell(self, trial: Trial | int | Any, value: Told = None) -> Trial:
        """Reports the objective at a point.

        Args:
            trial: a trial that was asked for, its number, its ``params``, or any other point of the
                space in their format. A value at a point of the queue completes the waiting trial.
            value: the objective; None, NaN or infinite for a failed evaluation. For the mean of
                several evaluations, pass ``(mean, sem)`` with its standard error, whose square adds
                to the learned noise at this point.

        Returns:
            The trial as it is kept.

        Raises:
            ValueError: if the trial is unknown or already told, the point is outside the space, or
                the value is not a number. Nothing told before is lost.
            TypeError: if there is a standard error and the model does not take known noise.
        """
        known, sem = self._told_value(value)
        number = number_to_tell(trial, self._trials, self.space)
        if number is None:
            params = self.space.as_legal([trial], name="trial")[0]
            told = Trial(len(self._trials), params).told(known, sem)
            self._trials.append(told)
        else:
            told = self._trials[number] = self._trials[number].told(known, sem)
            self._first_stage.tell(told)
        self._log(told)
        return told

    def _told_value(self, value: Any) -> tuple[float, float | None]:
        """A value and its standard error, if any; checks that the model takes known noise."""
        known, sem = told_value(value)
        if sem is not None:
            check_known_noise(self.method.model, self.space.num_dims)
        return known, sem

    def tell_frame(self, frame: Any) -> list[Trial]:
        """Reports a table of trials, such as from `to_frame`, of this run or another one.

        Args:
            frame: a DataFrame with a column for every parameter, and the column value, with NaN or
                "failed" for failed evaluations. Optional columns are sem, of standard errors, and
                state: "pending" and "waiting" trials without a value are enqueued, unless they are
                pending or waiting here, and "withdrawn" ones are ignored. An empty state means
                "pending". Other columns, such as dates or remarks, are ignored.

        Returns:
            The trials with values and the enqueued ones. They are new, or have completed pending or
            waiting trials at their points.

        Raises:
            ValueError: if a column is missing, a point is outside the space, or a value or a state
                is none. In this case no trial is added.
            TypeError: if there is a standard error and the model does not take known noise.

        Warns:
            UserWarning: if there are other columns; the message names them.
        """
        trials = trials_in(frame, self.space)
        if any(t.sem is not None for t in trials):
            check_known_noise(self.method.model, self.space.num_dims)
        changed = []
        for trial in trials:
            if trial.is_told:
                changed.append(self.tell(trial.params, (trial.value, trial.sem)))
            elif number_of(trial.params, self._trials, self.space, ("pending", "waiting")) is None:
                changed.append(self.enqueue(trial.params))
        return changed

    def withdraw(self, trial: Trial | int) -> Trial:
        """Withdraws a pending or waiting trial whose objective is unknown.

        Use it for interrupted or lost evaluations. Report a *failed* evaluation by ``tell(trial)``,
        which keeps the optimizer away from that point. A pending trial from the queue returns to
        the queue; a waiting one is withdrawn for good.

        Args:
            trial: a trial that was asked for or enqueued, or its number.

        Returns:
            The trial as it is kept.
        """
        number = number_of(trial, self._trials, self.space, ("pending", "waiting"))
        if number is None:
            raise ValueError(f"trial must be a trial that was asked for, or its number: {trial!r}.")
        own = self._trials[number]
        waits_again = own.state == "pending" and number in self._enqueued
        self._trials[number] = replace(own, state="waiting" if waits_again else "withdrawn")
        self._first_stage.tell(self._trials[number])
        self._log(self._trials[number])
        return self._trials[number]

    def score(self, points: Any) -> tuple[Float[np.ndarray, " m"], Float[np.ndarray, " m"]]:
        """The criterion of the last ask at given points; higher is better.

        The first point of that ask maximizes it. The Monte Carlo errors show whether a difference
        between two points may be due to the draws alone.

        Args:
            points: m points, in the format of ``params`` or as a table of them.

        Returns:
            The criterion averaged over posterior draws, and the error of that mean, as if draws
            were independent. For "interior_ei", "log_ei", "log_eqi" and "log_pi" the scores are
            logarithms, their errors relative.

        Raises:
            ValueError: if no point was asked of the model yet, or a point is outside the space.
        """
        return self._engine.score(unit_points(self.space, points, "points"))

    @property
    def draws(self) -> Draws | None:
        """The draws that the criterion of the last ask was averaged over.

        Values of all sites by name, such as ``draws["Z"]`` for the edges of graphs, with the draws
        along the first axis. A search keeps few of them; `posterior` has enough for inference. None
        while points are quasi-random.
        """
        return self._engine.draws

    @property
    def expected_gain(self) -> float | None:
        """The expected improvement of the last asked point over the best posterior mean.

        It is in the units of the objective, averaged over posterior draws, before the evaluation of
        the point. The default criterion weights it less at the ends of the ranges. For a batch, it
        is the gain of the first point. None while points are quasi-random.

        Raises:
            ValueError: if the criterion is not "interior_ei", "log_ei" or "log_eqi".
        """
        return self._engine.expected_gain

    def best_trials(self, n: int = 1) -> list[Estimate]:
        """The complete trials with the best posterior means, best first, one per point.

        Under noise, posterior means are better estimates than values: they use the values of other
        points, and the best of many values is biased. They rely on the model: without noise, and
        with few values, `best` is safer. It takes as long as `posterior`.

        Args:
            n: maximum number of trials.

        Raises:
            ValueError: if fewer than two trials are complete.
        """
        n = checked_count("n", n)
        return best_estimates(self._complete, self.posterior, self._sign)[:n]

    @property
    def will_compile(self) -> bool:
        """Whether the next `ask` waits for compilation.

        This is the case for the last quasi-random points, for the first proposal by the model, and
        when the number of observations outgrows a padded size. It takes seconds, or a minute on a
        busy machine; existing programs of this process or of `keep_programs` are not compiled
        again.
        """
        is_first_stage = self._first_stage.screening is not None
        num_pending = sum(t.state == "pending" for t in self._trials)
        values = trial_values(self._told)
        return not is_first_stage and self._engine.will_compile(values, num_pending)

    @property
    def posterior(self) -> Posterior:
        """Posterior draws of structure and hyper-parameters given everything told so far.

        The model is `anova_model`, whose edges are interactions, unless the optimizer was given
        another one; the search itself uses the faster `default_model`. Values are transformed as in
        the search. The first access after new values runs four chains with `fit`, in which failures
        have the worst value. This takes a while; a terminal shows a progress bar after some
        seconds. Points and values are in the units of the optimizer, see `Posterior`.

        Raises:
            ValueError: if fewer than two trials are complete.
        """
        told = self._told
        if len(self._complete) < 2:
            raise ValueError("the posterior needs at least two complete trials; tell more values.")
        if self._posterior is None or self._posterior[0] != len(told):
            x, y, sem = self._table(told)
            y = with_worst(y)
            transform = self._engine.transform(x, y, sem)
            own = self._settings.get("model")
            found = fit(
                anova_model(self.space) if own is None else own,
                x,
                transform(y),
                sem=None if sem is None else transform.errors(sem, y),
                num_samples=NUM_SAMPLES,
                sampler=self.method.sampler or default_sampler,
                seed=self.method.seed,
                show_progress_bar=sys.stderr.isatty(),
                names=self.space.names,
                device=self.method.device,
            )
            units = Units(self.space, transform._replace(sign=self._sign))
            self._posterior = len(told), replace(found, units=units)
        return self._posterior[1]
