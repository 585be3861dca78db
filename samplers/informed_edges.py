"""Locally informed edge moves: the gradient of the evidence guides the proposals."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from structbo.models.accelerator import has_accelerator
from structbo.models.structures.edge_matrix import EdgeBernoulli
from structbo.models.supports import Adjacency
from structbo.samplers.conditional import Components, Conditional, Point, gradient_by_distinct
from structbo.samplers.edge_gibbs import flipped, num_pairs
from structbo.samplers.metropolis import Metropolis

UNIFORM, UNIFORM_WHERE_GUESSED = 0.1, 0.5
"""Shares of proposals that the scores do not guide."""
MAX_MOVES, MIN_MOVES = 20, 10
MOVES_TIMES_DIMS = 200
"""The more dimensions, the more a move costs, and the more edges it flips: this, divided by D, are
those of a step."""
FEW_DIMS = 10
"""Of so few variables most edges matter, and proposals have one flip."""
MORE, MAX_MORE = 0.2, 4.0
"""How probable it is that an edge whose flip is a certain gain is flipped along with the first, and
how many such edges there may be on average: each costs a pass over the covariance."""
ALONE = 1e-30
"""In place of a probability of zero, whose logarithm is finite."""
BLOCK = 2**10
"""So many columns at a time stay in a processor's cache while they are multiplied. An accelerator
multiplies all at once."""


class Guide(NamedTuple):
    """How probable the flips of edges are in proposals, each of shape (D (D - 1) / 2,).

    Args:
        first: log probabilities of the flip that every proposal has.
        more: probabilities of all others, each for itself.
    """

    first: Array
    more: Array

    def with_more(self, is_wanted: Array) -> "Guide":
        """The same, or with no flip but the first."""
        return self._replace(more=jnp.maximum(jnp.where(is_wanted, self.more, 0.0), ALONE))

    def draw(self, key: Array) -> Array:
        """Which edges a proposal flips, bool."""
        key_more = jax.random.fold_in(key, 0)
        others = jax.random.uniform(key_more, self.more.shape) < self.more
        return others.at[jax.random.categorical(key, self.first)].set(True)

    def log_prob(self, flips: Array) -> Array:
        """That a proposal flips these edges; any of them may have been the first."""
        log_more = jnp.log(self.more)
        others = jnp.where(flips, log_more, jnp.log1p(-self.more)).sum()
        return others + jax.nn.logsumexp(jnp.where(flips, self.first - log_more, -jnp.inf))


class InformedEdges(Metropolis):
    """Metropolis-Hastings on edges with proposals weighted by their first-order gain.

    With ``G`` the derivative of the log evidence by the covariance, ``<G, k_i k_j>`` for all pairs
    is one matrix product and gives the first-order change of the log density under every flip. A
    flip is proposed with probability proportional to ``t / (1 + t)``, ``t`` the exponential of that
    change, and accepted with the exact Metropolis-Hastings ratio, which needs the same scores at
    the proposed graph. Each move costs one Cholesky, one inverse and one matrix product.

    Many edges of a large graph matter so little that almost every flip is accepted. So with more
    than ten variables every other proposal, on average, flips more edges along with the first, each
    of them with a probability of ``t / (1 + t) / 5`` or less, so that they are not more than four
    on average.

    Where noise is small, first-order changes are far from the true ones: adding a pair that
    explains nothing can look like a certain loss, or gain, and removing one that explains much can
    look free. An edge that was added would stay, if the way back had almost no probability; so the
    first of one in ten proposals, on average, is any edge. And several flips at once are hardly
    ever accepted; so the other half of proposals has one.

    Where more than the components depends on the edges, or the likelihood is not a `MarginalGP`,
    the scores are those of the prior alone. Where the components are not those of `pairs` or
    `cliques`, what a flip changes is a guess. In both cases proposals have one flip, and every
    other one, on average, is of any edge.

    Args:
        model: the NumPyro model.
        num_moves: proposals per step; by default 20 with up to 10 variables, 10 with 20 or more.

    References:
        Zanella 2020, "Informed proposals for local MCMC in discrete spaces"; Zhang et al. 2022, "A
        Langevin-like sampler for discrete distributions", for several flips at once.
    """

    support = Adjacency

    def moves_per_step(self, value: Array) -> int:
        moves = min(max(MOVES_TIMES_DIMS // len(value), MIN_MOVES), MAX_MOVES)
        return moves if num_pairs(value) else 0

    def start(self, conditional: Conditional, value: Array) -> Point:
        return self._guided(conditional, conditional.start(value, with_gradient=True))

    def propose(self, key: Array, conditional: Conditional, point: Point) -> tuple[Point, Array]:
        several = jax.random.bernoulli(jax.random.fold_in(key, 1))
        here = point.guide.with_more(several)
        flips = here.draw(key)
        value = flipped(point.value, flips)
        new = self._guided(conditional, conditional.move(point, value, with_gradient=True))
        return new, new.guide.with_more(several).log_prob(flips) - here.log_prob(flips)

    def _guided(self, conditional: Conditional, point: Point) -> Point:
        """The point with the probabilities of its flips."""
        gains = first_order_gains(conditional, point)[np.triu_indices(len(point.value), 1)]
        scores = jax.nn.log_sigmoid(gains)
        share = UNIFORM if conditional.has_flip_rule else UNIFORM_WHERE_GUESSED
        uniform = jnp.log(share / len(scores))
        log_shares = jax.nn.log_softmax(scores)
        first = jnp.logaddexp(jnp.log1p(-share) + log_shares, uniform)
        more = jnp.minimum(MORE * jnp.exp(scores), MAX_MORE * jnp.exp(log_shares))
        is_free = conditional.has_flip_rule and len(point.value) > FEW_DIMS
        more = more if is_free else jnp.zeros_like(more)
        # Moves do not need the gradient, and carrying it would cost a copy each.
        return point._replace(gradient=None, guide=Guide(first, more))


def first_order_gains(conditional: Conditional, point: Point) -> Array:
    """First-order change of the log density under the flip of each edge, (D, D) and symmetric.

    The components of a flip are taken to be the pair itself and, where main effects are not kept,
    those of its ends that have no other edge. That is exact for `pairs`, where edges of inactive
    variables gain nothing; for `cliques` it ignores common neighbors, which makes proposals less
    informed, but still exact: the acceptance ratio uses the same scores.
    """
    prior = conditional.prior
    log_odds = prior.flip_log_odds(point.value) if isinstance(prior, EdgeBernoulli) else 0.0
    if point.components is None or point.gradient is None:
        return jnp.broadcast_to(log_odds, point.value.shape)
    gains = _evidence_gains(conditional, point.value, point.components, point.gradient)
    return conditional.evidence_power * gains + log_odds


def _evidence_gains(
    conditional: Conditional, value: Array, components: Components, gradient: Array
) -> Array:
    """The part of the log evidence, shape (D, D)."""
    covariance = conditional.covariance
    factors, weights = conditional.distinct_factors, gradient_by_distinct(gradient)
    relevance = jnp.ones(len(factors)) if covariance.relevance is None else covariance.relevance
    edges = value.astype(bool)
    weight = relevance[:, None] + relevance
    inner = weight * weighted_products(factors, weights)
    if not covariance.decomposition.has_main_effects:
        is_lone = (edges.sum(1)[:, None] - edges) == 0
        for own in (is_lone * relevance[:, None], is_lone.T * relevance):
            weight = weight - own
        main = relevance * (factors @ weights)
        inner = inner - is_lone * main[:, None] - is_lone.T * main

    sign = jnp.where(edges, -1.0, 1.0)
    change, total = sign * weight, jnp.maximum(components.total + sign * weight, 1e-6)
    overall = (gradient * components.gram).sum() / components.total
    gain = covariance.shared_variance / total * (sign * inner - change * overall)
    decomposition = conditional.decomposition(value)
    rule = decomposition.valid_flip_rule
    if decomposition.has_main_effects and rule is not None:
        is_active = jnp.diagonal(rule.edges)
        gain *= is_active[:, None] & is_active
    return gain


def weighted_products(factors: Array, weights: Array) -> Array:
    """Inner products of all pairs of rows (D, E) with weights (E,): shape (D, D).

    Columns after the last weight that is not zero, those of padding, are not visited.
    """
    num_columns = len(weights)
    size = num_columns if has_accelerator() else min(BLOCK, num_columns)
    last = jnp.max(jnp.where(weights == 0.0, 0, jnp.arange(num_columns)))

    def add(k: Array, sum_: Array) -> Array:
        # The last block of all begins earlier, with columns of the one before it.
        start = jnp.minimum(k * size, num_columns - size)
        part = jax.lax.dynamic_slice_in_dim(factors, start, size, 1)
        weight = jax.lax.dynamic_slice_in_dim(weights, start, size)
        weight = jnp.where(start + jnp.arange(size) < k * size, 0.0, weight)
        return sum_ + (part * weight) @ part.T

    zero = jnp.zeros((len(factors), len(factors)), factors.dtype)
    return jax.lax.fori_loop(0, last // size + 1, add, zero)
