"""Metropolis-Hastings over one structure site."""

from abc import abstractmethod

import jax
import jax.numpy as jnp
from jax import Array
from jaxtyping import Float, Real, Shaped

from structbo.models.foundation.arrays import RandomKey
from structbo.models.likelihood import Model
from structbo.samplers.conditional import Conditional, Point, choose
from structbo.samplers.structure_block import StructureBlock

OUTSIDE = -1e12
"""Stand-in for a log density of minus infinity, with finite differences."""


class Metropolis(StructureBlock):
    """A block that proposes a value and accepts it with the Metropolis-Hastings probability.

    A subclass defines its `support`, and its proposals with their probability ratio.

    Args:
        model: the NumPyro model.
        num_moves: number of proposals per step; by default `moves_per_step`.

    References:
        Hastings 1970, "Monte Carlo sampling methods using Markov chains and their applications".
    """

    def __init__(self, model: Model, num_moves: int | None = None) -> None:
        super().__init__(model)
        self._num_moves = num_moves

    @abstractmethod
    def propose(
        self, key: RandomKey, conditional: Conditional, point: Point
    ) -> tuple[Point, Float[Array, ""]]:
        """Proposes another value.

        Args:
            key: a JAX random key.
            conditional: the model as a function of the site; ``conditional.move(point, value)``
                evaluates a proposed value.
            point: the present point.

        Returns:
            The proposed point, and the log ratio of the reverse to the forward proposal
            probability.
        """

    def moves_per_step(self, value: Shaped[Array, "*shape"]) -> int:
        """Default number of moves per step; 0 if the site has a single value."""
        return 1

    def num_moves(self, value: Shaped[Array, "*shape"]) -> int:
        """Number of moves per step."""
        default = self.moves_per_step(value)
        return default if default == 0 or self._num_moves is None else self._num_moves

    def start(self, conditional: Conditional, value: Shaped[Array, "*shape"]) -> Point:
        """The initial point; a block may add a ``guide``, which its proposals must update."""
        return conditional.start(value)

    def acceptance(self, log_ratio: Float[Array, ""]) -> Float[Array, ""]:
        """The acceptance probability; any function with ``a(r) / a(-r) = exp(r)`` is exact."""
        return jnp.exp(jnp.minimum(log_ratio, 0.0))

    def excess(
        self, value: Shaped[Array, "*shape"], direction: Float[Array, ""] | float
    ) -> Real[Array, ""]:
        """Penalty for values outside the bounds of a decomposition, in units of log density.

        The prior ignores the bounds of a decomposition, so a chain may start where the density is
        zero. It then moves towards a smaller excess: by default towards zeros in some steps, and
        towards ones in others, until it is inside. Bounds may require few ones or many.

        Args:
            value: value of the site.
            direction: 1 or -1, drawn for each step.
        """
        return 1e3 * direction * value.sum()

    def height(self, point: Point, direction: Float[Array, ""] | float = 1.0) -> Float[Array, ""]:
        """The log density; if it is infinite, a very low number that decreases with the excess."""
        outside = OUTSIDE - self.excess(point.value, direction)
        return jnp.where(jnp.isfinite(point.log_density), point.log_density, outside)

    def update(
        self, key: RandomKey, conditional: Conditional, value: Shaped[Array, "*shape"]
    ) -> tuple[Shaped[Array, "*shape"], Float[Array, ""]]:
        num_moves = self.num_moves(value)
        if num_moves == 0:
            return value, jnp.array(0.0)
        key_propose, key_accept, key_direction = jax.random.split(key, 3)
        keys = jax.random.split(key_propose, num_moves)
        thresholds = jax.random.uniform(key_accept, (num_moves,))
        direction = jax.random.rademacher(key_direction, dtype=float)

        def move(k: Array, state: tuple[Point, Array]) -> tuple[Point, Array]:
            point, moved = state
            new, log_proposals = self.propose(keys[k], conditional, point)
            rise = self.height(new, direction) - self.height(point, direction)
            prob = self.acceptance(jnp.nan_to_num(rise + log_proposals, nan=-jnp.inf))
            changed = prob * (new.value != point.value).any()
            return choose(thresholds[k] < prob, new, point), moved + changed

        init = (self.start(conditional, value), jnp.array(0.0))
        point, moved = jax.lax.fori_loop(0, num_moves, move, init)
        return point.value, moved / num_moves
