"""Criteria for one more point, evaluated on all candidates at once.

The formulas of `structbo.acquisition` are applied to the moments of the mixture of draws.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from structbo.acquisition import EST, UCB, JointCriterion, LogEI
from structbo.batches.ground_set import GroundSet
from structbo.data import padded_size
from structbo.models.foundation.arrays import FloatArray
from structbo.models.foundation.precision import double_precision

Score: TypeAlias = Callable[[GroundSet], FloatArray]
"""Scores of all candidates, shape (m,): the higher, the better."""
Width: TypeAlias = float | Callable[[GroundSet], float]
"""The root of the exploration parameter beta, or a function of the candidates that gives it."""
TINY_DEVIATION = 1e-12


@dataclass(frozen=True)
class CriterionScore:
    """The values of a joint criterion, as if the mixture of draws was one process.

    For a criterion of logarithms they are exponentials of its values.

    Args:
        criterion: any criterion of mean and deviation of the whole function.
        context: what the criterion needs besides the moments, see `JointCriterion.pooled`.
    """

    criterion: JointCriterion
    context: Array | float

    def __call__(self, ground: GroundSet) -> FloatArray:
        """Scores of the candidates, shape (m,)."""
        rest = (0, padded_size(len(ground.mean)) - len(ground.mean))
        deviation = np.maximum(ground.deviation, TINY_DEVIATION)
        moments = (np.pad(part, rest, "edge") for part in (ground.mean, deviation))
        with double_precision():
            scores = np.array(_score(self.criterion, *moments, self.context))
        return scores[: len(ground.mean)]


@jax.jit
def _score(criterion: JointCriterion, mean: Array, deviation: Array, context: Array) -> Array:
    scores = criterion.score(mean, deviation, context)
    return jnp.exp(scores) if criterion.is_log else scores


@dataclass(frozen=True)
class EstimationWidth:
    """The width at which the best confidence bound just reaches an estimate of the maximum (EST).

    The candidate whose bound does is the most probable one to reach the estimate.

    Args:
        maximum: the estimate of the function's maximum.
        widening: factor on the width, C' of B-EST.

    References:
        Kathuria et al. 2016, Lemma 3.1 and Algorithm 1 (B-EST); Wang, Zhou and Jegelka 2016.
    """

    maximum: float
    widening: float = 1.0

    def __call__(self, ground: GroundSet) -> float:
        """The least number of deviations between the estimate and a mean."""
        farthest = float(CriterionScore(EST(), self.maximum)(ground).max())
        return self.widening * max(-farthest, 0.0)


@dataclass(frozen=True)
class ConfidenceBound:
    """Mean plus a number of deviations.

    Args:
        width: the number of deviations, the root of beta, or a function that gives it.

    References:
        Kathuria et al. 2016, section 2 and Algorithm 1.
    """

    width: Width

    def __call__(self, ground: GroundSet) -> FloatArray:
        """Scores of the candidates, shape (m,)."""
        return CriterionScore(UCB(), width_at(self.width, ground) ** 2)(ground)


def width_at(width: Width, ground: GroundSet) -> float:
    """The number of deviations that a width stands for."""
    return width(ground) if callable(width) else width


@dataclass(frozen=True)
class ExpectedImprovement:
    """The expected improvement on a value, and on all candidates that count as evaluated.

    Args:
        incumbent: the value to improve on.
    """

    incumbent: float

    def __call__(self, ground: GroundSet) -> FloatArray:
        """Scores of the candidates, shape (m,)."""
        return CriterionScore(LogEI(), max(self.incumbent, ground.incumbent))(ground)
