"""Metropolis-Hastings on single edges, which the prior proposes."""

import jax
import jax.numpy as jnp
from jax import Array
from numpyro.distributions import Distribution

from structbo.models.supports import Adjacency
from structbo.samplers.conditional import Conditional, Point
from structbo.samplers.edge_gains import prior_log_odds
from structbo.samplers.edge_gibbs import flipped, num_pairs
from structbo.samplers.metropolis import Metropolis

MAX_MOVES = 100
LEAST_PROBABILITY = 1e-12


class EdgeFlips(Metropolis):
    """Flips one edge per proposal, chosen half by its prior and half uniformly.

    The prior proposes an edge in proportion to the probability with which Gibbs sampling of the
    prior would flip it, so sparse graphs lose as many edges as they gain. Each proposal costs one
    Cholesky.

    Args:
        model: the NumPyro model.
        num_moves: proposals per step; by default one per pair of variables, at most 100.

    References:
        Liu 1996, "Peskun's theorem and a modified discrete-state Gibbs sampler", for the acceptance
        probability; Zanella 2020, "Informed proposals for local MCMC in discrete spaces".
    """

    support = Adjacency

    def moves_per_step(self, value: Array) -> int:
        return min(num_pairs(value), MAX_MOVES)

    def propose(self, key: Array, conditional: Conditional, point: Point) -> tuple[Point, Array]:
        here = flip_probabilities(conditional.prior, point.value)
        edge = jax.random.categorical(key, jnp.log(here))
        new = conditional.move(point, flipped(point.value, jnp.arange(len(here)) == edge))
        there = flip_probabilities(conditional.prior, new.value)
        return new, jnp.log(there[edge] / here[edge])


def flip_probabilities(prior: Distribution, edges: Array) -> Array:
    """The probabilities with which each edge i < j is chosen, shape (D (D - 1) / 2,).

    Args:
        prior: of the edge matrix.
        edges: the edge matrix, shape (D, D).
    """
    by_prior = jax.nn.sigmoid(prior_log_odds(prior, edges))
    weights = by_prior + jnp.maximum(by_prior.mean(), LEAST_PROBABILITY)
    return weights / weights.sum()
