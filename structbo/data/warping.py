"""A power transform that compresses bad values; traceable by JAX."""

from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.typing import ArrayLike
from jaxtyping import Float

from structbo.data.data import ROUND_OFF, Data
from structbo.models.foundation.arrays import AnyArray


class Warping(NamedTuple):
    """The Yeo-Johnson transform of standardized values, followed by standardization.

    It is increasing and smooth, and almost linear near zero. A power of one is the identity; a
    larger one compresses bad values and spreads good ones. Below the worst observed value the
    transform continues as its tangent, so that it is invertible on all numbers, and normal
    predictions have a mean on the scale of values.

    Numbers and arrays of NumPy are transformed by NumPy, which compiles nothing.

    Args:
        power: the power.
        location: the mean of the transformed values.
        scale: their standard deviation.
        worst: the smallest observed value, where the tangent begins.

    References:
        Yeo and Johnson 2000, "A new family of power transformations to improve normality or
        symmetry", eq. (2.1).
    """

    power: Float[AnyArray, ""] | float
    location: Float[AnyArray, ""] | float
    scale: Float[AnyArray, ""] | float
    worst: Float[AnyArray, ""] | float = -jnp.inf

    @classmethod
    def of(cls, data: Data, power: ArrayLike) -> "Warping":
        """The warping with a given power that standardizes the values of the data.

        Example:
            >>> values = jnp.array([-2.0, 0.0, 0.5, 1.5])
            >>> warped = Warping.of(Data(values[:, None], values, jnp.ones(4, bool)), 2.0)(values)
            >>> round(float(warped.mean()), 6), round(float(warped.std()), 6)
            (0.0, 1.0)
        """
        weights = jnp.asarray(data.mask) / jnp.sum(data.mask)
        raised = _yeo_johnson(jnp.asarray(data.y), power)
        mean = weights @ raised
        deviation = jnp.sqrt(weights @ jnp.square(raised - mean))
        scale = jnp.where(deviation > ROUND_OFF, deviation, 1.0)
        worst = jnp.where(data.mask, jnp.asarray(data.y), jnp.inf).min()
        return cls(jnp.asarray(power), mean, scale, worst)

    def __call__(self, values: ArrayLike) -> Array:
        """The transformed values, of the same shape."""
        xp = _namespace(values, *self)
        inside = xp.maximum(xp.asarray(values), self.worst)
        outside = xp.asarray(values) - inside
        raised = _yeo_johnson(inside, self.power) + outside * _slope(inside, self.power)
        return (raised - self.location) / self.scale

    def inverse(self, warped: ArrayLike) -> Array:
        """The values with these transformed values, of the same shape.

        Example:
            >>> warping = Warping(2.5, 0.1, 0.7, worst=-2.0)
            >>> [float(warping.inverse(warping(value)).round(6)) for value in (-1.5, -4.0)]
            [-1.5, -4.0]
        """
        xp = _namespace(warped, *self)
        raised, worst = self.location + self.scale * xp.asarray(warped), xp.asarray(self.worst)
        inside = xp.maximum(raised, _yeo_johnson(worst, self.power))
        tangent = (raised - inside) / _slope(worst, self.power)
        return _unraised(inside, self.power) + xp.where(raised < inside, tangent, 0.0)

    def log_slope(self, values: ArrayLike) -> Array:
        """The logarithm of the derivative at values, of the same shape."""
        xp = _namespace(values, *self)
        inside = xp.maximum(xp.asarray(values), self.worst)
        return xp.log(_slope(inside, self.power)) - xp.log(self.scale)

    def data(self, data: Data) -> Data:
        """The data with transformed values; known variances are multiplied by the squared slope."""
        known = data.known_noise
        if known is not None:
            known = known * jnp.exp(2.0 * self.log_slope(data.y))
        values = jnp.where(data.mask, self(data.y), 0.0)
        return data._replace(y=values, known_noise=known)


NO_WARPING = Warping(1.0, 0.0, 1.0)
"""The identity."""


def _namespace(*arrays: ArrayLike) -> Any:
    """The module whose functions take the arrays: JAX's if one of them is its own, else NumPy."""
    return jnp if any(isinstance(array, Array) for array in arrays) else np


def _yeo_johnson(y: Any, power: ArrayLike) -> Any:
    xp, exponent = _namespace(y, power), _exponent(y, power)
    is_log, log = exponent == 0.0, xp.log1p(xp.abs(y))
    raised = xp.expm1(exponent * log) / xp.where(is_log, 1.0, exponent)
    return xp.sign(y) * xp.where(is_log, log, raised)


def _unraised(raised: Any, power: ArrayLike) -> Any:
    """The inverse of `_yeo_johnson`; minus infinity outside of its range."""
    xp, exponent = _namespace(raised, power), _exponent(raised, power)
    is_log = exponent == 0.0
    raised_log = xp.log1p(xp.maximum(exponent * xp.abs(raised), -1.0))
    log = xp.where(is_log, xp.abs(raised), raised_log / xp.where(is_log, 1.0, exponent))
    return xp.sign(raised) * xp.expm1(log)


def _slope(y: Any, power: ArrayLike) -> Any:
    """The derivative of `_yeo_johnson`."""
    xp = _namespace(y, power)
    return (1.0 + xp.abs(y)) ** ((power - 1.0) * xp.sign(y))


def _exponent(y: Any, power: ArrayLike) -> Any:
    """The exponent of one plus the absolute value, which depends on the sign."""
    return _namespace(y, power).where(y < 0.0, 2.0 - power, power)
