"""Random-scan Gibbs sampling of active sets, exact and incremental."""

import jax
import jax.numpy as jnp
from jax import Array

from structbo.samplers.conditional import Conditional, Point, choose, log_gain
from structbo.samplers.structure_block import Model, StructureBlock


class ActiveGibbs(StructureBlock):
    """Draws the indicators of randomly chosen variables from their full conditionals.

    Every other visit, on average, is a swap: a random active variable and a random inactive one
    change places, or stay, with the odds of the two densities. Of two variables that explain the
    same, one replaces the other without a detour over both or none. A swap keeps the number of
    active variables, so it is proposed as often as its reverse. Each visit costs one Cholesky.

    Args:
        model: the NumPyro model.
        num_visits: visits per step; by default twice the number of dimensions.
    """

    def __init__(self, model: Model, num_visits: int | None = None) -> None:
        super().__init__(model)
        self._num_visits = num_visits

    def update(self, key: Array, conditional: Conditional, value: Array) -> tuple[Array, Array]:
        num_visits = 2 * value.shape[0] if self._num_visits is None else self._num_visits
        keys = jax.random.split(key, num_visits)

        def visit(k: Array, state: tuple[Point, Array]) -> tuple[Point, Array]:
            point, moved = state
            key_kind, key_value, key_accept = jax.random.split(keys[k], 3)
            is_swap = jax.random.bernoulli(key_kind)
            other = jnp.where(
                is_swap, _swapped(key_value, point.value), _flipped(key_value, point.value)
            )
            new = conditional.move(point, other)
            prob = jax.nn.sigmoid(log_gain(new, point))
            changed = prob * (other != point.value).any()
            return choose(jax.random.uniform(key_accept) < prob, new, point), moved + changed

        init = (conditional.start(value), jnp.array(0.0))
        point, moved = jax.lax.fori_loop(0, num_visits, visit, init)
        return point.value, moved / num_visits


def _flipped(key: Array, active: Array) -> Array:
    """An active set with a random variable flipped."""
    i = jax.random.randint(key, (), 0, active.shape[0])
    return active.at[i].set(1 - active[i])


def _swapped(key: Array, active: Array) -> Array:
    """An active set with a random member exchanged, if there are members and others."""
    key_out, key_in = jax.random.split(key)
    i = jax.random.categorical(key_out, jnp.where(active == 1, 0.0, -jnp.inf))
    j = jax.random.categorical(key_in, jnp.where(active == 1, -jnp.inf, 0.0))
    return jnp.where(active.min() == active.max(), active, active.at[i].set(0).at[j].set(1))
