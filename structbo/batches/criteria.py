"""Criteria for the next point of a batch, evaluated on all candidates at once.

They apply the formulas of `structbo.acquisition` to the moments of the mixture of draws.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jaxtyping import Float

from structbo.acquisition import EST, UCB, JointCriterion, LogEI
from structbo.batches.ground_set import GroundSet
from structbo.data import padded_size
from structbo.models.foundation.precision import double_precision

Score: TypeAlias = Callable[[GroundSet], Float[np.ndarray, " m"]]
"""Scores of all candidates; higher is better."""
Width: TypeAlias = float | Callable[[GroundSet], float]
"""The square root of the exploration parameter beta, or a function from candidates to it."""
TINY_DEVIATION = 1e-12


@dataclass(frozen=True)
class CriterionScore:
    """The values of a joint criterion at the moments of the mixture of draws.

    A criterion on the log scale is exponentiated.

    Args:
        criterion: a criterion that depends on mean and standard deviation of the function.
        context: the further inputs of the criterion, see `JointCriterion.pooled`.
    """

    criterion: JointCriterion
    context: Float[Array, "*context"] | float

    def __call__(self, ground: GroundSet) -> Float[np.ndarray, " m"]:
        """Scores of the candidates."""
        rest = (0, padded_size(len(ground.mean)) - len(ground.mean))
        deviation = np.maximum(ground.deviation, TINY_DEVIATION)
        moments = (np.pad(part, rest, "edge") for part in (ground.mean, deviation))
        with double_precision():
            scores = np.array(_score(self.criterion, *moments, self.context))
        return scores[: len(ground.mean)]


@jax.jit
def _score(
    criterion: JointCriterion,
    mean: Float[Array, " m"],
    deviation: Float[Array, " m"],
    context: Float[Array, "*context"],
) -> Float[Array, " m"]:
    scores = criterion.score(mean, deviation, context)
    return jnp.exp(scores) if criterion.is_log else scores


@dataclass(frozen=True)
class EstimationWidth:
    """The width at which the best confidence bound equals an estimate of the maximum (EST).

    This candidate has the highest probability of reaching the estimate.

    Args:
        maximum: the estimate of the function's maximum.
        widening: the factor C' of B-EST on the width.

    References:
        Kathuria et al. 2016, Lemma 3.1 and Algorithm 1 (B-EST); Wang, Zhou and Jegelka 2016.
    """

    maximum: float
    widening: float = 1.0

    def __call__(self, ground: GroundSet) -> float:
        """The minimum distance from a mean to the estimate, in standard deviations."""
        farthest = float(CriterionScore(EST(), self.maximum)(ground).max())
        return self.widening * max(-farthest, 0.0)


@dataclass(frozen=True)
class ConfidenceBound:
    """The upper confidence bound, mean plus width times standard deviation.

    Args:
        width: the square root of beta, or a function from candidates to it.

    References:
        Kathuria et al. 2016, section 2 and Algorithm 1.
    """

    width: Width

    def __call__(self, ground: GroundSet) -> Float[np.ndarray, " m"]:
        """Scores of the candidates."""
        return CriterionScore(UCB(), width_at(self.width, ground) ** 2)(ground)


def width_at(width: Width, ground: GroundSet) -> float:
    """The width as a number."""
    return width(ground) if callable(width) else width


@dataclass(frozen=True)
class ExpectedImprovement:
    """The expected improvement over a value and over all candidates that count as evaluated.

    Args:
        incumbent: the best value so far.
    """

    incumbent: float

    def __call__(self, ground: GroundSet) -> Float[np.ndarray, " m"]:
        """Scores of the candidates."""
        return CriterionScore(LogEI(), max(self.incumbent, ground.incumbent))(ground)
