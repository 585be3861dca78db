"""Metropolis-Hastings on single edges, with proposals from the prior."""

import jax
import jax.numpy as jnp
from jax import Array
from jaxtyping import Float, Int
from numpyro.distributions import Distribution

from structbo.models.foundation.arrays import RandomKey
from structbo.models.supports import Adjacency
from structbo.samplers.conditional import Conditional, Point
from structbo.samplers.edge_gains import prior_log_odds
from structbo.samplers.edge_gibbs import flipped, num_pairs
from structbo.samplers.metropolis import Metropolis

MAX_MOVES = 100
LEAST_PROBABILITY = 1e-12


class EdgeFlips(Metropolis):
    """Flips one edge per proposal, drawn from an even mixture of the prior and the uniform.

    The prior part proposes an edge in proportion to its flip probability under Gibbs sampling of
    the prior, so sparse graphs gain and lose edges equally often. Each proposal costs one Cholesky
    factorization.

    Args:
        model: the NumPyro model.
        num_moves: number of proposals per step; by default one per pair of variables, at most 100.

    References:
        Liu 1996, "Peskun's theorem and a modified discrete-state Gibbs sampler", for the acceptance
        probability; Zanella 2020, "Informed proposals for local MCMC in discrete spaces".
    """

    support = Adjacency

    def moves_per_step(self, value: Int[Array, "D D"]) -> int:
        return min(num_pairs(value), MAX_MOVES)

    def propose(
        self, key: RandomKey, conditional: Conditional, point: Point
    ) -> tuple[Point, Float[Array, ""]]:
        here = flip_probabilities(conditional.prior, point.value)
        edge = jax.random.categorical(key, jnp.log(here))
        new = conditional.move(point, flipped(point.value, jnp.arange(len(here)) == edge))
        there = flip_probabilities(conditional.prior, new.value)
        return new, jnp.log(there[edge] / here[edge])


def flip_probabilities(
    prior: Distribution, edges: Int[Array, "D D"]
) -> Float[Array, " D*(D-1)//2"]:
    """The probability of proposing each edge i < j.

    Args:
        prior: prior of the edge matrix.
        edges: the edge matrix.
    """
    by_prior = jax.nn.sigmoid(prior_log_odds(prior, edges))
    weights = by_prior + jnp.maximum(by_prior.mean(), LEAST_PROBABILITY)
    return weights / weights.sum()
