"""Random-scan Gibbs sampling of active sets, exact and incremental."""

import jax
import jax.numpy as jnp
from jax import Array
from jaxtyping import Int

from structbo.models.foundation.arrays import RandomKey
from structbo.models.supports import ActiveSet
from structbo.samplers.heat_bath import HeatBath


class ActiveGibbs(HeatBath):
    """Draws the indicators of randomly chosen variables from their full conditionals.

    Half of the moves, on average, are swaps of a random active and a random inactive variable,
    drawn with the odds of the two densities. A swap replaces a variable by a redundant one in a
    single move. It keeps the number of active variables, so its reverse has the same proposal
    probability. Each move costs one Cholesky factorization.

    Args:
        model: the NumPyro model.
        num_moves: number of moves per step; by default twice the number of dimensions.
    """

    support = ActiveSet

    def moves_per_step(self, value: Int[Array, " D"]) -> int:
        return 2 * len(value)

    def alternative(self, key: RandomKey, value: Int[Array, " D"]) -> Int[Array, " D"]:
        key_kind, key_swap, key_flip = jax.random.split(key, 3)
        is_swap = jax.random.bernoulli(key_kind)
        return jnp.where(is_swap, _swapped(key_swap, value), _flipped(key_flip, value))


def _flipped(key: RandomKey, active: Int[Array, " D"]) -> Int[Array, " D"]:
    """The active set with a random variable flipped."""
    i = jax.random.randint(key, (), 0, active.shape[0])
    return active.at[i].set(1 - active[i])


def _swapped(key: RandomKey, active: Int[Array, " D"]) -> Int[Array, " D"]:
    """The active set with a random swap, or unchanged if all variables or none are active."""
    key_out, key_in = jax.random.split(key)
    i = jax.random.categorical(key_out, jnp.where(active == 1, 0.0, -jnp.inf))
    j = jax.random.categorical(key_in, jnp.where(active == 1, -jnp.inf, 0.0))
    return jnp.where(active.min() == active.max(), active, active.at[i].set(0).at[j].set(1))
