"""The trials of an Optuna study, as data for the next proposal."""

import base64
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np
from optuna import Study
from optuna.distributions import BaseDistribution
from optuna.study import StudyDirection
from optuna.trial import FrozenTrial, TrialState

from structbo.data import Direction, direction_sign, filled_errors
from structbo.integrations.liveness import lost_trials
from structbo.integrations.search_space import conditions
from structbo.models.foundation.arrays import BoolArray, FloatArray
from structbo.space import NEUTRAL, Levels, Space

PROPOSAL = "structbo:proposal"
"""System attribute: the parameters of a proposal, and the state of its Markov chain."""
SEM = "structbo:sem"
"""System attribute: the standard error of the value of a trial."""
FAILED = "structbo:failed"
"""System attribute: the objective failed; a failed trial without it lost its process."""
ENQUEUED = "fixed_params"
"""Optuna's system attribute: the parameters of an enqueued trial."""
MAX_CHARACTERS = 60_000
"""Limit of MySQL's TEXT, which the state of a chain exceeds only with thousands of parameters."""


def direction_of(study: Study) -> Direction:
    """The direction of a study with one objective, as this package names it."""
    return "maximize" if study.direction == StudyDirection.MAXIMIZE else "minimize"


@dataclass(frozen=True)
class History:
    """The trials of a study, as data for the proposal of one trial.

    Missing parameters have the coordinate `NEUTRAL`.

    Args:
        x: evaluated points in the unit cube, shape (m, D).
        y: their values, larger is better, shape (m,); NaN for failures.
        sem: standard errors of the values, shape (m,), or None.
        pending: points of running trials, shape (p, D).
        num_before: number of counted trials with a smaller number.
        chain: the state of the Markov chain after the last proposal.
        conditions: conditions on which parameters exist, as in `Levels`; None if all always exist.
        unexplained: names of parameters that exist in some trials without a known condition.
    """

    x: FloatArray
    y: FloatArray
    sem: FloatArray | None
    pending: FloatArray
    num_before: int
    chain: bytes | None
    conditions: BoolArray | None
    unexplained: frozenset[str]

    @classmethod
    def of(
        cls,
        study: Study,
        trial: FrozenTrial,
        distributions: Mapping[str, BaseDistribution],
        space: Space,
        lost_after: float | None = None,
    ) -> "History":
        """The history of one trial.

        Args:
            study: a study with one objective.
            trial: the trial that needs a point.
            distributions: the search space.
            space: the same search space, in the internal representation.
            lost_after: as in `lost_trials`.
        """
        trials = [t for t in study.get_trials(deepcopy=False) if counts(t)]
        lost = lost_trials(study, trials, lost_after)
        others = [t for t in trials if t.number not in {trial.number, *lost}]
        rows = [_row(other, distributions, space) for other in others]
        pairs = [(t, row) for t, row in zip(others, rows, strict=True) if row is not None]
        complete = _table([row for t, row in pairs if t.state == TrialState.COMPLETE], space)
        learned = conditions(complete, space)
        levels = space.legal_coordinates(learned)
        known = [(t, row) for t, row in pairs if _is_settled(t) or _has_all(row, levels)]
        told = [(t, row) for t, row in known if t.state.is_finished()]
        sign = direction_sign(direction_of(study))
        chains = (_chain(t, space) for t in reversed(others))
        return cls(
            x=_imputed([row for _, row in told], space),
            y=np.array([sign * known_value(t) for t, _ in told], float),
            sem=filled_errors(t.system_attrs.get(SEM) for t, _ in told),
            pending=_imputed([row for t, row in known if not t.state.is_finished()], space),
            num_before=sum(t.number < trial.number for t in others),
            chain=next((chain for chain in chains if chain is not None), None),
            conditions=learned,
            unexplained=_unexplained(complete, learned, space),
        )

    @property
    def known(self) -> FloatArray:
        """Evaluated and pending points, shape (m + p, D)."""
        return np.concatenate([self.x, self.pending])


