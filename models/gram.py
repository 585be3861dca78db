"""Gram matrices of additive product kernels, touching only the components that exist.

Components are looped over with a trip count that is known at run time only, so padding costs
nothing. Such loops have no automatic reverse derivative; it is written out here:
``d gram / d log k_d`` is the sum of ``w_c K_c`` over the components c that contain d.
"""

import jax
import jax.numpy as jnp
from jax import Array

TINY = 1e-290


def component_product(factors: Array, members: Array) -> Array:
    """Product of the factors of one component.

    Args:
        factors: one-dimensional correlations, shape (D, n, m).
        members: the component, bool, shape (D,), not empty.

    Returns:
        Shape (n, m).
    """
    first = jnp.argmax(members)

    def step(state: tuple[Array, Array]) -> tuple[Array, Array]:
        rest, product = state
        dim = jnp.argmax(rest)
        return rest.at[dim].set(False), product * factors[dim]

    init = (members.at[first].set(False), factors[first])
    return jax.lax.while_loop(lambda s: s[0].any(), step, init)[1]


@jax.custom_vjp
def additive_gram(factors: Array, members: Array, weights: Array) -> Array:
    """Weighted sum of component products.

    Args:
        factors: one-dimensional correlations, shape (D, n, m).
        members: components, bool, shape (C, D), padding last.
        weights: component variances, shape (C,).

    Returns:
        ``sum_c w_c prod_{d in c} factors[d]``, shape (n, m).
    """
    return _gram_forward(factors, members, weights)[0]


def _gram_forward(
    factors: Array, members: Array, weights: Array
) -> tuple[Array, tuple[Array, Array, Array]]:

    def add(c: Array, gram: Array) -> Array:
        return gram + weights[c] * component_product(factors, members[c])

    gram = jax.lax.fori_loop(0, members.any(1).sum(), add, jnp.zeros_like(factors[0]))
    return gram, (factors, members, weights)


def _gram_backward(
    residuals: tuple[Array, Array, Array], cotangent: Array
) -> tuple[Array, None, Array]:
    factors, members, weights = residuals

    def add(c: Array, state: tuple[Array, Array]) -> tuple[Array, Array]:
        by_factor, by_weight = state
        pulled = cotangent * component_product(factors, members[c])
        by_weight = by_weight.at[c].set(pulled.sum())

        def to_member(inner: tuple[Array, Array]) -> tuple[Array, Array]:
            rest, by_factor = inner
            dim = jnp.argmax(rest)
            return rest.at[dim].set(False), by_factor.at[dim].add(weights[c] * pulled)

        by_factor = jax.lax.while_loop(lambda s: s[0].any(), to_member, (members[c], by_factor))[1]
        return by_factor, by_weight

    init = (jnp.zeros_like(factors), jnp.zeros_like(weights))
    by_factor, by_weight = jax.lax.fori_loop(0, members.any(1).sum(), add, init)
    return _divided(by_factor, factors), None, by_weight


additive_gram.defvjp(_gram_forward, _gram_backward)


@jax.custom_vjp
def product_gram(factors: Array) -> Array:
    """Product over all dimensions, shape (D, n, m) to (n, m)."""
    return factors.prod(0)


def _product_forward(factors: Array) -> tuple[Array, tuple[Array, Array]]:
    product = product_gram(factors)
    return product, (factors, product)


def _product_backward(residuals: tuple[Array, Array], cotangent: Array) -> tuple[Array]:
    factors, product = residuals
    return (_divided(cotangent * product, factors),)


product_gram.defvjp(_product_forward, _product_backward)


def _divided(by_log: Array, factors: Array) -> Array:
    """From derivatives with respect to log factors to those with respect to factors.

    A factor that has underflowed contributes nothing.
    """
    return jnp.where(factors > TINY, by_log / factors, 0.0)
