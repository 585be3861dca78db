"""Kernels of the scaled distance ``r = |x - x'| / lengthscale``, whose products are cheap."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
from jax import Array

from structbo.models.kernels.kernel import Kernel


@dataclass(frozen=True)
class Stationary(Kernel):
    """A correlation function of the scaled distance alone, ``amplitude(r) * exp(-decay(r))``.

    Kept apart, the two parts make products cheap: a product over dimensions takes one exponential,
    and the derivative of a log correlation takes none.

    Args:
        name: what to print.
        amplitude: maps scaled distances ``r >= 0`` to positive numbers, elementwise; one at zero.
        decay: maps scaled distances to non-negative numbers, elementwise; zero at zero.
        frequencies: ``frequencies(key, shape)`` draws from the spectral density of the correlation.

    Example:
        >>> round(float(squared_exponential.at_distance(1.0)), 4)
        0.6065
    """

    name: str
    amplitude: Callable[[Array], Array]
    decay: Callable[[Array], Array]
    frequencies: Callable[[Array, tuple[int, ...]], Array]

    def __repr__(self) -> str:
        return self.name

    def correlation(self, x: Array, other: Array, lengthscale: Array, parameters: Any, /) -> Array:
        return self.at_distance(jnp.abs(x - other) / lengthscale)

    def at_distance(self, r: Array) -> Array:
        """Correlation at scaled distances, elementwise."""
        return self.amplitude(r) * jnp.exp(-self.decay(r))

    def log_slope(self, r: Array) -> Array:
        """Derivative of the log correlation by the scaled distance, elementwise."""
        amplitude, by_amplitude = jax.jvp(self.amplitude, (r,), (jnp.ones_like(r),))
        return by_amplitude / amplitude - jax.jvp(self.decay, (r,), (jnp.ones_like(r),))[1]


SQRT_3, SQRT_5 = math.sqrt(3.0), math.sqrt(5.0)


def _half_square(r: Array) -> Array:
    return 0.5 * r * r


def _times_sqrt_3(r: Array) -> Array:
    return SQRT_3 * r


def _times_sqrt_5(r: Array) -> Array:
    return SQRT_5 * r


def _linear(r: Array) -> Array:
    return 1.0 + SQRT_3 * r


def _quadratic(r: Array) -> Array:
    return 1.0 + SQRT_5 * r + (5.0 / 3.0) * r * r


def _t3(key: Array, shape: tuple[int, ...]) -> Array:
    return jax.random.t(key, 3.0, shape)


def _t5(key: Array, shape: tuple[int, ...]) -> Array:
    return jax.random.t(key, 5.0, shape)


squared_exponential = Stationary(
    "squared_exponential", jnp.ones_like, _half_square, jax.random.normal
)
"""``exp(-r^2 / 2)``: infinitely smooth functions."""
matern32 = Stationary("matern32", _linear, _times_sqrt_3, _t3)
"""Matern 3/2, ``(1 + sqrt(3) r) exp(-sqrt(3) r)``: once differentiable functions."""
matern52 = Stationary("matern52", _quadratic, _times_sqrt_5, _t5)
"""Matern 5/2, ``(1 + sqrt(5) r + 5 r^2 / 3) exp(-sqrt(5) r)``: twice differentiable functions."""
