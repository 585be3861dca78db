"""Heat-bath moves: a draw between the present value and one alternative."""

from abc import abstractmethod

import jax
import jax.numpy as jnp
from jax import Array
from jaxtyping import Float, Shaped

from structbo.models.foundation.arrays import RandomKey
from structbo.samplers.conditional import Conditional, Point
from structbo.samplers.metropolis import Metropolis


class HeatBath(Metropolis):
    """Draws one of two values with probability proportional to its density.

    If the two values differ in one binary element, the draw is a Gibbs step. A subclass defines its
    `support` and the `alternative`.

    Args:
        model: the NumPyro model.
        num_moves: number of draws per step; by default `moves_per_step`.

    References:
        Barker 1965, "Monte Carlo calculations of the radial distribution functions for a
        proton-electron plasma".
    """

    @abstractmethod
    def alternative(
        self, key: RandomKey, value: Shaped[Array, "*shape"]
    ) -> Shaped[Array, "*shape"]:
        """A random alternative, with the same probability as the reverse choice."""

    def propose(
        self, key: RandomKey, conditional: Conditional, point: Point
    ) -> tuple[Point, Float[Array, ""]]:
        return conditional.move(point, self.alternative(key, point.value)), jnp.array(0.0)

    def acceptance(self, log_ratio: Float[Array, ""]) -> Float[Array, ""]:
        return jax.nn.sigmoid(log_ratio)
