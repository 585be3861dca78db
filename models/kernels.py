"""One-dimensional correlation functions, the factors of every product kernel.

A kernel maps the scaled distance ``r = |x - x'| / lengthscale >= 0`` to a correlation.

Categorical dimensions use the same functions with the distance ``1[x != x']``: every pair of
different levels is equally correlated, which makes the factor exchangeable.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

CATEGORICAL_BANDWIDTH = 1e4
"""Spread of the frequencies that make different levels of a category independent."""


@dataclass(frozen=True)
class Kernel:
    """A stationary correlation function of one variable, with unit lengthscale.

    Args:
        name: what to print.
        correlation: maps scaled distances ``r >= 0`` to correlations, elementwise, positive.
        frequencies: ``frequencies(key, shape)`` draws from the spectral density of the correlation.

    Example:
        >>> round(float(squared_exponential.correlation(1.0)), 4)
        0.6065
    """

    name: str
    correlation: Callable[[Array], Array]
    frequencies: Callable[[Array, tuple[int, ...]], Array]

    def __repr__(self) -> str:
        return self.name


def _matern32(r: Array) -> Array:
    s = math.sqrt(3.0) * r
    return (1.0 + s) * jnp.exp(-s)


def _matern52(r: Array) -> Array:
    s = math.sqrt(5.0) * r
    return (1.0 + s + s * s / 3.0) * jnp.exp(-s)


squared_exponential = Kernel(
    "squared_exponential", lambda r: jnp.exp(-0.5 * r * r), jax.random.normal
)
matern32 = Kernel("matern32", _matern32, lambda key, shape: jax.random.t(key, 3.0, shape))
matern52 = Kernel("matern52", _matern52, lambda key, shape: jax.random.t(key, 5.0, shape))


@partial(jax.custom_vjp, nondiff_argnums=(0, 1))
def correlation_factors(
    kernel: Kernel, categorical: tuple[int, ...], x: Array, other: Array, lengthscale: Array
) -> Array:
    """Correlations of two sets of points, one matrix per dimension.

    Args:
        kernel: the correlation function.
        categorical: indices of the categorical dimensions.
        x: points of the unit cube, shape (n, D).
        other: points of the unit cube, shape (m, D).
        lengthscale: one per dimension, in units of the cube's edge, shape (D,).

    Returns:
        Shape (D, n, m).
    """
    return kernel.correlation(_scaled_distances(categorical, x, other, lengthscale)[0])


def _scaled_distances(
    categorical: tuple[int, ...], x: Array, other: Array, lengthscale: Array
) -> tuple[Array, Array]:
    """Scaled distances and their derivatives with respect to ``x``, both (D, n, m)."""
    gap = x.T[:, :, None] - other.T[:, None, :]
    distance, slope = jnp.abs(gap), jnp.sign(gap)
    if categorical:
        is_categorical = np.isin(np.arange(x.shape[1]), categorical)[:, None, None]
        distance = jnp.where(is_categorical, (gap != 0).astype(gap.dtype), distance)
        slope = jnp.where(is_categorical, 0.0, slope)
    scale = 1.0 / lengthscale[:, None, None]
    return distance * scale, slope * scale


def _factors_forward(
    kernel: Kernel, categorical: tuple[int, ...], x: Array, other: Array, lengthscale: Array
) -> tuple[Array, tuple[Array, Array, Array]]:
    return correlation_factors(kernel, categorical, x, other, lengthscale), (x, other, lengthscale)


def _factors_backward(
    kernel: Kernel,
    categorical: tuple[int, ...],
    inputs: tuple[Array, Array, Array],
    cotangent: Array,
) -> tuple[Array, Array, Array]:
    """Sums are products with ones: compiled sums of fused expressions run one element at a time."""
    x, other, lengthscale = inputs
    r, slope = _scaled_distances(categorical, x, other, lengthscale)
    pulled = cotangent * jax.jvp(kernel.correlation, (r,), (jnp.ones_like(r),))[1]
    by_point = pulled * slope
    num_dims, n, m = r.shape
    by_x = (by_point @ jnp.ones(m)).T
    by_other = -(jnp.swapaxes(by_point, 1, 2) @ jnp.ones(n)).T
    by_lengthscale = -((pulled * r).reshape(num_dims, n * m) @ jnp.ones(n * m)) / lengthscale
    return by_x, by_other, by_lengthscale


correlation_factors.defvjp(_factors_forward, _factors_backward)


def spectral_frequencies(
    kernel: Kernel,
    key: Array,
    num_features: int,
    lengthscale: Array,
    categorical: tuple[int, ...] = (),
) -> Array:
    """Frequencies whose random cosines have the product kernel as covariance.

    A categorical factor is a constant ``c`` plus ``1 - c`` times the identity of levels, so its
    spectral measure is an atom at zero of mass ``c`` and a part so wide that levels decorrelate.

    Args:
        kernel: the correlation function.
        key: a JAX random key.
        num_features: how many frequency vectors to draw, F.
        lengthscale: one per dimension, shape (D,).
        categorical: indices of the categorical dimensions.

    Returns:
        Shape (F, D).

    References:
        Rahimi and Recht 2007, "Random features for large-scale kernel machines".
    """
    key_base, key_wide, key_atom = jax.random.split(key, 3)
    shape = (num_features, lengthscale.shape[0])
    frequencies = kernel.frequencies(key_base, shape) / lengthscale
    if categorical:
        is_categorical = np.isin(np.arange(shape[1]), categorical)
        wide = CATEGORICAL_BANDWIDTH * jax.random.normal(key_wide, shape)
        same = kernel.correlation(1.0 / lengthscale)
        exchangeable = jnp.where(jax.random.uniform(key_atom, shape) < same, 0.0, wide)
        frequencies = jnp.where(is_categorical, exchangeable, frequencies)
    return frequencies
