"""Probability of improvement, in logarithms."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from jax import Array
from jax.scipy.stats import norm
from jaxtyping import Float

from structbo.acquisition.joint import JointCriterion, best_means
from structbo.maximizers.search_state import Search
from structbo.models.gp import ConditionedGP


@dataclass(frozen=True)
class LogPI(JointCriterion):
    """Log of the probability that the whole function exceeds the best posterior mean by a margin.

    Joint. The probability is averaged over draws, each with its own best posterior mean at an
    observed point.

    Args:
        margin: minimum improvement, in standard deviations of the observations. With 0, points next
            to the best one are preferred.

    References:
        Kushner 1964; Wang, Zhou and Jegelka 2016, section 2.
    """

    margin: float = 0.01
    is_log: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if not np.isfinite(self.margin):
            raise ValueError(f"margin must be finite, got {self.margin!r}.")

    def contexts(self, posteriors: ConditionedGP, search: Search) -> Float[Array, " S"]:
        return best_means(posteriors) + self.margin

    def score(
        self,
        mean: Float[Array, " m"],
        deviation: Float[Array, " m"],
        context: Float[Array, ""],
    ) -> Float[Array, " m"]:
        return norm.logcdf((mean - context) / deviation)
