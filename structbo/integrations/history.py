"""What the trials of an Optuna study tell the next proposal."""

import base64
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from optuna import Study
from optuna.distributions import BaseDistribution
from optuna.study import StudyDirection
from optuna.trial import FrozenTrial, TrialState

from structbo.data import Direction, direction_sign, filled_errors
from structbo.integrations.liveness import lost_trials
from structbo.models.foundation.arrays import FloatArray
from structbo.space import Space

PROPOSAL = "structbo:proposal"
"""System attribute: the parameters of a proposal, and the chain that it left behind."""
SEM = "structbo:sem"
"""System attribute: the standard error of the value of a trial."""
FAILED = "structbo:failed"
"""System attribute: the objective failed here. A trial whose process died has the same state."""
ENQUEUED = "fixed_params"
"""Optuna's system attribute: the parameters of a trial that was enqueued."""
MAX_CHARACTERS = 60_000
"""MySQL's TEXT holds so many. The state of a chain is longer only for thousands of parameters."""


def direction_of(study: Study) -> Direction:
    """The direction of a study with one objective, as this package names it."""
    return "maximize" if study.direction == StudyDirection.MAXIMIZE else "minimize"


@dataclass(frozen=True)
class History:
    """The trials of a study, for the proposal of one of them.

    Args:
        x: points that were evaluated, of the unit cube, shape (m, D).
        y: their values, to be maximized, shape (m,); NaN where the objective failed.
        sem: the standard errors of values, shape (m,); None if there are none.
        pending: points of trials that are running, shape (p, D).
        num_before: how many trials that count have a smaller number.
        chain: what the last proposal left of its Markov chain.
    """

    x: FloatArray
    y: FloatArray
    sem: FloatArray | None
    pending: FloatArray
    num_before: int
    chain: bytes | None

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
            study: with one objective.
            trial: for which a point is to be proposed.
            distributions: the search space.
            space: the same one, in the internal representation.
            lost_after: as in `lost_trials`.
        """
        trials = [t for t in study.get_trials(deepcopy=False) if counts(t)]
        lost = lost_trials(study, [t for t in trials if t.state.is_finished()], lost_after)
        others = [t for t in trials if t.number not in {trial.number, *lost}]
        sign = direction_sign(direction_of(study))
        told: list[tuple[FloatArray, float, float | None]] = []
        pending: list[FloatArray] = []
        for other in others:
            row = _row(other, distributions, space)
            if row is None:
                continue
            if other.state == TrialState.RUNNING:
                pending.append(row)
            else:
                told.append((row, sign * known_value(other), other.system_attrs.get(SEM)))
        chains = (_chain(t, space) for t in reversed(others))
        shape = -1, space.num_dims
        return cls(
            x=np.reshape([row for row, _, _ in told], shape),
            y=np.array([value for _, value, _ in told], float),
            sem=filled_errors(error for _, _, error in told),
            pending=np.reshape(pending, shape),
            num_before=sum(t.number < trial.number for t in others),
            chain=next((chain for chain in chains if chain is not None), None),
        )

    @property
    def known(self) -> FloatArray:
        """Points that were evaluated or are pending, shape (m + p, D)."""
        return np.concatenate([self.x, self.pending])


def counts(trial: FrozenTrial) -> bool:
    """Whether a trial was asked for and is not lost; those that wait were not asked for yet."""
    if trial.state == TrialState.FAIL:
        return FAILED in trial.system_attrs
    return trial.state != TrialState.WAITING


def known_value(trial: FrozenTrial) -> float:
    """The value of a trial, that of its last report if it was pruned; NaN if there is none.

    Trials that violate a constraint have no value either.
    """
    is_feasible = all(value <= 0.0 for value in trial.constraints.values())
    value = trial.values[0] if trial.values and is_feasible else math.nan
    return value if math.isfinite(value) else math.nan


def known_params(
    trial: FrozenTrial, distributions: Mapping[str, BaseDistribution]
) -> dict[str, Any]:
    """The parameters of a trial, also those that were proposed or enqueued, not asked for yet."""
    proposed = trial.system_attrs.get(PROPOSAL, {"params": {}})["params"]
    shared = proposed.keys() & distributions.keys()
    params = {name: distributions[name].to_external_repr(proposed[name]) for name in shared}
    enqueued = trial.system_attrs.get(ENQUEUED, {})
    params |= {name: enqueued[name] for name in enqueued.keys() & distributions.keys()}
    return params | trial.params


def proposal_of(params: Mapping[str, float], chain: bytes | None) -> dict[str, Any]:
    """The system attribute `PROPOSAL`.

    Args:
        params: the proposed point, in the internal representation.
        chain: the state of the Markov chain after the proposal.
    """
    text = None if chain is None else base64.b64encode(chain).decode("ascii")
    fits = text is not None and len(text) <= MAX_CHARACTERS
    return {"params": dict(params), "chain": text if fits else None}


def _chain(trial: FrozenTrial, space: Space) -> bytes | None:
    """The chain that the proposal of a trial left, if it was for the same parameters."""
    proposal = trial.system_attrs.get(PROPOSAL)
    if proposal is None or tuple(proposal["params"]) != space.names:
        return None
    return None if proposal["chain"] is None else base64.b64decode(proposal["chain"])


def _row(
    trial: FrozenTrial, distributions: Mapping[str, BaseDistribution], space: Space
) -> FloatArray | None:
    """The point of a trial in the unit cube; None if it is not in the search space."""
    params = known_params(trial, distributions)
    try:
        internal = {
            name: distribution.to_internal_repr(params[name])
            for name, distribution in distributions.items()
        }
        row: FloatArray = space.to_unit(internal)[0]
    except (KeyError, TypeError, ValueError):
        return None
    return row
