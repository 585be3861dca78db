"""The additive upper confidence bound."""

from dataclasses import dataclass
from typing import Any, ClassVar

import jax.numpy as jnp
from jax import Array
from jaxtyping import Float, Int

from structbo.acquisition.additive_criterion import ComponentCriterion
from structbo.acquisition.criterion import Acquisition, count_draws
from structbo.acquisition.exploration import HalfLog, Schedule, as_schedule
from structbo.maximizers.search_state import Search
from structbo.models.gp import ConditionedGP


@dataclass(frozen=True)
class AdditiveUCB(ComponentCriterion):
    """Sum over components of mean plus ``sqrt(beta)`` deviations.

    Additive: the deviations are summed, which over-estimates the deviation of the sum. The bound
    itself is averaged over draws. The residual counts as a component.

    Args:
        beta: exploration parameter of every component, a number or a schedule such as `HalfLog`.

    References:
        Rolland et al. 2018, eq. (5) and (6).
    """

    traced: ClassVar[tuple[str, ...]] = ("beta",)

    beta: Schedule | float = HalfLog()

    def __post_init__(self) -> None:
        as_schedule(self.beta)

    def of(self, posteriors: ConditionedGP, search: Search) -> Acquisition:
        count = count_draws(posteriors)
        beta = as_schedule(self.beta)(search.num_observed, search.candidates.shape[1])
        return Acquisition(posteriors, jnp.full(count, beta), jnp.arange(count), self)

    def width(
        self,
        mean: Float[Array, " m"],
        deviation: Float[Array, " m"],
        context: Any,
        num_observed: float,
        num_dims: int,
    ) -> Float[Array, ""]:
        return jnp.sqrt(as_schedule(self.beta)(num_observed, num_dims))

    def score(
        self,
        mean: Float[Array, " m"],
        deviation: Float[Array, " m"],
        context: Float[Array, ""],
        row: Int[Array, ""] | int,
    ) -> Float[Array, " m"]:
        return mean + jnp.sqrt(context) * deviation
