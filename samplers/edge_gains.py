"""The change of the log density under the flip of each edge, by low-rank updates of all edges.

The covariance function of a pair is smooth, so its matrix is nearly of low rank. For a flip that
adds ``P S P^T`` to the covariance ``K`` of the observations, with r columns and signs ``S``, the
log evidence changes by

    -log|S (S + P^T K^-1 P)| / 2 + b^T (S + P^T K^-1 P)^-1 b / 2,  b = P^T K^-1 y.

A first-order expansion in the covariance is no substitute. When noise is small, the directions that
a pair adds have a thousand times the noise variance, and changes are far from linear. With 200
observations of 20 parameters, a pair that loses 1 in log density gains 100 to first order.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jaxtyping import Bool, Float, Float32, Int
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
"""Number of edges with low-rank gains: the present edges, then the largest first-order gains. The
gains of all other edges are at most their prior log odds."""
LEAST_PIVOT = 1e-6
"""Lower bound of pivots and of sums of squares, against rounding errors."""
BLOCK = 2**10
"""Number of columns per matrix product on a CPU, sized for its cache."""


class _Evaluated(NamedTuple):
    """A graph, with the solution of the Gaussian process given that graph.

    Args:
        edges: edge matrix.
        components: sums over the components of the graph.
        gram: covariance of the components.
        whitener: inverse of the Cholesky factor.
        inverse: inverse covariance of the observations.
        alpha: inverse covariance times the observations.
    """

    edges: Bool[Array, "D D"]
    components: ComponentSums
    gram: Float[Array, "M M"]
    whitener: Float32[Array, "M M"]
    inverse: Float[Array, "M M"]
    alpha: Float[Array, " M"]

    @classmethod
    def of(cls, conditional: Conditional, point: Point) -> "_Evaluated | None":
        """The graph of a point with its solution; None if moves are not incremental."""
        if point.components is None or point.solution is None:
            return None
        whitener, alpha = point.solution
        edges, inverse = point.value.astype(bool), whitener.T @ whitener
        gram = conditional.components_at_centers(point.components)
        return cls(edges, point.components, gram, whitener.astype(jnp.float32), inverse, alpha)


def prior_log_odds(prior: Distribution, edges: Int[Array, "D D"]) -> Float[Array, " D*(D-1)//2"]:
    """The change of the prior log density under the flip of each edge i < j.

    Args:
        prior: prior of the edge matrix; changes are zero unless it is an `EdgeBernoulli`.
        edges: the edge matrix.
    """
    pairs = np.triu_indices(len(edges), 1)
    if not isinstance(prior, EdgeBernoulli):
        return jnp.zeros(len(pairs[0]))
    log_odds: Float[Array, " D*(D-1)//2"] = prior.flip_log_odds(edges)[pairs]
    return log_odds


def flip_gains(conditional: Conditional, point: Point) -> Float[Array, " E"]:
    """The change of the log density under the flip of each edge i < j.

    If ``conditional.flips_pairs``, a flip adds or removes the component of its two variables, and
    edges of inactive variables change the prior only. Otherwise, the gains exclude the evidence.

    Args:
        conditional: the model as a function of its edges.
        point: a point evaluated with its solution.
    """
    pairs = np.triu_indices(len(point.value), 1)
    log_odds = prior_log_odds(conditional.prior, point.value)
    graph = _Evaluated.of(conditional, point) if conditional.flips_pairs else None
    if graph is None or not len(log_odds):
        return log_odds
    with jax.default_matmul_precision("highest"):  # by default, JAX uses fewer bits on a GPU
        gains = _gains(conditional, graph, pairs)
    return conditional.evidence_power * _of_active(conditional, point, gains) + log_odds


def _gains(
    conditional: Conditional,
    graph: _Evaluated,
    pairs: tuple[Int[np.ndarray, " E"], Int[np.ndarray, " E"]],
) -> Float[Array, " E"]:
    """Gains of the evidence by low-rank updates; with many edges, some to first order."""
    if len(pairs[0]) <= MAX_REFINED:
        return _low_rank_gains(conditional, graph, *map(jnp.asarray, pairs))
    first = _first_order_gains(conditional, graph)[pairs]
    _, chosen = jax.lax.top_k(jnp.where(graph.edges[pairs], jnp.inf, first), MAX_REFINED)
    refined = _low_rank_gains(conditional, graph, *(jnp.asarray(end)[chosen] for end in pairs))
    return jnp.minimum(first, 0.0).at[chosen].set(refined)


def _of_active(
    conditional: Conditional, point: Point, gains: Float[Array, " E"]
) -> Float[Array, " E"]:
    """Gains of the evidence, set to zero for edges of inactive variables."""
    rule = conditional.decomposition(point.value).valid_flip_rule
    if rule is None:
        return gains
    is_active = jnp.diagonal(rule.edges)
    first, second = np.triu_indices(len(point.value), 1)
    return gains * is_active[first] * is_active[second]


def _low_rank_gains(
    conditional: Conditional, graph: _Evaluated, first: Int[Array, " E"], second: Int[Array, " E"]
) -> Float[Array, " E"]:
    """Gains of the evidence by low-rank updates for edges with these ends."""
    total = graph.components.total
    sign = jnp.where(graph.edges[first, second], -1.0, 1.0)
    weight = 2.0 * conditional.strengths[first, second]
    new_total = jnp.maximum(total + sign * weight, 1e-6)
    scale = conditional.covariance.shared_variance / jnp.maximum(total, new_total)
    return _evidence_gains(
        graph,
        P=_scaled(_products(conditional.features, first, second), scale * weight),
        signs=jnp.repeat(sign[:, None], PRODUCTS, 1),
        factor=total / new_total,
    )


def _products(
    rows: Float[Array, "D F M"], first: Int[Array, " E"], second: Int[Array, " E"]
) -> Float[Array, "E r M"]:
    """The r = `PRODUCTS` largest products of features of two variables."""
    lengths = jnp.square(rows).sum(2)
    strength = lengths[first][:, :, None] * lengths[second][:, None]
    _, strongest = jax.lax.top_k(strength.reshape(len(first), -1), PRODUCTS)
    one, other = jnp.divmod(strongest, FEATURES)
    return rows[first[:, None], one] * rows[second[:, None], other]


def _scaled(rows: Float[Array, "E r M"], variances: Float[Array, " E"]) -> Float[Array, "E r M"]:
    """Features scaled to the given variances."""
    return rows * jnp.sqrt(variances).astype(rows.dtype)[:, None, None]


def _evidence_gains(
    graph: _Evaluated,
    P: Float[Array, "E r M"],
    signs: Float[Array, "E r"],
    factor: Float[Array, " E"],
) -> Float[Array, " E"]:
    """The sum of the formula above and `_gain_of_scale` of the components that stay.

    Args:
        graph: the graph before the flips.
        P: features that each flip adds or removes.
        signs: diagonal of S.
        factor: change of the variance of all other components, as a factor.
    """
    explained = graph.gram @ graph.alpha
    sides = jnp.stack([graph.alpha, graph.inverse @ explained], 1).astype(P.dtype)
    whitened, signs = P @ graph.whitener.T, signs.astype(P.dtype)
    inner = jnp.einsum("erm,esm->ers", whitened, whitened)
    linear = P @ sides
    b, c = linear[:, :, 0], linear[:, :, 1]
    # Only components that stay change their variance, so removed ones are subtracted.
    b_removed = jnp.where(signs < 0.0, b, 0.0)
    c -= jnp.einsum("ers,es->er", inner, b_removed)
    q = graph.alpha @ explained - jnp.square(b_removed).sum(1)
    r_removed = jnp.where(signs < 0.0, jnp.diagonal(inner, axis1=1, axis2=2), 0.0).sum(1)
    r = (graph.inverse * graph.gram).sum() - r_removed
    gains, less = _solved(inner, b, c, signs)
    return gains + _gain_of_scale(factor, r, jnp.square(q - less) / jnp.maximum(q, LEAST_PIVOT))


def _solved(
    inner: Float[Array, "E r r"],
    b: Float[Array, "E r"],
    c: Float[Array, "E r"],
    signs: Float[Array, "E r"],
) -> tuple[Float[Array, " E"], Float[Array, " E"]]:
    """The change by the formula above, and ``c^T (S + P^T K^-1 P)^-1 b``.

    Gaussian elimination leaves both quadratic forms in the last column.

    Args:
        inner: ``P^T K^-1 P``.
        b, c: vectors of the quadratic forms.
        signs: diagonal of S.
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


