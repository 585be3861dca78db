"""The change of the log density under the flip of each edge: nearly exact, for all edges at once.

The covariance function of a pair is smooth, so its matrix has a low rank. For a flip that adds
``P S P^T`` to the covariance ``K`` of the observations, with r columns and signs ``S``, the log
evidence changes by

    -log|S (S + P^T K^-1 P)| / 2 + b^T (S + P^T K^-1 P)^-1 b / 2,  b = P^T K^-1 y.

The derivative by the covariance is no substitute. When noise is small, the directions that a pair
adds have a thousand times the variance of the noise, and changes are far from linear. On 200 values
of 20 parameters, a pair that would lose 1 in log density seems to gain 100.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from numpyro.distributions import Distribution

from structbo.models.foundation.accelerator import has_accelerator
from structbo.models.structures.edge_matrix import EdgeBernoulli
from structbo.samplers.conditional import (
    ComponentSums,
    Conditional,
    Point,
    gradient_by_distinct,
)
from structbo.samplers.low_rank import FEATURES

PRODUCTS = 15
"""Rank of the approximation of a pair's covariance."""
MAX_REFINED = 192
"""Number of edges whose gains are refined: the present edges first, then the largest first-order
gains. The gains of the others are at most their prior log odds."""
LEAST_PIVOT = 1e-6
"""Lower bound of a remaining variance, and of a sum of squares, against rounding errors."""
BLOCK = 2**10
"""Columns of one matrix product on a processor, sized for its cache."""


class _Evaluated(NamedTuple):
    """A graph, and the observations given that graph.

    Args:
        edges: bool, shape (D, D).
        components: what they make.
        gram: of the components, shape (M, M).
        whitener: shape (M, M), in 32 bits.
        inverse: of the covariance of the observations, shape (M, M).
        alpha: shape (M,).
    """

    edges: Array
    components: ComponentSums
    gram: Array
    whitener: Array
    inverse: Array
    alpha: Array

    @classmethod
    def of(cls, conditional: Conditional, point: Point) -> "_Evaluated | None":
        """From a point with its solution; None where moves are not incremental."""
        if point.components is None or point.solution is None:
            return None
        whitener, alpha = point.solution
        edges, inverse = point.value.astype(bool), whitener.T @ whitener
        gram = conditional.components_at_centers(point.components)
        return cls(edges, point.components, gram, whitener.astype(jnp.float32), inverse, alpha)


def prior_log_odds(prior: Distribution, edges: Array) -> Array:
    """The change of the prior log density under the flip of each edge i < j.

    Args:
        prior: of an edge matrix; the changes of one that is no `EdgeBernoulli` count as zero.
        edges: the edge matrix, shape (D, D).

    Returns:
        Shape (D (D - 1) / 2,).
    """
    pairs = np.triu_indices(len(edges), 1)
    if not isinstance(prior, EdgeBernoulli):
        return jnp.zeros(len(pairs[0]))
    log_odds: Array = prior.flip_log_odds(edges)[pairs]
    return log_odds


def flip_gains(conditional: Conditional, point: Point) -> Array:
    """The change of the log density under the flip of each edge i < j, shape (D (D - 1) / 2,).

    If ``conditional.flips_pairs``, a flip adds or removes the component of its two variables, and
    edges of inactive variables change the prior only. Otherwise the gains leave out the evidence.

    Args:
        conditional: the model as a function of its edges.
        point: evaluated with its solution.
    """
    pairs = np.triu_indices(len(point.value), 1)
    log_odds = prior_log_odds(conditional.prior, point.value)
    graph = _Evaluated.of(conditional, point) if conditional.flips_pairs else None
    if graph is None or not len(log_odds):
        return log_odds
    with jax.default_matmul_precision("highest"):  # 32 bits: JAX leaves out half of them on a GPU
        gains = _gains(conditional, graph, pairs)
    return conditional.evidence_power * _of_active(conditional, point, gains) + log_odds


def _gains(
    conditional: Conditional, graph: _Evaluated, pairs: tuple[np.ndarray, np.ndarray]
) -> Array:
    """Gains of the evidence, by low rank; with many edges, some only to first order."""
    if len(pairs[0]) <= MAX_REFINED:
        return _low_rank_gains(conditional, graph, *map(jnp.asarray, pairs))
    first = _first_order_gains(conditional, graph)[pairs]
    _, chosen = jax.lax.top_k(jnp.where(graph.edges[pairs], jnp.inf, first), MAX_REFINED)
    refined = _low_rank_gains(conditional, graph, *(jnp.asarray(end)[chosen] for end in pairs))
    return jnp.minimum(first, 0.0).at[chosen].set(refined)


def _of_active(conditional: Conditional, point: Point, gains: Array) -> Array:
    """Gains of the evidence, which are zero for edges of inactive variables."""
    rule = conditional.decomposition(point.value).valid_flip_rule
    if rule is None:
        return gains
    is_active = jnp.diagonal(rule.edges)
    first, second = np.triu_indices(len(point.value), 1)
    return gains * is_active[first] * is_active[second]


def _low_rank_gains(
    conditional: Conditional, graph: _Evaluated, first: Array, second: Array
) -> Array:
    """Gains of the evidence for edges with these ends, by low rank, shape (E,)."""
    relevance, total = conditional.relevance, graph.components.total
    sign = jnp.where(graph.edges[first, second], -1.0, 1.0)
    weight = relevance[first] + relevance[second]
    new_total = jnp.maximum(total + sign * weight, 1e-6)
    scale = conditional.covariance.shared_variance / jnp.maximum(total, new_total)
    return _evidence_gains(
        graph,
        P=_scaled(_products(conditional.features, first, second), scale * weight),
        signs=jnp.repeat(sign[:, None], PRODUCTS, 1),
        factor=total / new_total,
    )


