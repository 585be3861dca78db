"""The blocks over structures: a row enrols a block in all tests of common properties."""

from collections.abc import Callable
from itertools import product
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import numpyro.distributions as dist
from jax import Array

from structbo import samplers
from structbo.models import ActiveBernoulli, CRPPartition, EdgeBernoulli


class Row(NamedTuple):
    """A block, the prior of a site that it moves, and the possible entries of its values."""

    block: type[samplers.StructureBlock]
    prior: Callable[[int], dist.Distribution]
    num_levels: Callable[[int], int] = lambda num_dims: 2

    def values(self, num_dims: int) -> Array:
        """All values of the site."""
        prior = self.prior(num_dims)
        shape = prior.batch_shape + prior.event_shape
        every = product(range(self.num_levels(num_dims)), repeat=int(np.prod(shape)))
        dtype = prior.sample(jax.random.key(0)).dtype
        values = jnp.array(list(every), dtype).reshape(-1, *shape)
        return values[np.array([prior.support(value).all() for value in values])]


def graphs(num_dims: int) -> dist.Distribution:
    return EdgeBernoulli(num_dims, 0.4)


def seats(num_dims: int) -> dist.Distribution:
    return CRPPartition(num_dims, 2.0)


def levels(num_dims: int) -> dist.Distribution:
    return dist.DiscreteUniform(0, 2).expand([num_dims]).to_event(1)


BLOCKS: dict[str, Row] = {
    "EdgeGibbs": Row(samplers.EdgeGibbs, graphs),
    "EdgeFlips": Row(samplers.EdgeFlips, graphs),
    "InformedEdges": Row(samplers.InformedEdges, graphs),
    "PartitionGibbs": Row(samplers.PartitionGibbs, seats, lambda num_dims: num_dims),
    "SplitMerge": Row(samplers.SplitMerge, seats, lambda num_dims: num_dims),
    "RestrictedSplitMerge": Row(samplers.RestrictedSplitMerge, seats, lambda num_dims: num_dims),
    "PartitionMoves": Row(samplers.PartitionMoves, seats, lambda num_dims: num_dims),
    "ActiveGibbs": Row(samplers.ActiveGibbs, lambda num_dims: ActiveBernoulli(num_dims, 0.3)),
    "GridGibbs": Row(samplers.GridGibbs, levels, lambda num_dims: 3),
}
"""All blocks but `PriorDraws`, which ignores data and is tested with random trees."""