def counts(trial: FrozenTrial) -> bool:
    """Whether a trial was asked for and is not lost; waiting trials were not asked for yet."""
    if trial.state == TrialState.FAIL:
        return FAILED in trial.system_attrs
    return trial.state != TrialState.WAITING


def known_value(trial: FrozenTrial) -> float:
    """The value of a trial; NaN if it has none, or violates a constraint.

    A pruned trial has the value of its last report.
    """
    is_feasible = all(value <= 0.0 for value in trial.constraints.values())
    value = trial.values[0] if trial.values and is_feasible else math.nan
    return value if math.isfinite(value) else math.nan


def known_params(
    trial: FrozenTrial, distributions: Mapping[str, BaseDistribution]
) -> dict[str, Any]:
    """The parameters of a trial, including proposed or enqueued ones not yet suggested."""
    if trial.state == TrialState.COMPLETE:
        return trial.params
    proposed = trial.system_attrs.get(PROPOSAL, {"params": {}})["params"]
    params = {
        name: distributions[name].to_external_repr(value)
        for name, value in proposed.items()
        if value is not None and name in distributions
    }
    enqueued = trial.system_attrs.get(ENQUEUED, {})
    params |= {name: enqueued[name] for name in enqueued.keys() & distributions.keys()}
    return params | trial.params


def proposal_of(params: Mapping[str, float | None], chain: bytes | None) -> dict[str, Any]:
    """The system attribute `PROPOSAL`.

    Args:
        params: the proposed point, in the internal representation; None for missing parameters.
        chain: the state of the Markov chain after the proposal.
    """
    text = None if chain is None else base64.b64encode(chain).decode("ascii")
    fits = text is not None and len(text) <= MAX_CHARACTERS
    return {"params": dict(params), "chain": text if fits else None}


def _chain(trial: FrozenTrial, space: Space) -> bytes | None:
    """The chain stored with the proposal of a trial, if it had the same parameters."""
    proposal = trial.system_attrs.get(PROPOSAL)
    if proposal is None or tuple(proposal["params"]) != space.names:
        return None
    return None if proposal["chain"] is None else base64.b64decode(proposal["chain"])


def _row(
    trial: FrozenTrial, distributions: Mapping[str, BaseDistribution], space: Space
) -> FloatArray | None:
    """The point of a trial in the unit cube, with NaN for missing parameters.

    None if all parameters are missing, or a value is outside the search space.
    """
    params = known_params(trial, distributions)
    row = np.full(space.num_dims, np.nan)
    for dim, (name, parameter) in enumerate(zip(space.names, space.parameters, strict=True)):
        if name in params:
            try:
                row[dim] = parameter.to_unit(distributions[name].to_internal_repr(params[name]))
            except (TypeError, ValueError):
                return None
    return None if np.isnan(row).all() else row


def _is_settled(trial: FrozenTrial) -> bool:
    """Whether missing parameters of a trial stay missing."""
    return trial.state == TrialState.COMPLETE or PROPOSAL in trial.system_attrs


def _has_all(row: FloatArray, levels: Levels) -> bool:
    """Whether a point has all parameters that exist at it."""
    exists = np.asarray(_existing(levels, np.where(np.isnan(row), NEUTRAL, row)))
    return not (np.isnan(row) & exists).any()


def _unexplained(complete: FloatArray, learned: BoolArray | None, space: Space) -> frozenset[str]:
    if learned is None:
        return frozenset()
    is_seen, is_allowed = ~np.isnan(complete), learned.reshape(space.num_dims, -1)
    return frozenset(
        name
        for dim, name in enumerate(space.names)
        if is_seen[:, dim].any() and not is_allowed[dim].any()
    )


def _table(rows: list[FloatArray], space: Space) -> FloatArray:
    return np.reshape(rows, (-1, space.num_dims))


def _imputed(rows: list[FloatArray], space: Space) -> FloatArray:
    table = _table(rows, space)
    return np.where(np.isnan(table), NEUTRAL, table)


_existing = jax.jit(Levels.existing)
