"""Heat-bath moves: a draw between the present value and one other, given their densities."""

from abc import abstractmethod

import jax
import jax.numpy as jnp
from jax import Array

from structbo.samplers.conditional import Conditional, Point
from structbo.samplers.metropolis import Metropolis


class HeatBath(Metropolis):
    """Draws between two values, each with a probability proportional to its density.

    If the two values differ in one binary element, this is a draw from its full conditional, as in
    Gibbs sampling. A subclass states its `support` and the `alternative`.

    Args:
        model: the NumPyro model.
        num_moves: draws per step; by default what `moves_per_step` says.

    References:
        Barker 1965, "Monte Carlo calculations of the radial distribution functions for a
        proton-electron plasma".
    """

    @abstractmethod
    def alternative(self, key: Array, value: Array) -> Array:
        """Another value, as probable to be the alternative of this one as this is of it."""

    def propose(self, key: Array, conditional: Conditional, point: Point) -> tuple[Point, Array]:
        return conditional.move(point, self.alternative(key, point.value)), jnp.array(0.0)

    def acceptance(self, log_ratio: Array) -> Array:
        return jax.nn.sigmoid(log_ratio)
