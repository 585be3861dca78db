"""One-dimensional correlation functions, the factors of every product kernel.

A kernel maps the scaled distance ``r = |x - x'| / lengthscale >= 0`` to a correlation.

Categorical dimensions use the same functions with the distance ``1[x != x']``: every pair of
different levels is equally correlated, which makes the factor exchangeable.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from types import EllipsisType
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

CATEGORICAL_BANDWIDTH = 1e4
"""Spread of the frequencies that make different levels of a category independent."""


@dataclass(frozen=True)
class Kernel:
    """A stationary correlation function of one variable, ``amplitude(r) * exp(-decay(r))``.

    Kept apart, the two parts make products cheap: a product over dimensions takes one exponential,
    and the derivative of a log correlation takes none.

    Args:
        name: what to print.
        amplitude: maps scaled distances ``r >= 0`` to positive numbers, elementwise; one at zero.
        decay: maps scaled distances to non-negative numbers, elementwise; zero at zero.
        frequencies: ``frequencies(key, shape)`` draws from the spectral density of the correlation.

    Example:
        >>> round(float(squared_exponential.correlation(1.0)), 4)
        0.6065
    """

    name: str
    amplitude: Callable[[Array], Array]
    decay: Callable[[Array], Array]
    frequencies: Callable[[Array, tuple[int, ...]], Array]

    def __repr__(self) -> str:
        return self.name

    def correlation(self, r: Array) -> Array:
        """Correlation at scaled distances, elementwise."""
        return self.amplitude(r) * jnp.exp(-self.decay(r))

    def log_slope(self, r: Array) -> Array:
        """Derivative of the log correlation by the scaled distance, elementwise."""
        amplitude, by_amplitude = jax.jvp(self.amplitude, (r,), (jnp.ones_like(r),))
        return by_amplitude / amplitude - jax.jvp(self.decay, (r,), (jnp.ones_like(r),))[1]


SQRT_3, SQRT_5 = math.sqrt(3.0), math.sqrt(5.0)

squared_exponential = Kernel(
    "squared_exponential", jnp.ones_like, lambda r: 0.5 * r * r, jax.random.normal
)
"""``exp(-r^2 / 2)``: infinitely smooth functions."""
matern32 = Kernel(
    "matern32",
    lambda r: 1.0 + SQRT_3 * r,
    lambda r: SQRT_3 * r,
    lambda key, shape: jax.random.t(key, 3.0, shape),
)
"""Matern 3/2, ``(1 + sqrt(3) r) exp(-sqrt(3) r)``: once differentiable functions."""
matern52 = Kernel(
    "matern52",
    lambda r: 1.0 + SQRT_5 * r + (5.0 / 3.0) * r * r,
    lambda r: SQRT_5 * r,
    lambda key, shape: jax.random.t(key, 5.0, shape),
)
"""Matern 5/2, ``(1 + sqrt(5) r + 5 r^2 / 3) exp(-sqrt(5) r)``: twice differentiable functions."""


def total(matrix: Array) -> Array:
    """Sum of a matrix as a product with ones: a compiled sum of an expression is not vectorized."""
    return (matrix @ jnp.ones(matrix.shape[1])).sum()


class Distances:
    """Scaled distances of two sets of points, computed for the dimensions that are asked for.

    Args:
        categorical: indices of the categorical dimensions.
        x: points of the unit cube, shape (n, D).
        other: points of the unit cube, shape (m, D).
        lengthscale: one per dimension, in units of the cube's edge, shape (D,).
    """

    def __init__(
        self, categorical: tuple[int, ...], x: Array, other: Array, lengthscale: Array
    ) -> None:
        # A compiled loop that reads the same row of one array twice is not vectorized, and five
        # times slower. Where the two sets of points are the same, the sign keeps them apart.
        self._left, self._right = x.T, -other.T
        self._scale = 1.0 / lengthscale
        self._is_categorical = np.isin(np.arange(len(lengthscale)), categorical)

    def __call__(self, dim: Array | EllipsisType = ...) -> tuple[Array, Array]:
        """Scaled distances and their derivatives by ``x``: (n, m), or (D, n, m) for all."""
        gap = self._left[dim][..., :, None] + self._right[dim][..., None, :]
        distance, slope = jnp.abs(gap), jnp.sign(gap)
        if self._is_categorical.any():
            is_categorical = jnp.asarray(self._is_categorical)[dim][..., None, None]
            distance = jnp.where(is_categorical, gap != 0, distance)
            slope = jnp.where(is_categorical, 0.0, slope)
        scale = self._scale[dim][..., None, None]
        return distance * scale, slope * scale

    def pull_back(
        self, kernel: Kernel, by_log: Callable[[Array], Array]
    ) -> tuple[Array, Array, Array]:
        """From derivatives by log correlations to those by points and lengthscales.

        Dimensions are visited one at a time, in buffers that stay in cache.

        Args:
            kernel: the correlation function.
            by_log: maps a dimension to the derivatives by its log correlations, shape (n, m).

        Returns:
            Derivatives by ``x`` (n, D), by ``other`` (m, D) and by the lengthscales (D,).
        """
        num_dims, n = self._left.shape
        m = self._right.shape[1]

        def step(_: None, dim: Array) -> tuple[None, tuple[Array, Array, Array]]:
            r, slope = self(dim)
            pulled = by_log(dim) * kernel.log_slope(r)
            by_point = pulled * slope
            return None, (by_point @ jnp.ones(m), jnp.ones(n) @ by_point, total(pulled * r))

        by_x, by_other, by_scale = jax.lax.scan(step, None, jnp.arange(num_dims))[1]
        return by_x.T, -by_other.T, -by_scale * self._scale


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
    return kernel.correlation(Distances(categorical, x, other, lengthscale)()[0])


def _factors_forward(
    kernel: Kernel, categorical: tuple[int, ...], *points: Array
) -> tuple[Array, tuple[Any, Array]]:
    factors: Array = correlation_factors(kernel, categorical, *points)
    return factors, (points, factors)


def _factors_backward(
    kernel: Kernel,
    categorical: tuple[int, ...],
    saved: tuple[tuple[Array, Array, Array], Array],
    cotangent: Array,
) -> tuple[Array, Array, Array]:
    points, factors = saved
    distances = Distances(categorical, *points)
    by_log = jnp.asarray(cotangent) * factors
    return distances.pull_back(kernel, lambda dim: by_log[dim])


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
