"""Gram matrices of additive product kernels, which skip padding.

Loops over components have a trip count known only at run time, so padding is free. JAX cannot
reverse-differentiate such loops, so derivatives are explicit: ``d gram / d log k_d`` is the sum of
``w_c K_c`` over the components c that contain d.

Correlations of dimensions in kernel groups may be zero or negative, so derivatives are with respect
to them, not their logarithms.
"""

from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.ad_checkpoint import checkpoint_name
from jaxtyping import Float

from structbo.models.components import ComponentTable, component_product
from structbo.models.kernels import KernelGroup, Stationary
from structbo.models.kernels.factors import Distances, correlation_factors
from structbo.models.kernels.kernel import Points
from structbo.models.kernels.totals import total
from structbo.models.orders import OrderSums, elementary_sums
from structbo.models.tiles import KEPT

Groups = tuple[KernelGroup, ...]
"""Dimensions with kernels other than the shared one."""


class LargerProducts(NamedTuple):
    """All products of three and more one-dimensional correlations.

    Args:
        coefficient: of their sum.
        reach: scales of the correlations.
    """

    coefficient: Float[Array, ""]
    reach: Float[Array, " D"]


class Coefficients(NamedTuple):
    """Coefficients of products of one-dimensional correlations.

    Args:
        main: variances of the main effects.
        table: variances of all components; entries for main effects are ignored.
        larger: products of three and more beside the components, or None.
    """

    main: Float[Array, " D"]
    table: Float[Array, " C"]
    larger: LargerProducts | None = None


def own_dims(groups: Groups) -> tuple[int, ...]:
    """The dimensions of kernel groups, in the order of the groups."""
    return tuple(dim for group in groups for dim in group.dims)


def shared_lengthscale(lengthscale: Float[Array, " D"], groups: Groups) -> Float[Array, " D"]:
    """Lengthscales for the shared kernel, infinite for dimensions of kernel groups."""
    return lengthscale.at[jnp.array(own_dims(groups))].set(jnp.inf) if groups else lengthscale


def all_factors(
    kernel: Stationary, categorical: tuple[int, ...], points: Points, groups: Groups
) -> Float[Array, "D n m"]:
    """One-dimensional correlations: from the shared kernel or from kernel groups."""
    x, other, lengthscale = points
    dims, own = own_dims(groups), [group.correlations(x, other, lengthscale) for group in groups]
    if len(dims) == len(lengthscale):
        every = jnp.concatenate(own)
        return every if dims == (*sorted(dims),) else every[np.argsort(dims)]
    shared = shared_lengthscale(lengthscale, groups)
    factors: Array = correlation_factors(kernel, categorical, x, other, shared)
    return factors.at[jnp.array(dims)].set(jnp.concatenate(own)) if groups else factors


@jax.custom_vjp
def component_sum(
    factors: Float[Array, "D n m"], coefficients: Coefficients, components: ComponentTable
) -> Float[Array, "n m"]:
    """Weighted sum of component products, from one-dimensional factors.

    Args:
        factors: of every dimension, such as prior variances.
        coefficients: variances of main effects and components.
        components: the components.

    Returns:
        ``sum_c w_c prod_{d in c} f_d``.
    """
    return _sum(factors, coefficients, components)


def _sum(
    factors: Float[Array, "D n m"], coefficients: Coefficients, components: ComponentTable
) -> Float[Array, "n m"]:
    main_effects = jnp.tensordot(coefficients.main, factors, 1)
    return _with_others(main_effects, factors, coefficients.table, components)


def _with_others(
    main_effects: Float[Array, "n m"],
    factors: Float[Array, "D n m"],
    table: Float[Array, " C"],
    components: ComponentTable,
) -> Float[Array, "n m"]:
    """The sum of main effects plus the constant and all components with several members."""

    def pair(k: Array, gram: Array) -> Array:
        c = components.joint[k]
        return gram + table[c] * factors[components.first[c]] * factors[components.second[c]]

    gram = main_effects + components.constant(table)
    gram = jax.lax.fori_loop(0, components.num_pairs, pair, gram)
    if (members := components.members) is None:
        return gram

    def larger(k: Array, gram: Array) -> Array:
        c = components.joint[k]
        return gram + table[c] * component_product(factors, members[c])

    return jax.lax.fori_loop(components.num_pairs, components.num_joint, larger, gram)


def _sum_backward(
    saved: tuple[Array, Coefficients, ComponentTable], cotangent: Float[Array, "n m"]
) -> tuple[Array, Coefficients, None]:
    by_table, others = _sums_of_components(*saved, cotangent, with_dim=False)
    by_main = jnp.tensordot(saved[0], cotangent, 2)
    return cotangent * others, Coefficients(by_main, by_table), None


component_sum.defvjp(lambda *given: (_sum(*given), given), _sum_backward)


