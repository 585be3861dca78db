"""An optimizer with its trials in an Optuna study."""

import math
from collections.abc import Container
from typing import Any, Unpack, overload

import numpy as np
from optuna import Study, create_trial
from optuna.distributions import BaseDistribution, check_distribution_compatibility
from optuna.trial import FrozenTrial, TrialState

from structbo.data import Trial, unit_points
from structbo.integrations.distributions import distribution_of
from structbo.integrations.history import (
    ENQUEUED,
    FAILED,
    SEM,
    counts,
    direction_of,
    known_params,
    known_value,
)
from structbo.integrations.liveness import lost_trials
from structbo.integrations.optuna import StructboSampler
from structbo.models.foundation.arguments import checked_count
from structbo.optimizer import Keywords, Optimizer
from structbo.optimizer.lookup import Told, number_to_tell
from structbo.space import SpaceLike
from structbo.space.differing_names import faults_of
from structbo.space.long_lists import first_names, first_of


class StudyOptimizer(Optimizer):
    """Bayesian optimization by ask and tell, with the trials of an Optuna study.

    It proposes the same points as an `Optimizer` with the same settings. It asks the study for each
    point and sets its sampler to a `StructboSampler`. When `tell` returns, the value is in the
    storage of the study.

    Args:
        study: a study with one objective, without trials of other parameters.
        space: the search space, or what `structbo.Space` accepts.
        settings: how points are found: seed, model, criterion and more, see `structbo.Settings`.
            The points of a batch are chosen one by one, with the earlier ones pending.

    Raises:
        ValueError: if a trial of the study is outside the space, Optuna has no distribution for a
            parameter, or a setting is out of range.
        TypeError: if a setting is unknown or of the wrong kind.
    """

    def __init__(self, study: Study, space: SpaceLike, **settings: Unpack[Keywords]) -> None:
        super().__init__(space, direction_of(study), **settings)
        self._distributions = {n: distribution_of(n, p) for n, p in self.space.spec.items()}
        self._sampler = StructboSampler(self.space, **settings)
        self._asked: set[int] = set()
        self.study = study
        study.sampler = self._sampler
        self.read()

    def read(self) -> None:
        """Reads the trials of the study. Lost trials of other processes count as withdrawn."""
        frozen = self.study.get_trials(deepcopy=False)
        lost = lost_trials(self.study, [one for one in frozen if counts(one)]) - self._asked
        final = {t.number: t for t in self._trials if t.state == "complete"}
        self._trials = [
            final.get(one.number) or self._trial(one, is_lost=one.number in lost) for one in frozen
        ]
        self._enqueued = {one.number for one in frozen if ENQUEUED in one.system_attrs}

    @overload
    def ask(self) -> Trial: ...
    @overload
    def ask(self, n: int) -> list[Trial]: ...
    def ask(self, n: int | None = None) -> Trial | list[Trial]:
        count = 1 if n is None else checked_count("n", n)
        self.read()
        before = {t.number for t in self._trials if t.state == "pending"}
        missing = count - sum(t.state == "waiting" for t in self._trials)
        if missing > 0:
            known = [t.params for t in self._trials if t.state != "withdrawn"]
            self._engine.check_room(unit_points(self.space, known, "params"), missing)
        try:
            asked = [self.study.ask(self._distributions).number for _ in range(count)]
        except BaseException:
            self.withdraw_running(besides=before)
            raise
        self._engine = self._sampler.engine or self._engine
        self._asked.update(asked)
        self.read()
        trials = [self._trials[number] for number in asked]
        return trials[0] if n is None else trials

    def tell(self, trial: Trial | int | Any, value: Told = None) -> Trial:
        known, sem = self._told_value(value)
        self.read()
        is_lost = self._is_lost(trial)
        number = None if is_lost else number_to_tell(trial, self._trials, self.space)
        if number is not None and self._trials[number].state == "waiting":
            self._start(self._trials[number])
        if number is None:
            number = self._add(trial.params if isinstance(trial, Trial) else trial, known, sem)
        elif math.isfinite(known):
            self._keep_error(number, sem)
            self.study.tell(number, known)
        else:
            self.study.tell(number, state=TrialState.FAIL)
        self.read()
        self._log(self._trials[number])
        return self._trials[number]

    def enqueue(self, point: Any) -> Trial:
        self.read()
        params = self._by_name(point, "point")
        number = self._create(state=TrialState.WAITING, system_attrs={ENQUEUED: params})
        self.read()
        return self._trials[number]

    def withdraw(self, trial: Trial | int) -> Trial:
        self.read()
        number = super().withdraw(trial).number
        self._lose(self.study.get_trials(deepcopy=False)[number])
        self.read()
        return self._trials[number]

    def check_parameters(self) -> None:
        """Raises ValueError if Optuna refuses further trials of this space in the study."""
        stored: dict[str, BaseDistribution] = {}
        for frozen in self.study.get_trials(deepcopy=False):
            stored |= frozen.distributions
        for name in stored.keys() & self._distributions.keys():
            old, new = stored[name], self._distributions[name]
            try:
                check_distribution_compatibility(old, new)
            except ValueError:
                raise ValueError(
                    f"parameter {name!r} is {old} in study {self.study.study_name!r}, and {new} in "
                    "the space: a study keeps the type, the scale and the choices of a parameter. "
                    "Pass another study_name."
                ) from None

    def withdraw_running(self, besides: Container[int] = ()) -> None:
        """Withdraws all running trials, except for the given numbers."""
        for frozen in self.study.get_trials(deepcopy=False):
            if frozen.state == TrialState.RUNNING and frozen.number not in besides:
                self._lose(frozen)
        self.read()

    def _lose(self, frozen: FrozenTrial) -> None:
        """Sets a trial to the state of one whose process has died, or returns it to the queue."""
        waits_again = frozen.state == TrialState.RUNNING and ENQUEUED in frozen.system_attrs
        state = TrialState.WAITING if waits_again else TrialState.FAIL
        self.study._storage.set_trial_state_values(frozen._trial_id, state)

    def _is_lost(self, trial: Any) -> bool:
        """Whether a trial was withdrawn, perhaps by a process that took this one for dead."""
        if not isinstance(trial, Trial) or trial.number >= len(self._trials):
            return False
        state = self._trials[trial.number].state
        return state == "withdrawn" or (state == "waiting" and trial.state == "pending")

    def _start(self, waiting: Trial) -> None:
        """Takes a trial from the queue, as if it was asked for."""
        storage, params = self.study._storage, self._by_name(waiting.params, "params")
        trial_id = storage.get_trial_id_from_study_id_trial_number(
            self.study._study_id, waiting.number
        )
        storage.set_trial_state_values(trial_id, TrialState.RUNNING)
        for name, one in self._distributions.items():
            storage.set_trial_param(trial_id, name, one.to_internal_repr(params[name]), one)

    def _keep_error(self, number: int, sem: float | None) -> None:
        """Stores a standard error before the value, since a complete trial is final."""
        if sem is not None:
            trial_id = self.study.get_trials(deepcopy=False)[number]._trial_id
            self.study._storage.set_trial_system_attr(trial_id, SEM, sem)

    def _add(self, point: Any, value: float, sem: float | None) -> int:
        """Adds a trial that was not asked for, and returns its number."""
        is_finite = math.isfinite(value)
        attributes = {} if sem is None else {SEM: sem}
        return self._create(
            state=TrialState.COMPLETE if is_finite else TrialState.FAIL,
            value=value if is_finite else None,
            params=self._by_name(point, "trial"),
            distributions=self._distributions,
            system_attrs=attributes if is_finite else {FAILED: True},
        )

    def _create(self, **fields: Any) -> int:
        """Creates a trial of the study, and returns its number."""
        storage = self.study._storage
        return storage.get_trial_number_from_id(
            storage.create_new_trial(self.study._study_id, template_trial=create_trial(**fields))
        )

    def _by_name(self, point: Any, name: str) -> dict[str, Any]:
        return self.space.by_name(self.space.as_legal([point], name=name)[0])

    def _trial(self, frozen: FrozenTrial, *, is_lost: bool) -> Trial:
        """A trial of the study; one without a point or a value may count as withdrawn."""
        number, names = frozen.number, self.space.columns
        named = self.space.fixed | known_params(frozen, self._distributions)
        is_told = frozen.state.is_finished() and counts(frozen)
        missing = [name for name in names if name not in named]
        unknown = [name for name in named if name not in names]
        has_failed = frozen.state in (TrialState.FAIL, TrialState.PRUNED)
        if (unknown or (missing and is_told)) and not has_failed:
            raise ValueError(
                f"space must have the parameters of study {self.study.study_name!r}, whose trial "
                f"{number} has {first_names(list(named))}; {first_of(faults_of(names, named))}."
            )
        if missing or unknown:
            return Trial(number, named, state="withdrawn")
        values = [named[name] for name in names]
        params = np.array(values) if self.space.is_box else dict(zip(names, values, strict=True))
        if is_told:
            unit_points(self.space, [params], f"trial {number} of {self.study.study_name!r}")
            return Trial(number, params).told(known_value(frozen), frozen.system_attrs.get(SEM))
        if frozen.state == TrialState.WAITING:
            return Trial(number, params, state="waiting")
        is_pending = counts(frozen) and not is_lost
        return Trial(number, params, state="pending" if is_pending else "withdrawn")
