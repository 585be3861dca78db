"""The upper confidence bound with the true deviation of the whole function."""

from dataclasses import dataclass
from typing import Any, ClassVar

import jax.numpy as jnp
from jax import Array
from jaxtyping import Float

from structbo.acquisition.criterion import count_draws
from structbo.acquisition.exploration import HalfLog, Schedule, as_schedule
from structbo.acquisition.joint import JointCriterion
from structbo.maximizers.search_state import Search
from structbo.models.gp import ConditionedGP


@dataclass(frozen=True)
class UCB(JointCriterion):
    """Mean plus ``sqrt(beta)`` deviations of the whole function.

    Joint: the deviation of the sum is never above the sum of the components' deviations. The bound
    itself is averaged over draws.

    Args:
        beta: exploration parameter, a number or a schedule such as `HalfLog`.

    References:
        Srinivas et al. 2010; Kathuria et al. 2016, section 2; Rolland et al. 2018, appendix B.2.
    """

    traced: ClassVar[tuple[str, ...]] = ("beta",)

    beta: Schedule | float = HalfLog()

    def __post_init__(self) -> None:
        as_schedule(self.beta)

    def contexts(self, posteriors: ConditionedGP, search: Search) -> Float[Array, " S"]:
        beta = as_schedule(self.beta)(search.num_observed, search.candidates.shape[1])
        return jnp.full(count_draws(posteriors), beta)

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
    ) -> Float[Array, " m"]:
        return mean + jnp.sqrt(context) * deviation
