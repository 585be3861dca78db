"""structbo as a sampler of Optuna, with all its state in the study."""

import logging
from collections.abc import Sequence
from threading import Lock
from typing import Any, Unpack

from optuna import Study
from optuna.distributions import BaseDistribution
from optuna.samplers import BaseSampler, RandomSampler
from optuna.trial import FrozenTrial, TrialState

from structbo.draws import step_seed
from structbo.integrations.distributions import contains, distribution_of, internal_space, rounded
from structbo.integrations.history import FAILED, PROPOSAL, History, proposal_of
from structbo.integrations.search_space import union_search_space
from structbo.integrations.stored_space import store_space
from structbo.models.foundation.arrays import FloatArray
from structbo.optimizer import Engine, Keywords, SpaceExhausted
from structbo.optimizer.settings import KEYWORDS, Settings, shows
from structbo.proposal import is_new
from structbo.space import Space, SpaceLike

INDEPENDENT = 2
"""The `use` argument of `step_seed` for parameters outside the search space."""

_one_proposal = Lock()
"""Threads of a study share an engine, and the handlers of NumPyro belong to no thread."""
_logger = logging.getLogger(__name__)


class StructboSampler(BaseSampler):
    """A sampler of Optuna that learns which parameters interact.

    **Trials.** The first points are quasi-random, by trial number, as in `structbo.Optimizer`; the
    others come from the model. When every point of a finite space is evaluated, points are random.

    - The study has one objective: studies with several are refused.
    - A trial counts as having the worst value if its objective raises an exception or returns NaN,
      or if it violates a constraint, since there is no model of feasibility. Optuna reports Ctrl-C
      in the same way. A trial whose process died does not count.
    - A pruned trial has the value of its last report; without a report it counts as failed.
    - Running trials are pending points, also in other processes, until they are lost. A trial is
      lost when its heartbeat stops, if the storage has one
      (``optuna.storages.RDBStorage(url, heartbeat_interval=60)``). Otherwise, it is lost after ten
      times the longest duration in the study, but not before ten minutes. If a lost trial is told
      its value after all, the value counts.

    **Search space.** Without a `space`, it holds all parameters of the complete trials. A parameter
    is random in the first trial that asks for it.

    - Parameters may exist in some trials only. The sampler learns when: a parameter exists if
      choices, and integers with at most 64 values, have values that it was observed with. One model
      covers all parameters, and a missing one has a constant coordinate. A choice is therefore
      optimized together with the parameters that depend on it. A parameter whose existence depends
      on anything else stays random, and a warning names it.
    - Ranges may vary. Proposals span all ranges of a parameter, until ten trials in a row have the
      same range. If the range in a trial does not contain the proposed value, a random value
      replaces it.

    **Time.** The first proposal by the model waits until the model is compiled, which may take a
    minute. The wait recurs when the search space gains a parameter or the number of trials outgrows
    the compiled size. The logger ``structbo`` announces each wait at level INFO.

    **Processes.** Everything that a proposal depends on is in the study: values, running trials,
    and the state of the Markov chain, which each trial keeps as a system attribute. Random choices
    derive from the seed and the number of trials before. A study that a single process interrupts
    and continues therefore has the same trials as an uninterrupted one. Several processes continue
    each other's chain. Draws of another `inference` restart in every process.

    Args:
        space: the search space, or what `structbo.Space` accepts; by default found in the trials.
            A given space may have `structbo.Ordinal` choices and constraints.
        lost_after: the age in seconds beyond which a running trial is lost, in place of the rule
            above; ``math.inf`` for never.
        settings: settings of the search, such as seed, model and criterion; see
            `structbo.Settings`.

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
        **settings: Unpack[Keywords],
    ) -> None:
        # The parameters may be known at the first trial only, but settings are checked now.
        others: Keywords = {**settings, "model": None}
        Settings.of(Space([(0.0, 1.0)]), **others)
        if lost_after is not None and not (isinstance(lost_after, int | float) and lost_after > 0):
            raise ValueError(f"lost_after must be a number of seconds above 0, got {lost_after!r}.")
        self._space = None if space is None else Space(space)
        self._lost_after = lost_after
        self._settings = settings
        self._seed = settings.get("seed", 0)
        self._engine: Engine | None = None
        self._unexplained: frozenset[str] = frozenset()
        self._warned: set[str] = set()
        self._distributions: dict[str, BaseDistribution] = {}
        if self._space is not None:
            pairs = zip(self._space.names, self._space.parameters, strict=True)
            self._distributions = {name: distribution_of(name, p) for name, p in pairs}
            self._engine_for(self._distributions)

    @property
    def engine(self) -> Engine | None:
        """The engine of the last proposal, whose space has Optuna's internal representation."""
        return self._engine

    def before_trial(self, study: Study, trial: FrozenTrial) -> None:
        if self._space is not None:
            store_space(study, self._space)

    def infer_relative_search_space(
        self, study: Study, trial: FrozenTrial
    ) -> dict[str, BaseDistribution]:
        self._raise_error_if_multi_objective(study)
        if self._space is not None:
            return dict(self._distributions)
        return union_search_space(study.get_trials(deepcopy=False, states=(TrialState.COMPLETE,)))

    def sample_relative(
        self, study: Study, trial: FrozenTrial, search_space: dict[str, BaseDistribution]
    ) -> dict[str, Any]:
        self._raise_error_if_multi_objective(study)
        if not search_space:
            return {}
        with _one_proposal:
            engine = self._engine_for(search_space)
            history = self._history(study, trial, search_space)
            self._unexplained = history.unexplained
            if engine.is_modeled(history.y) and engine.will_compile(history.y):
                _logger.info(
                    "Trial %d: compiling a model of %d parameters, which may take a minute.",
                    trial.number,
                    engine.space.num_dims,
                )
            while True:
                try:
                    point = _next_point(engine, history)
                except SpaceExhausted:
                    pairs = search_space.items()
                    return {name: self._random(study, trial, name, found) for name, found in pairs}
                params = _params(engine, point, search_space)
                chain = None if engine.chain is None else engine.chain.saved()
                proposal = proposal_of(params, chain)
                # If two processes propose the same point at once, at least one sees the other's
                # proposal, since both write before they read. That process proposes again.
                study._storage.set_trial_system_attr(trial._trial_id, PROPOSAL, proposal)
                history = self._history(study, trial, search_space)
                if is_new(point, history.known).all():
                    break
        return {
            name: search_space[name].to_external_repr(value)
            for name, value in params.items()
            if value is not None
        }

    def sample_independent(
        self,
        study: Study,
        trial: FrozenTrial,
        param_name: str,
        param_distribution: BaseDistribution,
    ) -> Any:
        self._raise_error_if_multi_objective(study)
        if self._space is not None and param_name in self._space.fixed:
            return self._fixed(param_name, param_distribution)
        proposal = trial.system_attrs.get(PROPOSAL)
        if proposal is not None and param_name in proposal["params"]:
            self._warn_once(trial, param_name, proposal["params"][param_name])
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
        """Does nothing: random numbers depend on the trial, not on the process."""

    def _warn_once(self, trial: FrozenTrial, name: str, proposed: float | None) -> None:
        """Logs why a parameter of the search space is random."""
        reason = (
            "its range there does not contain the proposed value"
            if proposed is not None
            else "no choice or integer in the trials tells when it exists"
        )
        is_expected = proposed is None and name not in self._unexplained
        if not is_expected and name not in self._warned:
            self._warned.add(name)
            _logger.warning("Parameter %r is random in trial %d: %s.", name, trial.number, reason)

    def _fixed(self, name: str, distribution: BaseDistribution) -> Any:
        """The fixed value of a parameter, which a trial suggests all the same."""
        assert self._space is not None
        value = self._space.fixed[name]
        if not contains(distribution, value):
            raise ValueError(
                f"parameter {name!r} is fixed at {value!r} in the space of the sampler, and a "
                f"trial suggests it from {distribution}: give both the same values."
            )
        return value

    def _random(
        self, study: Study, trial: FrozenTrial, name: str, distribution: BaseDistribution
    ) -> Any:
        """A value drawn uniformly."""
        number = int.from_bytes(name.encode(), "big")
        seed = step_seed(self._seed, trial.number, use=INDEPENDENT + number)
        return RandomSampler(seed=seed).sample_independent(study, trial, name, distribution)

    def _history(
        self, study: Study, trial: FrozenTrial, search_space: dict[str, BaseDistribution]
    ) -> History:
        space = self._engine_for(search_space).space
        return History.of(study, trial, search_space, space, self._lost_after)

    def _engine_for(self, search_space: dict[str, BaseDistribution]) -> Engine:
        """The engine of a search space, reused while the space does not change."""
        space = internal_space(search_space, self._space)
        if self._engine is None or self._engine.space != space:
            self._engine = Engine(space, **self._settings)
        return self._engine


def _next_point(engine: Engine, history: History) -> FloatArray:
    """A point of the unit cube, shape (1, D), proposed with the chain of the study."""
    if engine.chain is not None:
        engine.chain.restore(history.chain)
    return engine.propose(
        history.x,
        history.y,
        history.pending,
        1,
        sem=history.sem,
        num_before=history.num_before,
        conditions=history.conditions,
    )


def _params(
    engine: Engine, point: FloatArray, search_space: dict[str, BaseDistribution]
) -> dict[str, float | None]:
    """The parameters of a point (1, D), in the internal representation; None for missing ones."""
    (row,), (exists,) = engine.space.from_unit(point), engine.existing(point)
    return {
        name: rounded(search_space[name], row[name]) if is_there else None
        for name, is_there in zip(engine.space.names, exists, strict=True)
    }
