"""Gram matrices of additive product kernels, which skip padding.

Loops over components have a trip count known only at run time, so padding is free. JAX cannot
reverse-differentiate such loops, so derivatives are explicit: ``d gram / d log k_d`` is the sum of
``w_c K_c`` over the components c that contain d.

Correlations of dimensions in kernel groups are inputs. They may be zero or negative, so derivatives
are with respect to them, not their logarithms.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.tree_util import register_dataclass
from jaxtyping import Bool, Float, Inexact, Int, Shaped

from structbo.models.foundation.accelerator import has_accelerator
from structbo.models.foundation.arrays import AnyArray
from structbo.models.kernels.factors import Distances, correlation_factors, total
from structbo.models.kernels.stationary import Stationary, squared_exponential

TILES = (64, 32, 16)
"""Sizes of the tiles of a large Gram matrix, the largest first."""
MAX_IN_CACHE = 2**16
"""Largest number of elements of the factors of one tile, unless it is of the smallest size. They
take half a megabyte, and sums over larger components as much again. With 20 to 200 dimensions, this
choice is up to a third faster than one size for all."""
MAX_WHOLE = 128**2
"""Largest number of elements of a Gram matrix computed without tiles, which are computed twice."""
MAX_WHOLE_FACTORS = 2**21
"""Largest number of elements of its one-dimensional factors, which take 16 MB.

With 300 dimensions and 128 points they take twice as much, and a gradient without tiles takes three
times as long as one with tiles.
"""
Points = tuple[Float[AnyArray, "n D"], Float[AnyArray, "m D"], Float[Array, " D"]]
"""Two sets of points, and lengthscales."""
Weights = tuple[Float[Array, " D"], Float[Array, " C"]]
"""Variances of the main effects, and of the rows of a table of C components."""


def component_product(
    factors: Inexact[Array, "D n m"] | Callable[[Int[Array, ""]], Inexact[Array, "n m"]],
    members: Bool[Array, " D"],
) -> Inexact[Array, "n m"]:
    """Product of the factors of one component.

    Args:
        factors: real or complex, such as one-dimensional correlations; or a function from a
            dimension to its factor.
        members: the component; without members the product is one.
    """
    factor = factors if callable(factors) else factors.__getitem__
    first = jnp.argmax(members)
    others = members.at[first].set(False)
    second = jnp.argmax(others)

    def step(state: tuple[Array, Array]) -> tuple[Array, Array]:
        rest, product = state
        dim = jnp.argmax(rest)
        return rest.at[dim].set(False), product * factor(dim)

    # Most components are pairs, which take one pass over the matrices.
    product = jnp.where(members[first], factor(first), 1.0)
    product = product * jnp.where(others[second], factor(second), 1.0)
    init = (others.at[second].set(False), product)
    return jax.lax.while_loop(lambda s: s[0].any(), step, init)[1]


class ComponentTable(NamedTuple):
    """A padded table of components, with main effects separate from the others.

    Members are not counted, because XLA would convert the booleans to a table of numbers, eight
    times as large. It also copies the members for every tile of a matrix, so they are left out
    where no component has more than two.

    Args:
        members: which dimensions are members of each row; None if no row has more than two.
        first: the first member of each row.
        second: the second member of each row.
        is_main: which rows have this member only.
        is_constant: whether the first row is a constant.
        joint: all rows, pairs first, then larger components.
        num_pairs: the number of pairs.
        num_joint: the number of rows with several members.
    """

    members: Bool[Array, "C D"] | None
    first: Int[Array, " C"]
    second: Int[Array, " C"]
    is_main: Bool[Array, " C"]
    is_constant: Bool[Array, ""]
    joint: Int[Array, " C"]
    num_pairs: Int[Array, ""]
    num_joint: Int[Array, ""]

    @classmethod
    def of(cls, members: Bool[Array, "C D"], max_size: int | None = None) -> "ComponentTable":
        """The table of components with these members, at most ``max_size`` of each."""
        dims = jnp.arange(members.shape[1])
        first = jnp.argmax(members, 1)
        others = members & (dims != first[:, None])
        second = jnp.argmax(others, 1)
        has_two = others.any(1)
        has_any, are_pairs = members.any(1), max_size is not None and max_size <= 2
        is_pair = has_two if are_pairs else has_two & ~(others & (dims != second[:, None])).any(1)
        order = jnp.argsort(jnp.where(is_pair, 0, jnp.where(has_two, 1, 2)))
        return cls(
            None if are_pairs else members,
            first,
            second,
            has_any & ~has_two,
            ~has_any.any(),
            order,
            is_pair.sum(),
            has_two.sum(),
        )

    def by_dim(self, weights: Float[Array, " C"], num_dims: int) -> Float[Array, " D"]:
        """The weights of the main effects by dimension, zero for dimensions without one."""
        nothing = jnp.zeros(num_dims, weights.dtype)
        return nothing.at[self.first].add(jnp.where(self.is_main, weights, 0.0))

    def constant(self, weights: Float[Array, " C"]) -> Float[Array, ""]:
        """The weight of the constant, zero if there is none."""
        return jnp.where(self.is_constant, weights[0], 0.0)


@partial(register_dataclass, data_fields=["factors"], meta_fields=["dims"])
@dataclass(frozen=True)
class OwnFactors:
    """Correlations in the E dimensions of kernel groups.

    The lengthscales of the shared kernel must be infinite there.

    Args:
        dims: these dimensions.
        factors: correlations in each of them.
    """

    dims: tuple[int, ...]
    factors: Float[Array, "E n m"]

    def cover(self, num_dims: int) -> bool:
        """Whether all dimensions are in kernel groups."""
        return len(self.dims) == num_dims

    def into(self, factors: Float[Array, "D n m"]) -> Float[Array, "D n m"]:
        """The correlations in all dimensions, from the shared kernel's correlations."""
        return factors.at[jnp.array(self.dims)].set(self.factors)

    def ordered(self) -> Float[Array, "E n m"]:
        """The correlations in the order of the dimensions."""
        return (
            self.factors
            if self.dims == (*sorted(self.dims),)
            else self.factors[np.argsort(self.dims)]
        )


