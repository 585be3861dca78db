"""Random-scan Gibbs sampling of edges, exact and incremental."""

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jaxtyping import Bool, Int

from structbo.models.foundation.arrays import RandomKey
from structbo.models.supports import Adjacency
from structbo.samplers.heat_bath import HeatBath


class EdgeGibbs(HeatBath):
    """Draws randomly chosen edges from their full conditionals.

    The conditional of an edge is Bernoulli with probability ``p1 / (p0 + p1)``, where ``p0`` and
    ``p1`` are the joint densities without and with the edge. Each visit costs one Cholesky
    factorization.

    Args:
        model: the NumPyro model.
        num_moves: number of edges to visit per step; by default the number of pairs of variables.

    References:
        Rolland et al. 2018, section 4, algorithm 3.
    """

    support = Adjacency

    def moves_per_step(self, value: Int[Array, "D D"]) -> int:
        return num_pairs(value)

    def alternative(self, key: RandomKey, value: Int[Array, "D D"]) -> Int[Array, "D D"]:
        count = num_pairs(value)
        return flipped(value, jnp.arange(count) == jax.random.randint(key, (), 0, count))


def num_pairs(value: Int[Array, "D D"]) -> int:
    """Number of possible edges of an edge matrix."""
    num_dims = value.shape[0]
    return num_dims * (num_dims - 1) // 2


def flipped(value: Int[Array, "D D"], flips: Bool[Array, " D*(D-1)//2"]) -> Int[Array, "D D"]:
    """The edge matrix after flips of pairs i < j, in the dtype of ``value``."""
    upper = jnp.zeros(value.shape, bool).at[np.triu_indices(value.shape[0], 1)].set(flips)
    return (value.astype(bool) ^ upper ^ upper.T).astype(value.dtype)
