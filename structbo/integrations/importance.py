"""Optuna's importances, from functions drawn from the posterior."""

from collections.abc import Callable
from typing import Any

from optuna import Study
from optuna.distributions import BaseDistribution
from optuna.importance import BaseImportanceEvaluator
from optuna.trial import FrozenTrial, TrialState

from structbo.integrations.distributions import space_of
from structbo.integrations.history import direction_of
from structbo.integrations.search_space import common_search_space
from structbo.integrations.stored_space import stored_ordinals
from structbo.models import AdditiveGP
from structbo.optimizer import Optimizer
from structbo.posterior import Importances


class StructboImportanceEvaluator(BaseImportanceEvaluator):
    """Sobol's total indices: the share of the variance of all terms with a parameter.

    They are averages over functions drawn from the posterior given the complete trials. They refer
    to the whole range of every parameter, not only to sampled regions. `importances` adds intervals
    and shares of pairs.

    Args:
        model: a NumPyro model; by default the one of `structbo.Optimizer.posterior`.
        seed: seed of all random choices.

    Example:
        >>> import optuna
        >>> evaluator = StructboImportanceEvaluator(seed=0)
        >>> study = optuna.create_study()
        >>> optuna.importance.get_param_importances(study, evaluator=evaluator, params=[])
        {}
    """

    def __init__(self, model: AdditiveGP | None = None, *, seed: int = 0) -> None:
        self._model = model
        self._seed = seed

    def evaluate(
        self,
        study: Study,
        params: list[str] | None = None,
        *,
        target: Callable[[FrozenTrial], float] | None = None,
    ) -> dict[str, float]:
        if params is not None and not params:
            return {}
        trials, common = _common(study, params)
        found = self._importances(study, trials, common, target)
        shares = dict.fromkeys(common, 0.0)
        shares |= dict(zip(found.names, found.total.mean.tolist(), strict=True))
        return dict(sorted(shares.items(), key=lambda item: -item[1]))

    def importances(
        self,
        study: Study,
        params: list[str] | None = None,
        *,
        target: Callable[[FrozenTrial], float] | None = None,
    ) -> Importances:
        """Shares of single parameters, of pairs and in total, with intervals.

        Args:
            study: a study with at least two complete trials.
            params: names of parameters; by default all that every complete trial has.
            target: the value of a trial; by default its objective.

        Raises:
            ValueError: if no parameter varies, fewer than two trials have all parameters, or the
                study has several objectives and no target is given.
        """
        return self._importances(study, *_common(study, params), target)

    def _importances(
        self,
        study: Study,
        trials: list[FrozenTrial],
        common: dict[str, BaseDistribution],
        target: Callable[[FrozenTrial], float] | None,
    ) -> Importances:
        if target is None and len(study.directions) > 1:
            raise ValueError(
                f"the study has {len(study.directions)} objectives: give a target, such as "
                "target=lambda trial: trial.values[0]."
            )
        space = space_of(common, stored_ordinals(study))
        direction = direction_of(study) if target is None else "minimize"
        optimizer = Optimizer(space, direction, model=self._model, seed=self._seed)
        for trial in trials:
            point = {name: trial.params[name] for name in common}
            optimizer.tell(point, trial.value if target is None else target(trial))
        return optimizer.posterior.importances()


def _common(
    study: Study, params: list[str] | None
) -> tuple[list[FrozenTrial], dict[str, BaseDistribution]]:
    """The complete trials that have all given parameters, and the distributions of these."""
    complete: Any = study.get_trials(deepcopy=False, states=(TrialState.COMPLETE,))
    trials = [t for t in complete if params is None or set(params) <= set(t.params)]
    shared = common_search_space(trials)
    if params is not None and not set(params) <= set(shared):
        raise ValueError(
            f"no complete trials have all of {', '.join(params)}: leave out parameters that only "
            "some trials have."
        )
    if not shared:
        raise ValueError("no parameter is in all complete trials.")
    return trials, {name: shared[name] for name in params or shared}