def _products(rows: Array, first: Array, second: Array) -> Array:
    """Products of features (D, 6, M) of two variables, those that explain most: (E, 15, M)."""
    lengths = jnp.square(rows).sum(2)
    strength = lengths[first][:, :, None] * lengths[second][:, None]
    _, strongest = jax.lax.top_k(strength.reshape(len(first), -1), PRODUCTS)
    one, other = jnp.divmod(strongest, FEATURES)
    return rows[first[:, None], one] * rows[second[:, None], other]


def _scaled(rows: Array, variances: Array) -> Array:
    """Features (E, r, M) of functions that are to have other variances, shape (E,)."""
    return rows * jnp.sqrt(variances).astype(rows.dtype)[:, None, None]


def _evidence_gains(graph: _Evaluated, P: Array, signs: Array, factor: Array) -> Array:
    """The sum of the formula above and of `_gain_of_scale` for the components that stay.

    Args:
        graph: before the flips.
        P: what each flip adds and removes, shape (E, r, M).
        signs: the diagonal of S, shape (E, r).
        factor: by which the variance of the other components is multiplied, shape (E,).
    """
    explained = graph.gram @ graph.alpha
    sides = jnp.stack([graph.alpha, graph.inverse @ explained], 1).astype(P.dtype)
    whitened, signs = P @ graph.whitener.T, signs.astype(P.dtype)
    inner = jnp.einsum("erm,esm->ers", whitened, whitened)
    linear = P @ sides
    b, c = linear[:, :, 0], linear[:, :, 1]
    # Components that are removed are not among those whose variance changes.
    b_removed = jnp.where(signs < 0.0, b, 0.0)
    c -= jnp.einsum("ers,es->er", inner, b_removed)
    q = graph.alpha @ explained - jnp.square(b_removed).sum(1)
    r_removed = jnp.where(signs < 0.0, jnp.diagonal(inner, axis1=1, axis2=2), 0.0).sum(1)
    r = (graph.inverse * graph.gram).sum() - r_removed
    gains, less = _solved(inner, b, c, signs)
    return gains + _gain_of_scale(factor, r, jnp.square(q - less) / jnp.maximum(q, LEAST_PIVOT))


def _solved(inner: Array, b: Array, c: Array, signs: Array) -> tuple[Array, Array]:
    """The change by the formula above, and ``c^T (S + P^T K^-1 P)^-1 b``: two of shape (E,).

    Elimination of one column after the other leaves both quadratic forms in the last one.

    Args:
        inner: ``P^T K^-1 P``, shape (E, r, r).
        b, c: shape (E, r).
        signs: the diagonal of S, shape (E, r).
    """
    num_columns = inner.shape[1]
    corner = jnp.zeros((len(inner), 2, 1), inner.dtype)
    inner += signs[:, None] * jnp.eye(num_columns, dtype=inner.dtype)
    left = jnp.concatenate([inner, b[:, None], c[:, None]], 1)
    right = jnp.concatenate([b[:, :, None], corner], 1)

    def eliminate(k: Array, state: tuple[Array, Array]) -> tuple[Array, Array]:
        matrix, log_determinant = state
        row, column = matrix[:, k], matrix[:, :, k]
        pivot = jnp.maximum(signs[:, k] * row[:, k], LEAST_PIVOT)
        step = column[:, :, None] * row[:, None, :]
        matrix = matrix - step * (signs[:, k] / pivot)[:, None, None]
        return matrix, log_determinant + jnp.log(pivot)

    init = (jnp.concatenate([left, right], 2), jnp.zeros(len(inner), inner.dtype))
    matrix, log_determinant = jax.lax.fori_loop(0, num_columns, eliminate, init)
    of_b, of_c = -matrix[:, -2, -1], -matrix[:, -1, -1]
    return 0.5 * (of_b - log_determinant), of_c


def _gain_of_scale(factor: Array, r: Array, q: Array) -> Array:
    """What the evidence gains if the variance of some components is multiplied by a factor.

    The gain has this form if the components explain all of some directions and leave the others to
    noise. It needs the number of these directions, and the squared values along them in units of
    their variance: the trace ``r`` of ``K^-1 G``, where these components add ``G`` to the
    covariance, and ``q = y^T K^-1 G K^-1 y``.

    A pair that explains the same as they do leaves less of q to them. Their sum over a flip, ``y^T
    K^-1 G K'^-1 y``, is known; the rest is in proportion.
    """
    return 0.5 * (q * (1.0 - 1.0 / factor) - r * jnp.log(factor))


def _first_order_gains(conditional: Conditional, graph: _Evaluated) -> Array:
    """First-order changes of the evidence, shape (D, D) and symmetric."""
    gradient = 0.5 * (jnp.outer(graph.alpha, graph.alpha) - graph.inverse)
    weights = gradient_by_distinct(gradient)
    relevance, total = conditional.relevance, graph.components.total
    change = relevance[:, None] + relevance
    inner = change * weighted_products(conditional.distinct_factors, weights)
    sign = jnp.where(graph.edges, -1.0, 1.0)
    new_total = jnp.maximum(total + sign * change, 1e-6)
    shared = conditional.covariance.shared_variance / new_total
    r, q = (graph.inverse * graph.gram).sum(), graph.alpha @ graph.gram @ graph.alpha
    return sign * shared * inner + _gain_of_scale(total / new_total, r, q)


def weighted_products(factors: Array, weights: Array) -> Array:
    """Inner products of all pairs of rows (D, E) with weights (E,): shape (D, D).

    Columns after the last weight that is not zero are padding, and are not visited.
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
