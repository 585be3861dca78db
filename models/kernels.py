"""One-dimensional correlation functions, the factors of every product kernel.

A kernel is a function from the scaled distance ``r = |x - x'| / lengthscale >= 0`` to the *log* of a
correlation. Products over dimensions are then sums of logs, and derivatives with respect to a
logarithm never divide by a factor that has underflowed.

Categorical dimensions use the same functions with the distance ``1[x != x']``: every pair of
different levels is equally correlated, which makes the factor exchangeable.
"""

from collections.abc import Callable
from dataclasses import dataclass

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
        log_correlation: maps scaled distances ``r >= 0`` to log correlations, elementwise.
        frequencies: ``frequencies(key, shape)`` draws from the spectral density of the correlation.

    Example:
        >>> float(squared_exponential.log_correlation(2.0))
        -2.0
    """

    name: str
    log_correlation: Callable[[Array], Array]
    frequencies: Callable[[Array, tuple[int, ...]], Array]

    def __repr__(self) -> str:
        return self.name


def _log_matern32(r: Array) -> Array:
    s = jnp.sqrt(3.0) * r
    return jnp.log1p(s) - s


def _log_matern52(r: Array) -> Array:
    s = jnp.sqrt(5.0) * r
    return jnp.log1p(s + s * s / 3.0) - s


squared_exponential = Kernel("squared_exponential", lambda r: -0.5 * r * r, jax.random.normal)
matern32 = Kernel("matern32", _log_matern32, lambda key, shape: jax.random.t(key, 3.0, shape))
matern52 = Kernel("matern52", _log_matern52, lambda key, shape: jax.random.t(key, 5.0, shape))


def log_factors(
    kernel: Kernel, x: Array, other: Array, lengthscale: Array, categorical: tuple[int, ...] = ()
) -> Array:
    """Log correlations of two sets of points, one matrix per dimension.

    Args:
        kernel: the correlation function.
        x: points of the unit cube, shape (n, D).
        other: points of the unit cube, shape (m, D).
        lengthscale: one per dimension, in units of the cube's edge, shape (D,).
        categorical: indices of the categorical dimensions.

    Returns:
        Shape (D, n, m).
    """
    gap = x.T[:, :, None] - other.T[:, None, :]
    distance = jnp.abs(gap)
    if categorical:
        is_categorical = np.isin(np.arange(x.shape[1]), categorical)[:, None, None]
        distance = jnp.where(is_categorical, (gap != 0).astype(gap.dtype), distance)
    return kernel.log_correlation(distance / lengthscale[:, None, None])


def spectral_frequencies(
    kernel: Kernel,
    key: Array,
    num_features: int,
    lengthscale: Array,
    categorical: tuple[int, ...] = (),
) -> Array:
    """Frequencies whose random cosines have the product of the one-dimensional kernels as covariance.

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
        same = jnp.exp(kernel.log_correlation(1.0 / lengthscale))
        exchangeable = jnp.where(jax.random.uniform(key_atom, shape) < same, 0.0, wide)
        frequencies = jnp.where(is_categorical, exchangeable, frequencies)
    return frequencies
