"""Metropolis-Hastings split and merge moves over partitions."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import Array
from jaxtyping import Bool, Float, Int

from structbo.models.foundation.arrays import RandomKey
from structbo.models.likelihood import Model
from structbo.models.structures.partition import block_sizes
from structbo.samplers.conditional import Conditional, Point, choose
from structbo.samplers.partition_gibbs import PartitionBlock, relabeled


class SplitMerge(PartitionBlock):
    """Splits a random block at random, or merges two random blocks.

    Splits and merges are equally probable if both are possible. Each proposal costs one Cholesky
    factorization.

    Args:
        model: the NumPyro model.
        num_moves: number of proposals per step; by default the number of dimensions.

    References:
        Gardner et al. 2017, section 4, with corrections: a block of size k has ``2^(k - 1) - 1``
        proper splits, not ``2^(k - 1)``; only blocks of several dimensions are split; if a split
        is impossible, a merge is certain, and vice versa.
    """

    def moves_per_step(self, value: Int[Array, " D"]) -> int:
        return len(value) if len(value) > 1 else 0

    def propose(
        self, key: RandomKey, conditional: Conditional, point: Point
    ) -> tuple[Point, Float[Array, ""]]:
        labels, log_ratio = propose(key, point.value)
        return conditional.move(point, labels), log_ratio


class Proposals(NamedTuple):
    """Log probabilities of the moves of `propose` from a partition.

    Args:
        split: log probability of one proper split of each block, -inf if impossible.
        merge: log probability of merging one pair of blocks, -inf if impossible.
    """

    split: Float[Array, " D"]
    merge: Float[Array, ""]

    @classmethod
    def of(cls, labels: Int[Array, " D"]) -> "Proposals":
        """The probabilities at a partition with canonical labels."""
        sizes = block_sizes(labels).astype(float)
        num_blocks, num_splittable = (sizes > 0).sum(), (sizes > 1).sum()
        log_half = jnp.where((num_blocks > 1) & (num_splittable > 0), -jnp.log(2.0), 0.0)
        # 2^(k - 1) - 1 without overflow
        log_ways = (sizes - 1) * jnp.log(2.0) + jnp.log1p(-jnp.exp2(1 - jnp.maximum(sizes, 2)))
        log_pairs = jnp.log(num_blocks * (num_blocks - 1) / 2)
        return cls(
            jnp.where(sizes > 1, log_half - jnp.log(num_splittable) - log_ways, -jnp.inf),
            jnp.where(num_blocks > 1, log_half - log_pairs, -jnp.inf),
        )


def propose(key: RandomKey, labels: Int[Array, " D"]) -> tuple[Int[Array, " D"], Float[Array, ""]]:
    """Proposes a split or a merge.

    Args:
        key: a JAX random key.
        labels: canonical labels of a partition of several dimensions.

    Returns:
        The proposed partition, and the log ratio of the reverse to the forward proposal
        probability.
    """
    key_kind, key_block, key_sides = jax.random.split(key, 3)
    num_dims = labels.shape[0]
    sizes, here = block_sizes(labels), Proposals.of(labels)
    is_split = jax.random.bernoulli(key_kind) | (sizes.max() == num_dims)
    is_split &= sizes.max() > 1

    eligible = jnp.where(is_split, sizes > 1, sizes > 0)
    order = jnp.argsort(jnp.where(eligible, jax.random.uniform(key_block, (num_dims,)), 2.0))
    block, other = order[0], order[1]

    members = labels == block
    leaves = members & _proper_subset(key_sides, members)
    split = jnp.where(leaves, num_dims, labels)
    merged = jnp.where(labels == other, block, labels)
    new = relabeled(labels, jnp.where(is_split, split, merged))

    there = Proposals.of(new)
    back_from_merge = there.split[new[jnp.argmax(members)]]
    return new, jnp.where(is_split, there.merge - here.split[block], back_from_merge - here.merge)


def _proper_subset(key: RandomKey, members: Bool[Array, " D"]) -> Bool[Array, " D"]:
    """A uniform random non-empty subset of the members without the first.

    Rejection sampling with fair coins: an empty subset is redrawn.
    """
    others = members.at[jnp.argmax(members)].set(False)

    def throw(state: tuple[Array, Array]) -> tuple[Array, Array]:
        key, key_coins = jax.random.split(state[0])
        return key, others & jax.random.bernoulli(key_coins, shape=others.shape)

    init = (key, jnp.zeros_like(others))
    return jax.lax.while_loop(lambda s: others.any() & ~s[1].any(), throw, init)[1]


class RestrictedSplitMerge(PartitionBlock):
    """Splits a block by restricted Gibbs scans, or merges two blocks.

    Two random dimensions stay apart. The other dimensions of their blocks are divided at random,
    then by Gibbs sampling between the two sides. The last scan proposes a split, or gives the
    probability of the reverse move if the two dimensions are in different blocks. A move of a block
    of size k costs about ``(num_scans + 1) (k - 2)`` Cholesky factorizations.

    Args:
        model: the NumPyro model.
        num_moves: number of proposals per step; by default one.
        num_scans: number of scans over the dimensions before the last one.

    References:
        Jain and Neal 2004, "A split-merge Markov chain Monte Carlo procedure for the Dirichlet
        process mixture model", section 4.2.
    """

    def __init__(self, model: Model, num_moves: int | None = None, num_scans: int = 1) -> None:
        super().__init__(model, num_moves)
        self._num_scans = num_scans

    def moves_per_step(self, value: Int[Array, " D"]) -> int:
        return 1 if len(value) > 1 else 0

    def propose(
        self, key: RandomKey, conditional: Conditional, point: Point
    ) -> tuple[Point, Float[Array, ""]]:
        labels, num_dims = point.value, point.value.shape[0]
        key_pair, key_launch, key_scans = jax.random.split(key, 3)
        i, j = jax.random.choice(key_pair, num_dims, (2,), replace=False)
        is_split = labels[i] == labels[j]
        union = (labels == labels[i]) | (labels == labels[j])
        free = union.at[jnp.array([i, j])].set(False)

        def divided(sides: Bool[Array, " D"]) -> Int[Array, " D"]:
            """The partition with the union divided into two blocks."""
            inside = jnp.where(sides, num_dims, num_dims + 1)
            return relabeled(labels, jnp.where(union, inside, labels))

        def scan(
            key: RandomKey,
            launch: tuple[Point, Bool[Array, " D"]],
            wanted: Bool[Array, " D"] | None = None,
        ) -> tuple[Point, Bool[Array, " D"], Float[Array, ""]]:
            """One Gibbs scan and its log probability; a merge scan is forced to ``wanted``."""
            thresholds = jax.random.uniform(key, (num_dims,))

            def visit(
                state: tuple[Array, Point, Array, Array],
            ) -> tuple[Array, Point, Array, Array]:
                rest, point, sides, log_prob = state
                dim = jnp.argmax(rest)
                new = conditional.move(point, divided(sides.at[dim].set(~sides[dim])))
                gain = self.height(new) - self.height(point)
                flip = thresholds[dim] < jax.nn.sigmoid(gain)
                if wanted is not None:
                    flip = jnp.where(is_split, flip, wanted[dim] != sides[dim])
                log_prob += jax.nn.log_sigmoid(jnp.where(flip, gain, -gain))
                sides = sides.at[dim].set(sides[dim] ^ flip)
                return rest.at[dim].set(False), choose(flip, new, point), sides, log_prob

            init = (free, *launch, jnp.array(0.0))
            return jax.lax.while_loop(lambda s: s[0].any(), visit, init)[1:]

        coins = jax.random.bernoulli(key_launch, shape=(num_dims,))
        sides = (coins & free).at[j].set(True)
        launch = (conditional.move(point, divided(sides)), sides)
        *first, last = jax.random.split(key_scans, self._num_scans + 1)
        for key_scan in first:
            launch = scan(key_scan, launch)[:2]
        split, _, log_prob = scan(last, launch, wanted=labels == labels[j])

        merged = relabeled(labels, jnp.where(union, num_dims, labels))
        new = jax.lax.cond(is_split, lambda: split, lambda: conditional.move(point, merged))
        return new, jnp.where(is_split, -log_prob, log_prob)
