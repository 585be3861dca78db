"""Gram matrices of the product of one kernel over all dimensions."""

from functools import partial

import jax
import jax.numpy as jnp
from jax import Array
from jaxtyping import Float

from structbo.models.kernels.factors import Distances
from structbo.models.kernels.kernel import Points
from structbo.models.kernels.stationary import Stationary, squared_exponential


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
