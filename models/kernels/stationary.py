"""Kernels of the scaled distance ``r = |x - x'| / lengthscale``, whose products are cheap."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from jax import Array
from jax.scipy.special import erf
from jaxtyping import Float, Key

from structbo.models.kernels.kernel import Kernel
from structbo.models.kernels.totals import sums_along, total

Elementwise = Callable[[Float[Array, "*shape"]], Float[Array, "*shape"]]

Integrals = Callable[
    [Float[Array, "*shape"]], tuple[Float[Array, "*shape"], Float[Array, "*shape"]]
]


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
        integrals: maps r to the integrals of ``rho(s)`` and ``s rho(s)`` over s from zero to r,
            with the correlation rho; None if they have no closed form.

    Example:
        >>> round(float(squared_exponential.at_distance(jnp.array(1.0))), 4)
        0.6065
    """

    name: str
    amplitude: Elementwise
    decay: Elementwise
    frequencies: Callable[[Key[Array, ""], tuple[int, ...]], Float[Array, "*shape"]]
    integrals: Integrals | None = None

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

    def gram(
        self,
        x: Float[Array, " n"],
        other: Float[Array, " m"],
        lengthscale: Float[Array, ""],
        parameters: Any,
        /,
    ) -> Float[Array, "n m"]:
        correlations: Array = _correlations(self, x, other, lengthscale)
        return correlations

    def at_distance(self, r: Float[Array, "*shape"]) -> Float[Array, "*shape"]:
        """Correlation at scaled distances."""
        return self.amplitude(r) * jnp.exp(-self.decay(r))

    def log_slope(self, r: Float[Array, "*shape"]) -> Float[Array, "*shape"]:
        """Derivative of the log correlation by the scaled distance."""
        amplitude, by_amplitude = jax.jvp(self.amplitude, (r,), (jnp.ones_like(r),))
        return by_amplitude / amplitude - jax.jvp(self.decay, (r,), (jnp.ones_like(r),))[1]


@partial(jax.custom_vjp, nondiff_argnums=(0,))
def _correlations(
    kernel: Stationary, x: Float[Array, " n"], other: Float[Array, " m"], scale: Float[Array, ""]
) -> Float[Array, "n m"]:
    return kernel.at_distance(jnp.abs(_gaps(x, other, scale)))


def _gaps(
    x: Float[Array, " n"], other: Float[Array, " m"], scale: Float[Array, ""]
) -> Float[Array, "n m"]:
    return (x[:, None] - other) * (1.0 / scale)


def _correlations_forward(kernel: Stationary, *points: Array) -> tuple[Array, tuple[Any, Array]]:
    correlations: Array = _correlations(kernel, *points)
    return correlations, (points, correlations)


def _correlations_backward(
    kernel: Stationary, saved: tuple[tuple[Array, Array, Array], Array], cotangent: Array
) -> tuple[Array, Array, Array]:
    """Derivatives without exponentials."""
    (x, other, scale), correlations = saved
    gaps = _gaps(x, other, scale)
    distance = jnp.abs(gaps)
    by_distance = cotangent * correlations * kernel.log_slope(distance)
    by_x, by_other = sums_along(by_distance * jnp.sign(gaps))
    return by_x / scale, -by_other / scale, -total(by_distance * distance) / scale


_correlations.defvjp(_correlations_forward, _correlations_backward)
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


def _gaussian_integrals(r: Float[Array, "*shape"]) -> tuple[Array, Array]:
    return math.sqrt(math.pi / 2.0) * erf(r / math.sqrt(2.0)), -jnp.expm1(-0.5 * r * r)


def _matern32_integrals(r: Float[Array, "*shape"]) -> tuple[Array, Array]:
    s = SQRT_3 * r
    decay = jnp.exp(-s)
    return (2.0 - (2.0 + s) * decay) / SQRT_3, 1.0 - (1.0 + s + s * s / 3.0) * decay


def _matern52_integrals(r: Float[Array, "*shape"]) -> tuple[Array, Array]:
    s = SQRT_5 * r
    decay = jnp.exp(-s)
    first = (8.0 - (8.0 + 5.0 * s + s * s) * decay) / (3.0 * SQRT_5)
    return first, 1.0 - (1.0 + s + 0.4 * s * s + s**3 / 15.0) * decay


squared_exponential = Stationary(
    "squared_exponential", jnp.ones_like, _half_square, jax.random.normal, _gaussian_integrals
)
"""``exp(-r^2 / 2)``: infinitely smooth functions."""
matern32 = Stationary("matern32", _linear, _times_sqrt_3, _t3, _matern32_integrals)
"""Matern 3/2, ``(1 + sqrt(3) r) exp(-sqrt(3) r)``: once differentiable functions."""
matern52 = Stationary("matern52", _quadratic, _times_sqrt_5, _t5, _matern52_integrals)
"""Matern 5/2, ``(1 + sqrt(5) r + 5 r^2 / 3) exp(-sqrt(5) r)``: twice differentiable functions."""
