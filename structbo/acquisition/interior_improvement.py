"""Log expected improvement, weighted by a prior of where the maximum is."""

from dataclasses import dataclass

import jax.numpy as jnp
from jax import Array
from jaxtyping import Bool, Float, Int

from structbo.acquisition.expected_improvement import LogEI
from structbo.maximizers.search_state import Search
from structbo.models.foundation.arguments import check_positive
from structbo.models.gp import ConditionedGP

CELLS = 40
"""Number of levels that a continuous variable counts as."""
FEW_DIMS = 20
"""Number of dimensions above which the exponent falls, so that a corner keeps its weight."""
FEW_VALUES = 60
"""Number of observations above which the exponent falls, so that they replace the prior."""
MANY_DIMS = 50
"""Number of dimensions above which the exponent falls much earlier.

One of a hundred coordinates gains little by a move to its end, and even a small weight then keeps
all of them inside.
"""
FIRST_VALUES = 20
"""Number of observations above which the exponent falls with more than `MANY_DIMS` dimensions."""


@dataclass(frozen=True)
class InteriorEI(LogEI):
    """`LogEI` weighted by a prior that expects the maximum away from the ends of the ranges.

    Joint. Ranges are often chosen wider than necessary, so that the best settings are rarely at
    their ends. A Gaussian process cannot know that. It is most uncertain at the corners of the
    cube, and a search cannot evaluate all corners.

    The weight is a product of densities Beta(1 + exponent, 1 + exponent) of all coordinates but
    categories. A level stands for an interval around it, of which the density is taken in the
    middle; an end of a range is therefore possible, and two levels are equally likely. Continuous
    variables count as having `CELLS` levels. At an end of one, the default weight is about half as
    large as in the middle, so that a clearly better value there decides. With more than `FEW_DIMS`
    dimensions D, the exponent is multiplied by the square of ``FEW_DIMS / D``. Corners, where
    linear functions have their maxima, would otherwise have almost no weight. With more than
    `FEW_VALUES` observations it is multiplied by their ratio: the prior fades. With more than
    `MANY_DIMS` dimensions and n > `FIRST_VALUES` observations, it is also multiplied by the fourth
    power of ``FIRST_VALUES / n``, so that it has little effect after 40.

    Args:
        exponent: how much the ends are avoided, positive; for few dimensions and observations.

    Raises:
        ValueError: if the exponent is not positive.

    References:
        Hvarfner et al. 2022, "piBO: Augmenting acquisition functions with user beliefs for Bayesian
        optimization", for the product of an acquisition and a prior to the power beta / n.

    Example:
        >>> middle_and_end = jnp.array([[0.5], [1.0]])
        >>> prior = jnp.array([0.25, 1.0 - 1.0 / CELLS])
        >>> weights = jnp.exp(InteriorEI().log_weight(middle_and_end, prior))
        >>> [round(float(weight), 2) for weight in weights]
        [1.0, 0.47]
    """

    exponent: float = 0.25

    def __post_init__(self) -> None:
        super().__post_init__()
        check_positive("exponent", self.exponent)

    def contexts(self, posteriors: ConditionedGP, search: Search) -> Float[Array, " S *context"]:
        best = super().contexts(posteriors, search)[:, None]
        width = _inner_width(search.levels.counts, search.levels.has_order)
        for_many_dims = min(1.0, FEW_DIMS / len(width)) ** 2
        for_many_values = jnp.minimum(1.0, FEW_VALUES / search.num_observed)
        if len(width) > MANY_DIMS:
            for_many_values *= jnp.minimum(1.0, FIRST_VALUES / search.num_observed) ** 4
        exponent = self.exponent * for_many_dims * for_many_values
        prior = jnp.append(exponent, width)
        return jnp.concatenate([best, jnp.broadcast_to(prior, (len(best), len(prior)))], axis=1)

    def values(
        self, draw: ConditionedGP, context: Float[Array, " C"], x: Float[Array, "m D"]
    ) -> Float[Array, " m"]:
        return super().values(draw, context, x) + self.log_weight(x, context[1:])

    def values_on_lines(
        self,
        draw: ConditionedGP,
        context: Float[Array, " C"],
        x: Float[Array, "L G D"],
        dim: Int[Array, ""],
    ) -> Float[Array, "L G"]:
        values = super().values_on_lines(draw, context, x, dim)
        return values + self.log_weight(x, context[1:])

    def log_weight(self, x: Float[Array, "*m D"], prior: Float[Array, " P"]) -> Float[Array, "*m"]:
        """The logarithm of the weight, which is one in the middle of the cube.

        Args:
            x: points of the unit cube.
            prior: the exponent, followed by the distances between the middles of the first and of
                the last interval of all dimensions.
        """
        away = (2.0 * x - 1.0) * prior[1:]
        return prior[0] * jnp.log1p(-jnp.square(away)).sum(-1)

    def normal(
        self,
        mean: Float[Array, "*shape"],
        deviation: Float[Array, "*shape"],
        context: Float[Array, " C"],
    ) -> tuple[Float[Array, "*shape"], Float[Array, "*shape"], Float[Array, ""]]:
        return mean, deviation, context[0]


def _inner_width(counts: Int[Array, " D"], has_order: Bool[Array, " D"]) -> Float[Array, " D"]:
    """One less the width of an interval, and 0 where all levels are equally likely.

    Categories and two levels have no preferred level. A conditional variable that does not exist
    stands in the middle, so all their levels must weigh as much as the middle.
    """
    num_levels = jnp.where(counts > 0, counts, CELLS)
    return jnp.where(has_order & (num_levels > 2), 1.0 - 1.0 / num_levels, 0.0)
