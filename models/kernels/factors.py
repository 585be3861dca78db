"""Correlations of points in all dimensions at once, with explicit derivatives.

Every dimension has the same stationary kernel. Categorical dimensions use the distance ``1[x !=
x']``: every pair of different levels is equally correlated, so the factor is exchangeable. A
dimension with an infinite lengthscale has correlation one everywhere.
"""

from collections.abc import Callable
from functools import partial
from types import EllipsisType
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jaxtyping import Float, Int, Key

from structbo.models.foundation.arrays import AnyArray
from structbo.models.kernels.stationary import Stationary
from structbo.models.kernels.totals import sums_along, total

CATEGORICAL_BANDWIDTH = 1e4
"""Scale of frequencies that makes different levels of a category independent."""


class Distances:
    """Scaled distances of two sets of points, computed on demand per dimension.

    Args:
        categorical: indices of the categorical dimensions.
        x: points of the unit cube.
        other: points of the unit cube.
        lengthscale: one per dimension, in units of the cube's edge.
    """

    def __init__(
        self,
        categorical: tuple[int, ...],
        x: Float[AnyArray, "n D"],
        other: Float[AnyArray, "m D"],
        lengthscale: Float[AnyArray, " D"],
    ) -> None:
        # XLA does not vectorize a loop that reads the same row of one array twice, which makes it
        # five times slower. The sign keeps two equal sets of points apart.
        self._left, self._right = jnp.asarray(x).T, -jnp.asarray(other).T
        self._scale = 1.0 / lengthscale
        self._is_categorical = np.isin(np.arange(len(lengthscale)), categorical)

    def __call__(
        self, dim: Int[Array, ""] | int | EllipsisType = ...
    ) -> tuple[Float[Array, "*D n m"], Float[Array, "*D n m"]]:
        """Scaled distances of one dimension, or of all, and their derivatives by ``x``."""
        gap = self._left[dim][..., :, None] + self._right[dim][..., None, :]
        distance, slope = jnp.abs(gap), jnp.sign(gap)
        if self._is_categorical.any():
            is_categorical = jnp.asarray(self._is_categorical)[dim][..., None, None]
            distance = jnp.where(is_categorical, gap != 0, distance)
            slope = jnp.where(is_categorical, 0.0, slope)
        scale = self._scale[dim][..., None, None]
        return distance * scale, slope * scale

    def by_points(
        self, kernel: Stationary, dim: Int[Array, ""] | int, by_log: Float[Array, "n m"]
    ) -> tuple[Float[Array, " n"], Float[Array, " m"]]:
        """Derivatives by the coordinates of a dimension, from derivatives by its log correlations.

        Args:
            kernel: the correlation function.
            dim: the dimension.
            by_log: derivatives by its log correlations.

        Returns:
            Derivatives by the coordinates of ``x`` and of ``other``.
        """
        r, slope = self(dim)
        by_point = by_log * kernel.log_slope(r) * slope
        by_x, by_other = sums_along(by_point)
        return by_x, -by_other

    def by_lengthscale(
        self, kernel: Stationary, dim: Int[Array, ""] | int, by_log: Float[Array, "n m"]
    ) -> Float[Array, ""]:
        """Like `by_points`, for the derivative by the lengthscale of the dimension."""
        r = self(dim)[0]
        return -total(by_log * kernel.log_slope(r) * r) * self._scale[dim]

    def pull_back(
        self, kernel: Stationary, by_log: Callable[[Int[Array, ""]], Float[Array, "n m"]]
    ) -> tuple[Float[Array, "n D"], Float[Array, "m D"], Float[Array, " D"]]:
        """Derivatives by points and lengthscales, from derivatives by log correlations.

        Dimensions are visited one at a time, in buffers that stay in cache.

        Args:
            kernel: the correlation function.
            by_log: maps a dimension to the derivatives by its log correlations.

        Returns:
            Derivatives by ``x``, by ``other`` and by the lengthscales.
        """

        def step(_: None, dim: Array) -> tuple[None, tuple[Array, Array, Array]]:
            of_dim = by_log(dim)
            by_points = self.by_points(kernel, dim, of_dim)
            return None, (*by_points, self.by_lengthscale(kernel, dim, of_dim))

        dims = jnp.arange(len(self._scale))
        by_x, by_other, by_lengthscale = jax.lax.scan(step, None, dims)[1]
        return by_x.T, by_other.T, by_lengthscale


@partial(jax.custom_vjp, nondiff_argnums=(0, 1))
def correlation_factors(
    kernel: Stationary,
    categorical: tuple[int, ...],
    x: Float[AnyArray, "n D"],
    other: Float[AnyArray, "m D"],
    lengthscale: Float[AnyArray, " D"],
) -> Float[Array, "D n m"]:
    """Correlations of two sets of points, one matrix per dimension.

    Args:
        kernel: the correlation function.
        categorical: indices of the categorical dimensions.
        x: points of the unit cube.
        other: points of the unit cube.
        lengthscale: one per dimension, in units of the cube's edge.
    """
    return kernel.at_distance(Distances(categorical, x, other, lengthscale)()[0])


def _factors_forward(
    kernel: Stationary, categorical: tuple[int, ...], *points: Array
) -> tuple[Array, tuple[Any, Array]]:
    factors: Array = correlation_factors(kernel, categorical, *points)
    return factors, (points, factors)


def _factors_backward(
    kernel: Stationary,
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
    kernel: Stationary,
    key: Key[Array, ""],
    num_features: int,
    lengthscale: Float[AnyArray, " D"],
    categorical: tuple[int, ...] = (),
) -> Float[Array, "{num_features} D"]:
    """Frequencies whose random cosines have the product kernel as covariance.

    A categorical factor is a constant ``c`` plus ``1 - c`` times the identity of levels. Its
    spectral measure is an atom at zero of mass ``c`` and a part wide enough to decorrelate levels.

    Args:
        kernel: the correlation function.
        key: a JAX random key.
        num_features: how many frequency vectors to draw.
        lengthscale: one per dimension.
        categorical: indices of the categorical dimensions.

    References:
        Rahimi and Recht 2007, "Random features for large-scale kernel machines".
    """
    key_base, key_wide, key_atom = jax.random.split(key, 3)
    shape = (num_features, lengthscale.shape[0])
    frequencies = kernel.frequencies(key_base, shape) / lengthscale
    if categorical:
        is_categorical = np.isin(np.arange(shape[1]), categorical)
        wide = CATEGORICAL_BANDWIDTH * jax.random.normal(key_wide, shape)
        same = kernel.at_distance(1.0 / jnp.asarray(lengthscale))
        exchangeable = jnp.where(jax.random.uniform(key_atom, shape) < same, 0.0, wide)
        frequencies = jnp.where(is_categorical, exchangeable, frequencies)
    return frequencies
