"""structbo as a sampler of Optuna: what a proposal depends on is in the study."""

import logging
from collections.abc import Sequence
from threading import Lock
from typing import Any, Unpack

from optuna import Study
from optuna.distributions import BaseDistribution
from optuna.samplers import BaseSampler, RandomSampler
from optuna.search_space import intersection_search_space
from optuna.trial import FrozenTrial, TrialState

from structbo.draws import step_seed
from structbo.integrations.distributions import distribution_of, internal_space, rounded
from structbo.integrations.history import FAILED, PROPOSAL, History, proposal_of
from structbo.models.foundation.arrays import FloatArray
from structbo.optimizer import Engine, Settings, SpaceExhausted
from structbo.optimizer.settings import KEYWORDS, check_names, shows
from structbo.proposal import is_new
from structbo.space import Space, SpaceLike

INDEPENDENT = 2
"""The `use` of `step_seed` that is for parameters outside of the search space."""

_one_proposal = Lock()
"""Compiled samplers are shared by all threads, and are set up while they are traced."""
_logger = logging.getLogger(__name__)


class StructboSampler(BaseSampler):
    """A sampler of Optuna that learns which parameters interact.

    Everything that a proposal depends on is in the study: values, running trials, and the state of
    the Markov chain, which each trial keeps as a system attribute. Random choices derive from the
    seed and the number of trials before. So a study that is continued by one process, after any
    number of breaks, has the trials of one that ran through; several processes continue each
    other's chain. Draws of another `inference` start afresh in every process.

    - The first points are quasi-random, by trial number, as in `structbo.Optimizer`.
    - Running trials are pending points, also in other processes. A trial counts as pending until it
      is lost: its heartbeat has stopped, if the storage has one
      (``optuna.storages.RDBStorage(url, heartbeat_interval=60)``); otherwise, it has run for ten
      minutes, and ten times as long as any trial that finished. The value of a lost trial counts if
      it comes after all.
    - There is one objective: studies of several are refused.
    - A trial whose objective raised an exception or returned NaN counts as one of the worst value;
      so does one that violates a constraint, as there is no model of feasibility. Optuna tells of
      Ctrl-C in the same way. A trial whose process died does not count.
    - A pruned trial has the value of its last report; without any it counts as failed.
    - Without a `space`, points are proposed for the parameters that all complete trials have in
      common, with the same distributions. The other parameters, and the first trial, are random.
    - When all points of a finite space were evaluated, points are random.

    Args:
        space: the search space, or what `structbo.Space` accepts. By default it is found in the
            trials. Only here choices can be `structbo.Ordinal`, and parameters have constraints.
        lost_after: the age in seconds beyond which a running trial is lost, in place of the rule
            above; ``math.inf`` for never.
        settings: how points are found: seed, model, criterion and more, see `structbo.Settings`.

    Raises:
        TypeError: if a setting is unknown.
        ValueError: if Optuna has no distribution for a parameter of the space, or `lost_after` is
            not a positive number.

    Example:
        >>> import optuna
        >>> optuna.logging.set_verbosity(optuna.logging.WARNING)
        >>> study = optuna.create_study(sampler=StructboSampler(seed=0))
        >>> study.optimize(lambda trial: trial.suggest_float("x", -1.0, 1.0) ** 2, n_trials=3)
        >>> len(study.trials)
        3
    """

    @shows(KEYWORDS)
    def __init__(
        self,
        space: SpaceLike | None = None,
        *,
        lost_after: float | None = None,
        **settings: Unpack[Settings],
    ) -> None:
        check_names(settings)
        if lost_after is not None and not (isinstance(lost_after, int | float) and lost_after > 0):
            raise ValueError(f"lost_after must be a number of seconds above 0, got {lost_after!r}.")
        self._space = None if space is None else Space(space)
        self._lost_after = lost_after
        self._settings = settings
        self._seed = settings.get("seed", 0)
        self._engine: Engine | None = None
        self._independent: set[str] = set()
        self._distributions: dict[str, BaseDistribution] = {}
        if self._space is not None:
            pairs = zip(self._space.names, self._space.parameters, strict=True)
            self._distributions = {name: distribution_of(name, p) for name, p in pairs}
            self._engine_for(self._distributions)

    @property
    def engine(self) -> Engine | None:
        """What made the last proposal; its space has Optuna's internal representation."""
        return self._engine

    def infer_relative_search_space(
        self, study: Study, trial: FrozenTrial
    ) -> dict[str, BaseDistribution]:
        self._raise_error_if_multi_objective(study)
        if self._space is not None:
            return dict(self._distributions)
        common = intersection_search_space(study.get_trials(deepcopy=False))
        return {name: found for name, found in common.items() if not found.single()}

    def sample_relative(
        self, study: Study, trial: FrozenTrial, search_space: dict[str, BaseDistribution]
    ) -> dict[str, Any]:
        self._raise_error_if_multi_objective(study)
        if not search_space:
            return {}
        with _one_proposal:
            engine = self._engine_for(search_space)
            history = self._history(study, trial, search_space)
            while True:
                try:
                    point = _next_point(engine, history)
                except SpaceExhausted:
                    pairs = search_space.items()
                    return {name: self._random(study, trial, name, found) for name, found in pairs}
                (row,) = engine.space.from_unit(point)
                params = {name: rounded(found, row[name]) for name, found in search_space.items()}
                chain = None if engine.chain is None else engine.chain.saved()
                proposal = proposal_of(params, chain)
                # Of two processes that propose a point at a time, at least one sees that of the
                # other, as both write theirs before they look. Who sees another's looks further.
                study._storage.set_trial_system_attr(trial._trial_id, PROPOSAL, proposal)
                history = self._history(study, trial, search_space)
                if is_new(point, history.known).all():
                    break
        return {name: found.to_external_repr(params[name]) for name, found in search_space.items()}

    def sample_independent(
        self,
        study: Study,
        trial: FrozenTrial,
        param_name: str,
        param_distribution: BaseDistribution,
    ) -> Any:
        self._raise_error_if_multi_objective(study)
        if trial.number > 0 and param_name not in self._independent:
            self._independent.add(param_name)
            _logger.warning(
                "Parameter %r is random, from trial %d on for as long as not all complete trials "
                "have it with the same distribution.",
                param_name,
                trial.number,
            )
        return self._random(study, trial, param_name, param_distribution)

    def after_trial(
        self,
        study: Study,
        trial: FrozenTrial,
        state: TrialState,
        values: Sequence[float] | None,
    ) -> None:
        if state == TrialState.FAIL:
            study._storage.set_trial_system_attr(trial._trial_id, FAILED, True)

    def reseed_rng(self) -> None:
        """Does nothing: different trials have different random numbers, in all processes."""

    def _random(
        self, study: Study, trial: FrozenTrial, name: str, distribution: BaseDistribution
    ) -> Any:
        """A value that is drawn uniformly."""
        number = int.from_bytes(name.encode(), "big")
        seed = step_seed(self._seed, trial.number, use=INDEPENDENT + number)
        return RandomSampler(seed=seed).sample_independent(study, trial, name, distribution)

    def _history(
        self, study: Study, trial: FrozenTrial, search_space: dict[str, BaseDistribution]
    ) -> History:
        space = self._engine_for(search_space).space
        return History.of(study, trial, search_space, space, self._lost_after)

    def _engine_for(self, search_space: dict[str, BaseDistribution]) -> Engine:
        """The engine of a search space, which is kept for as long as that does not change."""
        space = internal_space(search_space, self._space)
        if self._engine is None or self._engine.space != space:
            self._engine = Engine(space, **self._settings)
        return self._engine


def _next_point(engine: Engine, history: History) -> FloatArray:
    """A point of the unit cube, shape (1, D), by the chain of the study."""
    if engine.chain is not None:
        engine.chain.restore(history.chain)
    x, y, pending = history.x, history.y, history.pending
    return engine.propose(x, y, pending, 1, sem=history.sem, num_before=history.num_before)