def all_factors(
    kernel: Stationary, categorical: tuple[int, ...], points: Points, own: OwnFactors | None
) -> Float[Array, "D n m"]:
    """One-dimensional correlations: from the shared kernel or from kernel groups."""
    if own is not None and own.cover(len(points[2])):
        return own.ordered()
    factors: Array = correlation_factors(kernel, categorical, *points)
    return factors if own is None else own.into(factors)


@jax.custom_vjp
def component_sum(
    factors: Float[Array, "D n m"], weights: Weights, components: ComponentTable
) -> Float[Array, "n m"]:
    """Weighted sum of component products, from one-dimensional factors.

    Args:
        factors: of every dimension, such as prior variances.
        weights: variances of the main effects, and of all components, whose entries for main
            effects are ignored.
        components: the components.

    Returns:
        ``sum_c w_c prod_{d in c} f_d``.
    """
    return _sum(factors, weights, components)


def _sum(
    factors: Float[Array, "D n m"], weights: Weights, components: ComponentTable
) -> Float[Array, "n m"]:
    main, table = weights

    def pair(k: Array, gram: Array) -> Array:
        c = components.joint[k]
        return gram + table[c] * factors[components.first[c]] * factors[components.second[c]]

    gram = jnp.tensordot(main, factors, 1) + components.constant(table)
    gram = jax.lax.fori_loop(0, components.num_pairs, pair, gram)
    if (members := components.members) is None:
        return gram

    def larger(k: Array, gram: Array) -> Array:
        c = components.joint[k]
        return gram + table[c] * component_product(factors, members[c])

    return jax.lax.fori_loop(components.num_pairs, components.num_joint, larger, gram)


def _sum_backward(
    saved: tuple[Array, Weights, ComponentTable], cotangent: Float[Array, "n m"]
) -> tuple[Array, Weights, None]:
    factors, weights, components = saved
    by_table, others = _sums_of_components(factors, weights, components, cotangent, with_dim=False)
    return cotangent * others, (jnp.tensordot(factors, cotangent, 2), by_table), None


component_sum.defvjp(lambda *given: (_sum(*given), given), _sum_backward)


@partial(jax.custom_vjp, nondiff_argnums=(0, 1))
def additive_gram(
    kernel: Stationary,
    categorical: tuple[int, ...],
    points: Points,
    weights: Weights,
    components: ComponentTable,
    own: OwnFactors | None = None,
) -> Float[Array, "n m"]:
    """Weighted sum of component products.

    Args:
        kernel: the one-dimensional correlation function.
        categorical: indices of the categorical dimensions.
        points: two sets of points, and lengthscales.
        weights: variances of the main effects, and of all components, whose entries for main
            effects are ignored.
        components: the components.
        own: correlations in dimensions with other kernels, or None.

    Returns:
        ``sum_c w_c prod_{d in c} k_d``.
    """
    return _additive_forward(kernel, categorical, points, weights, components, own)[0]


