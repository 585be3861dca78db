"""Criteria for one more point, evaluated on all candidates at once."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from scipy.special import ndtr

from structbo.batches.ground_set import GroundSet
from structbo.models.arrays import FloatArray

Score: TypeAlias = Callable[[GroundSet], FloatArray]
"""Scores of all candidates, shape (m,): the higher, the better."""
Width: TypeAlias = float | Callable[[GroundSet], float]
"""The root of the exploration parameter beta, or a function of the candidates that gives it."""


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
        """How many deviations the estimate is away from the means, at the least."""
        gap = (self.maximum - ground.mean) / np.maximum(ground.deviation, 1e-12)
        return self.widening * max(float(gap.min()), 0.0)


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
        return ground.mean + width_at(self.width, ground) * ground.deviation


def width_at(width: Width, ground: GroundSet) -> float:
    """The number of deviations that a width stands for."""
    return width(ground) if callable(width) else width


@dataclass(frozen=True)
class ExpectedImprovement:
    """The expected improvement on a value.

    Args:
        incumbent: the value to improve on.
    """

    incumbent: float

    def __call__(self, ground: GroundSet) -> FloatArray:
        """Scores of the candidates, shape (m,)."""
        deviation = np.maximum(ground.deviation, 1e-12)
        z = (ground.mean - self.incumbent) / deviation
        density = np.exp(-0.5 * z * z) / np.sqrt(2.0 * np.pi)
        # Far below the incumbent the two terms cancel, and round-off may be all that is left.
        return deviation * np.maximum(density + z * ndtr(z), 0.0)
