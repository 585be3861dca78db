"""Structures drawn from their prior, without learning."""

import jax.numpy as jnp
from jax import Array
from jaxtyping import Float, Shaped

from structbo.models.foundation.arrays import RandomKey
from structbo.models.supports import SpanningTree
from structbo.samplers.conditional import Conditional
from structbo.samplers.structure_block import StructureBlock


class PriorDraws(StructureBlock):
    """Draws a site from its prior in every step, independently of the data.

    The other blocks sample their sites given the draw. The chain does not target the posterior: the
    site follows its prior, and all other sites follow their posterior given it. The block is a
    baseline for learning the site.

    Args:
        model: the NumPyro model.

    References:
        Ziomek and Bou-Ammar 2023, for random trees.
    """

    support = SpanningTree
    is_reversible = False

    def update(
        self, key: RandomKey, conditional: Conditional, value: Shaped[Array, "*shape"]
    ) -> tuple[Shaped[Array, "*shape"], Float[Array, ""]]:
        return conditional.prior.sample(key).astype(value.dtype), jnp.array(1.0)
