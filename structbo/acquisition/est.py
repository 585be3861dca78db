"""EST: the point most likely to attain an estimate of the maximum."""

from dataclasses import dataclass
from typing import Any, Literal

import jax.numpy as jnp
from jax import Array
from jaxtyping import Float

from structbo.acquisition.independent_maximum import (
    approximate_maximum,
    expected_maximum,
    published_maximum,
)
from structbo.acquisition.joint import TINY_VARIANCE, JointCriterion, best_means, best_values
from structbo.maximizers.search_state import Search
from structbo.models.foundation.accelerator import map_draws
from structbo.models.foundation.arguments import check_name
from structbo.models.gp import ConditionedGP

Estimator = Literal["approximate", "numerical", "published"]
ESTIMATORS = {
    "approximate": (approximate_maximum, best_means),
    "numerical": (expected_maximum, best_means),
    "published": (published_maximum, best_values),
}
"""Estimators of the maximum, each with its lower bound."""


@dataclass(frozen=True)
class EST(JointCriterion):
    """Minus the distance of the mean to the estimated maximum in deviations, ``(mean - m) / s``.

    Joint. Its maximum is also the maximum of an upper confidence bound with ``sqrt(beta)`` equal to
    the smallest distance. Values are averaged over draws, each with its own estimate ``m``: the
    expected maximum of independent normals at the candidates of the search and the best posterior
    mean at an observed point.

    Args:
        maximum: the method for this expectation: "approximate" (ESTa) or "numerical" (ESTn), or
            "published" for ESTa as in its authors' code, above the largest observation.

    References:
        Wang, Zhou and Jegelka 2016; Kathuria et al. 2016, lemma 3.1.
    """

    maximum: Estimator = "approximate"

    def __post_init__(self) -> None:
        check_name("maximum", self.maximum, ESTIMATORS)

    def contexts(self, posteriors: ConditionedGP, search: Search) -> Float[Array, " S"]:
        def estimate(item: tuple[ConditionedGP, Array]) -> Float[Array, ""]:
            posterior, best = item
            mean, variance = posterior.predict(search.candidates)
            return estimator(mean, jnp.sqrt(variance + TINY_VARIANCE), best)

        estimator, best = ESTIMATORS[self.maximum]
        return map_draws(estimate, (posteriors, best(posteriors)))

    def score(
        self,
        mean: Float[Array, " m"],
        deviation: Float[Array, " m"],
        context: Float[Array, ""],
    ) -> Float[Array, " m"]:
        gap = mean - context
        # Above the estimate, dividing by the deviation would favor points that are already known.
        return jnp.where(gap > 0.0, gap, gap / deviation)

    def width(
        self,
        mean: Float[Array, " m"],
        deviation: Float[Array, " m"],
        context: Any,
        num_observed: float,
        num_dims: int,
    ) -> Float[Array, ""]:
        """The width at which the best upper bound equals the estimate."""
        return jnp.maximum(-self.score(mean, deviation, context).max(), 0.0)
