"""Alternation of local and global moves over partitions."""

import jax
import jax.numpy as jnp
from jax import Array
from jaxtyping import Float, Int

from structbo.models.foundation.arrays import RandomKey
from structbo.models.supports import Partition
from structbo.samplers.conditional import Conditional
from structbo.samplers.partition_gibbs import PartitionGibbs
from structbo.samplers.split_merge import SplitMerge
from structbo.samplers.structure_block import StructureBlock


class PartitionMoves(StructureBlock):
    """Gibbs visits to half of the dimensions, and one split or merge proposal per dimension.

    Gibbs moves explore one mode several times faster. Splits and merges are cheaper and change
    several dimensions at once. Half of the visits precede them and half follow, so a step is
    reversible.

    Args:
        model: the NumPyro model.
    """

    support = Partition

    def update(
        self, key: RandomKey, conditional: Conditional, value: Int[Array, " D"]
    ) -> tuple[Int[Array, " D"], Float[Array, ""]]:
        visits = PartitionGibbs(self.model, num_moves=-(-len(value) // 4))
        blocks = (visits, SplitMerge(self.model), visits)
        moved = []
        for block, key_block in zip(blocks, jax.random.split(key, len(blocks)), strict=True):
            value, prob = block.update(key_block, conditional, value)
            moved.append(prob)
        return value, jnp.stack(moved).mean()
