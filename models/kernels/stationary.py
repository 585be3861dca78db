"""Kernels of the scaled distance ``r = |x - x'| / lengthscale``, whose products are cheap."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
from jax import Array
from jaxtyping import Float, Key

from structbo.models.kernels.kernel import Kernel

Elementwise = Callable[[Float[Array, "*shape"]], Float[Array, "*shape"]]


@dataclass(frozen=True)
class Stationary(Kernel):
    """A correlation function of the scaled distance alone, ``amplitude(r) * exp(-decay(r))``.

    The two parts are separate to make products cheap: a product over dimensions takes one
    exponential, and the derivative of a log correlation takes none.

    Args:
        name: printed name.
        amplitude: maps scaled distances ``r >= 0`` to positive numbers; one at zero.
        decay: maps scaled distances to non-negative numbers; zero at zero.
        frequencies: ``frequencies(key, shape)`` draws from the spectral density of the correlation.

    Example:
        >>> round(float(squared_exponential.at_distance(jnp.array(1.0))), 4)
        0.6065
    """

    name: str
    amplitude: Elementwise
    decay: Elementwise
    frequencies: Callable[[Key[Array, ""], tuple[int, ...]], Float[Array, "*shape"]]

    def __repr__(self) -> str:
        return self.name

    def correlation(
        self,
        x: Float[Array, ""],
        other: Float[Array, ""],
        lengthscale: Float[Array, ""],
        parameters: Any,
        /,
    ) -> Float[Array, ""]:
        return self.at_distance(jnp.abs(x - other) / lengthscale)

    def at_distance(self, r: Float[Array, "*shape"]) -> Float[Array, "*shape"]:
        """Correlation at scaled distances."""
        return self.amplitude(r) * jnp.exp(-self.decay(r))

    def log_slope(self, r: Float[Array, "*shape"]) -> Float[Array, "*shape"]:
        """Derivative of the log correlation by the scaled distance."""
        amplitude, by_amplitude = jax.jvp(self.amplitude, (r,), (jnp.ones_like(r),))
        return by_amplitude / amplitude - jax.jvp(self.decay, (r,), (jnp.ones_like(r),))[1]


SQRT_3, SQRT_5 = math.sqrt(3.0), math.sqrt(5.0)


def _half_square(r: Float[Array, "*shape"]) -> Float[Array, "*shape"]:
    return 0.5 * r * r


def _times_sqrt_3(r: Float[Array, "*shape"]) -> Float[Array, "*shape"]:
    return SQRT_3 * r


def _times_sqrt_5(r: Float[Array, "*shape"]) -> Float[Array, "*shape"]:
    return SQRT_5 * r


def _linear(r: Float[Array, "*shape"]) -> Float[Array, "*shape"]:
    return 1.0 + SQRT_3 * r


def _quadratic(r: Float[Array, "*shape"]) -> Float[Array, "*shape"]:
    return 1.0 + SQRT_5 * r + (5.0 / 3.0) * r * r


def _t3(key: Key[Array, ""], shape: tuple[int, ...]) -> Float[Array, "*shape"]:
    return jax.random.t(key, 3.0, shape)


def _t5(key: Key[Array, ""], shape: tuple[int, ...]) -> Float[Array, "*shape"]:
    return jax.random.t(key, 5.0, shape)


squared_exponential = Stationary(
    "squared_exponential", jnp.ones_like, _half_square, jax.random.normal
)
"""``exp(-r^2 / 2)``: infinitely smooth functions."""
matern32 = Stationary("matern32", _linear, _times_sqrt_3, _t3)
"""Matern 3/2, ``(1 + sqrt(3) r) exp(-sqrt(3) r)``: once differentiable functions."""
matern52 = Stationary("matern52", _quadratic, _times_sqrt_5, _t5)
"""Matern 5/2, ``(1 + sqrt(5) r + 5 r^2 / 3) exp(-sqrt(5) r)``: twice differentiable functions."""