@partial(jax.custom_vjp, nondiff_argnums=(0, 1))
def additive_gram(
    kernel: Stationary,
    categorical: tuple[int, ...],
    points: Points,
    groups: Groups,
    coefficients: Coefficients,
    components: ComponentTable,
) -> Float[Array, "n m"]:
    """Weighted sum of component products.

    Args:
        kernel: the one-dimensional correlation function of all dimensions outside of groups.
        categorical: indices of its categorical dimensions.
        points: two sets of points, and lengthscales.
        groups: dimensions with other kernels.
        coefficients: variances of main effects and components. With larger products, the groups
            must have all dimensions.
        components: the components.

    Returns:
        ``sum_c w_c prod_{d in c} k_d``, plus the products of three and more.
    """
    return _additive_forward(kernel, categorical, points, groups, coefficients, components)[0]


Saved = tuple[Points, Groups, Coefficients, ComponentTable, Array, OrderSums | None]
"""The arguments, the correlations, and sums over products of these scaled by their reach."""


def _additive_forward(
    kernel: Stationary,
    categorical: tuple[int, ...],
    points: Points,
    groups: Groups,
    coefficients: Coefficients,
    components: ComponentTable,
) -> tuple[Array, Saved]:
    factors, main = all_factors(kernel, categorical, points, groups), coefficients.main
    if groups:
        # XLA computes correlations of groups several times slower for a product of matrices.
        nothing = jnp.zeros(factors.shape[1:])
        effects = jax.lax.fori_loop(0, len(main), lambda d, f: f + main[d] * factors[d], nothing)
    else:
        effects = jnp.tensordot(main, factors, 1)
    gram, orders = _with_others(effects, factors, coefficients.table, components), None
    if (larger := coefficients.larger) is not None:
        orders = checkpoint_name(elementary_sums(factors, larger.reach), KEPT)
        gram = gram + larger.coefficient * orders.more
    return gram, (points, groups, coefficients, components, factors, orders)


def _additive_backward(
    kernel: Stationary, categorical: tuple[int, ...], saved: Saved, cotangent: Float[Array, "n m"]
) -> tuple[Points, Groups, Coefficients, None]:
    points, groups, coefficients, components, factors, orders = saved
    x, other, lengthscale = points
    by_main = jnp.tensordot(factors, cotangent, 2)
    sums = partial(_sums_of_components, factors, coefficients, components, cotangent)

    def of_shared() -> tuple[Points, Array]:
        by_table, products = sums(with_dim=True)
        distances = Distances(categorical, x, other, shared_lengthscale(lengthscale, groups))
        return distances.pull_back(kernel, lambda dim: cotangent * products[dim]), by_table

    if not groups:
        by_points, by_table = of_shared()
        return by_points, (), Coefficients(by_main, by_table), None
    by_table, others = sums(with_dim=False)
    if len(own_dims(groups)) < len(lengthscale):
        by_points, _ = of_shared()
    else:
        by_points = jax.tree.map(jnp.zeros_like, points)
    larger = coefficients.larger

    def by_factor(dim: Array) -> tuple[Array, Array]:
        """Derivatives by the correlations in a dimension, and by its reach."""
        if orders is None or larger is None:
            return cotangent * others[dim], jnp.zeros(())
        reach, factor = larger.reach[dim], factors[dim]
        by_scaled = larger.coefficient * orders.by_value(reach * factor)
        by_reach = total(cotangent * (by_scaled * factor))
        return cotangent * (others[dim] + reach * by_scaled), by_reach

    by_groups, by_reach = [], jnp.zeros_like(lengthscale)
    for group in groups:
        by_own, by_group, of_group = group.pull_back(points, by_factor)
        by_points = jax.tree.map(jnp.add, by_points, by_own)
        by_reach += of_group
        by_groups.append(by_group)
    by_larger = None
    if orders is not None:
        by_larger = LargerProducts(total(cotangent * orders.more), by_reach)
    return by_points, (*by_groups,), Coefficients(by_main, by_table, by_larger), None


additive_gram.defvjp(_additive_forward, _additive_backward)


def _sums_of_components(
    factors: Float[Array, "D n m"],
    coefficients: Coefficients,
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
        coefficients: variances of main effects and components.
        components: the components.
        cotangent: derivatives by the Gram matrix.
        with_dim: whether derivatives are by the logs of factors.
    """
    main, table = coefficients.main, coefficients.table

    def pair(k: Array, state: tuple[Array, Array]) -> tuple[Array, Array]:
        c = components.joint[k]
        first, second = components.first[c], components.second[c]
        one, other = factors[first], factors[second]
        product = one * other
        by_first, by_second = (product, product) if with_dim else (other, one)
        sums = state[1].at[first].add(table[c] * by_first).at[second].add(table[c] * by_second)
        return state[0].at[c].set(total(cotangent * product)), sums

    of_main = factors if with_dim else jnp.ones_like(factors)
    of_constant = jnp.where(components.is_constant, total(cotangent), 0.0)
    state = (jnp.zeros_like(table).at[0].set(of_constant), main[:, None, None] * of_main)
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