def _gain_of_scale(
    factor: Float[Array, "*S"], r: Float[Array, "*#S"], q: Float[Array, "*#S"]
) -> Float[Array, "*S"]:
    """The gain of the evidence if the variance of some components is multiplied by a factor.

    The gain has this form if the components dominate some directions and noise dominates all
    others. With the covariance ``G`` of the components, the number of these directions is the
    trace ``r`` of ``K^-1 G``. The squared values along them, in units of their variance, sum to
    ``q = y^T K^-1 G K^-1 y``.

    A new pair that explains the same values reduces q. The form across a flip, ``m = y^T K^-1 G
    K'^-1 y``, is known, and ``m^2 / q`` approximates the reduced q.
    """
    return 0.5 * (q * (1.0 - 1.0 / factor) - r * jnp.log(factor))


def _first_order_gains(conditional: Conditional, graph: _Evaluated) -> Float[Array, "D D"]:
    """First-order changes of the evidence, a symmetric matrix."""
    gradient = 0.5 * (jnp.outer(graph.alpha, graph.alpha) - graph.inverse)
    weights = gradient_by_distinct(gradient)
    change, total = 2.0 * conditional.strengths, graph.components.total
    inner = change * weighted_products(conditional.distinct_factors, weights)
    sign = jnp.where(graph.edges, -1.0, 1.0)
    new_total = jnp.maximum(total + sign * change, 1e-6)
    shared = conditional.covariance.shared_variance / new_total
    r, q = (graph.inverse * graph.gram).sum(), graph.alpha @ graph.gram @ graph.alpha
    return sign * shared * inner + _gain_of_scale(total / new_total, r, q)


def weighted_products(
    factors: Float[Array, "D E"], weights: Float[Array, " E"]
) -> Float[Array, "D D"]:
    """Weighted inner products of all pairs of rows.

    Columns after the last nonzero weight are padding, and are skipped.
    """
    num_columns = len(weights)
    size = num_columns if has_accelerator() else min(BLOCK, num_columns)
    last = jnp.max(jnp.where(weights == 0.0, 0, jnp.arange(num_columns)))

    def add(k: Array, sum_: Array) -> Array:
        # The last block overlaps the block before it.
        start = jnp.minimum(k * size, num_columns - size)
        part = jax.lax.dynamic_slice_in_dim(factors, start, size, 1)
        weight = jax.lax.dynamic_slice_in_dim(weights, start, size)
        weight = jnp.where(start + jnp.arange(size) < k * size, 0.0, weight)
        return sum_ + (part * weight) @ part.T

    zero = jnp.zeros((len(factors), len(factors)), factors.dtype)
    return jax.lax.fori_loop(0, last // size + 1, add, zero)