def _additive_forward(
    kernel: Stationary,
    categorical: tuple[int, ...],
    points: Points,
    weights: Weights,
    components: ComponentTable,
    own: OwnFactors | None,
) -> tuple[Array, tuple[Points, Weights, ComponentTable, OwnFactors | None, Array]]:
    factors = all_factors(kernel, categorical, points, own)
    return _sum(factors, weights, components), (points, weights, components, own, factors)


def _additive_backward(
    kernel: Stationary,
    categorical: tuple[int, ...],
    saved: tuple[Points, Weights, ComponentTable, OwnFactors | None, Array],
    cotangent: Float[Array, "n m"],
) -> tuple[Points, Weights, None, OwnFactors | None]:
    points, weights, components, own, factors = saved
    by_main = jnp.tensordot(factors, cotangent, 2)
    sums = partial(_sums_of_components, factors, weights, components, cotangent)
    by_own = None
    if own is not None:
        by_table, others = sums(with_dim=False)
        by_own = OwnFactors(own.dims, cotangent * others[jnp.array(own.dims)])
        if own.cover(len(factors)):
            nothing: Points = jax.tree.map(jnp.zeros_like, points)
            return nothing, (by_main, by_table), None, by_own
    by_table, products = sums(with_dim=True)
    distances = Distances(categorical, *points)
    by_points = distances.pull_back(kernel, lambda dim: cotangent * products[dim])
    return by_points, (by_main, by_table), None, by_own


def _sums_of_components(
    factors: Float[Array, "D n m"],
    weights: Weights,
    components: ComponentTable,
    cotangent: Float[Array, "n m"],
    *,
    with_dim: bool,
) -> tuple[Float[Array, " C"], Float[Array, "D n m"]]:
    """Derivatives by the table of weights, and by each dimension's factor, without the cotangent.

    The derivative by the log of a factor ``k_d`` is the sum of ``w_c K_c`` over the components c
    that contain d. The derivative by the factor itself has products without ``k_d``, which may be
    zero, so these take one product for each member.

    Args:
        factors: one-dimensional correlations.
        weights: variances of the main effects and of all components.
        components: the components.
        cotangent: derivatives by the Gram matrix.
        with_dim: whether derivatives are by the logs of factors.
    """
    main, table = weights

    def pair(k: Array, state: tuple[Array, Array]) -> tuple[Array, Array]:
        c = components.joint[k]
        first, second = components.first[c], components.second[c]
        one, other = factors[first], factors[second]
        product = one * other
        by_first, by_second = (product, product) if with_dim else (other, one)
        sums = state[1].at[first].add(table[c] * by_first).at[second].add(table[c] * by_second)
        return state[0].at[c].set(total(cotangent * product)), sums

    by_main = factors if with_dim else jnp.ones_like(factors)
    of_constant = jnp.where(components.is_constant, total(cotangent), 0.0)
    state = (jnp.zeros_like(table).at[0].set(of_constant), main[:, None, None] * by_main)
    state = jax.lax.fori_loop(0, components.num_pairs, pair, state)
    if (every := components.members) is None:
        return state

    def larger(k: Array, state: tuple[Array, Array]) -> tuple[Array, Array]:
        c = components.joint[k]
        members = every[c]
        product = component_product(factors, members)

        def step(inner: tuple[Array, Array]) -> tuple[Array, Array]:
            rest, sums = inner
            dim = jnp.argmax(rest)
            others = members.at[dim].set(False)
            by_dim = product if with_dim else component_product(factors, others)
            return rest.at[dim].set(False), sums.at[dim].add(table[c] * by_dim)

        sums = jax.lax.while_loop(lambda s: s[0].any(), step, (members, state[1]))[1]
        return state[0].at[c].set(total(cotangent * product)), sums

    return jax.lax.fori_loop(components.num_pairs, components.num_joint, larger, state)


additive_gram.defvjp(_additive_forward, _additive_backward)


def product_gram(
    kernel: Stationary, categorical: tuple[int, ...], points: Points
) -> Float[Array, "n m"]:
    """Product over all dimensions; a dimension with an infinite lengthscale contributes one.

    Args:
        kernel: the one-dimensional correlation function.
        categorical: indices of the categorical dimensions.
        points: two sets of points, and lengthscales.

    Returns:
        ``prod_d k_d``.
    """
    if kernel == squared_exponential and not categorical:
        return _gaussian_gram(points)
    product: Array = _product_by_dims(kernel, categorical, points)
    return product


def _gaussian_gram(points: Points) -> Float[Array, "n m"]:
    """``exp(-|z - z'|^2 / 2)``: the distance over all dimensions is one matrix product."""
    x, other, lengthscale = points
    left, right = x / lengthscale, other / lengthscale
    norms = jnp.square(left).sum(1)[:, None] + jnp.square(right).sum(1)
    return jnp.exp(-jnp.maximum(0.5 * norms - left @ right.T, 0.0))


