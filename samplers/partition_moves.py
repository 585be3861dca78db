"""Local and global moves over partitions, one after the other."""

import jax
import jax.numpy as jnp
from jax import Array

from structbo.samplers.conditional import Conditional
from structbo.samplers.partition_gibbs import PartitionGibbs
from structbo.samplers.split_merge import SplitMerge
from structbo.samplers.structure_block import StructureBlock


class PartitionMoves(StructureBlock):
    """Gibbs visits to half of the dimensions, then as many splits and merges as dimensions.

    Gibbs moves explore one mode several times faster than splits and merges, which are cheaper and
    change several dimensions at once: together they rely on neither alone.

    Args:
        model: the NumPyro model.
    """

    def update(self, key: Array, conditional: Conditional, value: Array) -> tuple[Array, Array]:
        key_gibbs, key_split_merge = jax.random.split(key)
        gibbs = PartitionGibbs(self.model, num_visits=-(-value.shape[0] // 2))
        value, moved = gibbs.update(key_gibbs, conditional, value)
        value, accepted = SplitMerge(self.model).update(key_split_merge, conditional, value)
        return value, jnp.array([moved, accepted]).mean()
