"""Random-scan Gibbs sampling of partitions, exact and incremental."""

import jax
import jax.numpy as jnp
from jax import Array
from jaxtyping import Float, Int, Real

from structbo.models.foundation.arrays import RandomKey
from structbo.models.structures.partition import block_sizes
from structbo.models.supports import Partition, canonical
from structbo.samplers.conditional import Conditional, Point, choose
from structbo.samplers.metropolis import Metropolis


class PartitionBlock(Metropolis):
    """A block that moves partitions, towards smaller blocks where the density is zero.

    The preference is weak enough for a chain to form blocks that other bounds require.
    """

    support = Partition

    def excess(
        self, value: Int[Array, " D"], direction: Float[Array, ""] | float
    ) -> Real[Array, ""]:
        return jnp.square(block_sizes(value)).sum()


class PartitionGibbs(PartitionBlock):
    """Moves randomly chosen dimensions to a block drawn from their full conditional.

    A dimension stays, joins any other block, or forms a new one, with probability proportional to
    the joint density. Each alternative costs one Cholesky factorization.

    Args:
        model: the NumPyro model.
        num_moves: number of dimensions to visit per step; by default the number of dimensions.

    References:
        Neal 2000, "Markov chain sampling methods for Dirichlet process mixture models",
        algorithm 3; Wang et al. 2017, for partitions of dimensions.
    """

    def moves_per_step(self, value: Int[Array, " D"]) -> int:
        return len(value)

    def propose(
        self, key: RandomKey, conditional: Conditional, point: Point
    ) -> tuple[Point, Float[Array, ""]]:
        """A draw from the full conditional, whose ratio cancels the ratio of the densities."""
        key_dim, key_noise = jax.random.split(key)
        labels, num_dims = point.value, len(point.value)
        dim = jax.random.randint(key_dim, (), 0, num_dims)
        noise = jax.random.gumbel(key_noise, (num_dims + 1,))
        own, num_blocks = labels[dim], labels.max() + 1
        is_alone = block_sizes(labels)[own] == 1

        def consider(other: Array, best: tuple[Point, Array]) -> tuple[Point, Array]:
            """The largest log density plus Gumbel noise is a draw from the conditional."""
            target = other + (other >= own)
            new = conditional.move(point, relabeled(labels, labels.at[dim].set(target)))
            height = self.height(new) + noise[target]
            return choose(height > best[1], new, best[0]), jnp.maximum(height, best[1])

        stay = (point, self.height(point) + noise[own])
        # The other blocks, and a new one unless the dimension is already alone.
        new, _ = jax.lax.fori_loop(0, num_blocks - is_alone, consider, stay)
        return new, self.height(point) - self.height(new)


def relabeled(labels: Int[Array, " D"], new: Int[Array, " D"]) -> Int[Array, " D"]:
    """New labels in canonical form, in the dtype of ``labels``."""
    return canonical(new).astype(labels.dtype)