@partial(jax.custom_vjp, nondiff_argnums=(0, 1))
def _product_by_dims(
    kernel: Stationary, categorical: tuple[int, ...], points: Points
) -> Float[Array, "n m"]:
    x, other, lengthscale = points
    distances = Distances(categorical, *points)

    def step(dim: Array, state: tuple[Array, Array]) -> tuple[Array, Array]:
        r = distances(dim)[0]
        return state[0] * kernel.amplitude(r), state[1] + kernel.decay(r)

    shape = (len(x), len(other))
    amplitude, decay = jax.lax.fori_loop(
        0, len(lengthscale), step, (jnp.ones(shape), jnp.zeros(shape))
    )
    # No correlation exceeds one, so the amplitude only overflows if the product underflows.
    is_tiny = decay > -jnp.log(jnp.finfo(decay.dtype).tiny)
    return jnp.where(is_tiny, 0.0, amplitude * jnp.exp(-decay))


def _product_forward(
    kernel: Stationary, categorical: tuple[int, ...], points: Points
) -> tuple[Array, tuple[Points, Array]]:
    product: Array = _product_by_dims(kernel, categorical, points)
    return product, (points, product)


def _product_backward(
    kernel: Stationary,
    categorical: tuple[int, ...],
    saved: tuple[Points, Array],
    cotangent: Float[Array, "n m"],
) -> tuple[Points]:
    points, product = saved
    by_log = cotangent * product
    return (Distances(categorical, *points).pull_back(kernel, lambda dim: by_log),)


_product_by_dims.defvjp(_product_forward, _product_backward)


def by_tiles(
    gram: Callable[[Float[Array, "a D"], Float[Array, "b D"]], Float[Array, "a b"]],
    x: Float[Array, "n D"],
    other: Float[Array, "m D"],
    mask: Bool[Array, " m"] | None = None,
) -> Float[Array, "n m"]:
    """Evaluates a large Gram matrix tile by tile, so that its factors stay in cache.

    Derivatives recompute tiles, which is faster than reading their factors from memory. If both
    sets of points are the same array, one half of the symmetric matrix is computed.

    Args:
        gram: maps two sets of points to a matrix.
        x: points.
        other: other points.
        mask: which of the other points are data; tiles of padding alone are zero.
            Default: all.

    Returns:
        ``gram(x, other)``.
    """
    size = len(x) * len(other)
    is_small = size <= MAX_WHOLE and size * x.shape[1] <= MAX_WHOLE_FACTORS
    if is_small or has_accelerator():
        return gram(x, other)
    most = next((t for t in TILES if x.shape[1] * t**2 <= MAX_IN_CACHE), TILES[-1])
    left, right = _tiled(x, most), _tiled(other, most)
    mask = jnp.ones(len(other), bool) if mask is None else mask
    counts = _tiled(mask[:, None], most).any((1, 2))

    @jax.checkpoint
    def tile(arguments: tuple[Array, Array, Array]) -> Array:
        one, two, is_needed = arguments

        def nothing() -> Array:
            return jnp.zeros((one.shape[1], two.shape[1]))

        return jax.lax.cond(is_needed, lambda: gram(one.T, two.T), nothing)

    shape = (len(left), len(right))
    if x is other:
        rows, columns = np.tril_indices(len(left))
        position = np.zeros(shape, int)
        position[rows, columns] = position[columns, rows] = np.arange(len(rows))
        both = counts[rows] & counts[columns]
        tiles = jax.lax.map(tile, (left[rows], right[columns], both))[position]
        is_mirrored = np.triu(np.ones(shape, bool), 1)[..., None, None]
        tiles = jnp.where(is_mirrored, tiles.swapaxes(2, 3), tiles)
    else:
        rows, columns = np.indices(shape).reshape(2, -1)
        tiles = jax.lax.map(tile, (left[rows], right[columns], counts[columns]))
        tiles = tiles.reshape(*shape, left.shape[2], right.shape[2])
    height, width = len(left) * left.shape[2], len(right) * right.shape[2]
    return tiles.swapaxes(1, 2).reshape(height, width)[: len(x), : len(other)]


def _tiled(points: Shaped[Array, "n D"], most: int) -> Shaped[Array, "tiles D tile"]:
    """Points in equal padded tiles of at most this size, with points on the last axis."""
    count = -(-len(points) // most)
    size = -(-len(points) // count)
    padded = jnp.pad(points, ((0, count * size - len(points)), (0, 0)), mode="edge")
    return padded.reshape(count, size, -1).transpose(0, 2, 1)
