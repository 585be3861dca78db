"""Exact Gibbs sampling of parameters on finite sets."""

import jax
import jax.numpy as jnp
from jax import Array
from jaxtyping import Float, Shaped

from structbo.models.foundation.arrays import RandomKey
from structbo.models.supports import FiniteSet
from structbo.samplers.conditional import Conditional
from structbo.samplers.structure_block import StructureBlock, element_prior


class GridGibbs(StructureBlock):
    """Draws each element of a finite-set site in turn from its full conditional.

    ``p(L_i = l | rest)`` is proportional to the joint density at ``l``. Each value of the set costs
    one evaluation of the log density.

    Args:
        model: the NumPyro model; its sites must have finite supports, such as `FiniteUniform`.

    References:
        Rolland et al. 2018, eq. (8).
    """

    support = FiniteSet
    is_reversible = False

    def update(
        self, key: RandomKey, conditional: Conditional, value: Shaped[Array, "*shape"]
    ) -> tuple[Shaped[Array, "*shape"], Float[Array, ""]]:
        levels = element_prior(conditional.prior).enumerate_support(expand=False).reshape(-1)
        elements = value.size
        keys = jax.random.split(key, elements)

        def visit(i: Array, state: tuple[Array, Array]) -> tuple[Array, Array]:
            value, moved = state

            def at(level: Array) -> Array:
                return value.ravel().at[i].set(level).reshape(value.shape)

            densities = jax.lax.map(lambda level: conditional.log_density(at(level)), levels)
            level = levels[jax.random.categorical(keys[i], densities)]
            return at(level), moved + (level != value.ravel()[i])

        value, moved = jax.lax.fori_loop(0, elements, visit, (value, jnp.array(0.0)))
        return value, moved / elements
