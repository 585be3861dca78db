"""The transform between values of the objective and values of the model."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float
from numpy.typing import ArrayLike

from structbo.data.warping import NO_WARPING, Warping
from structbo.models.foundation.arrays import FloatArray


class Transform(NamedTuple):
    """The map from values of the objective to values of the model, and back.

    Values are multiplied by a sign so that larger is better, standardized, and warped by a power
    transform. The search and the posterior share one transform.

    Args:
        sign: 1 to maximize, -1 to minimize.
        location: the mean of the signed values.
        scale: their standard deviation.
        warping: the power transform of the standardized values.

    Example:
        >>> transform = Transform(-1.0, location=-5.0, scale=2.0)
        >>> transform(np.array([5.0, 3.0])), transform.inverse(np.array([0.0, 1.0]))
        (array([0., 1.]), array([5., 3.]))
    """

    sign: float = 1.0
    location: float = 0.0
    scale: float = 1.0
    warping: Warping = NO_WARPING

    @property
    def is_linear(self) -> bool:
        """Whether the map is linear."""
        return float(self.warping.power) == 1.0

    def standardized(self, values: ArrayLike) -> FloatArray:
        """The signed and standardized values of the objective, of the same shape."""
        return (self.sign * np.asarray(values, float) - self.location) / self.scale

    def __call__(self, values: ArrayLike) -> FloatArray:
        """The values of the model, of the same shape."""
        with np.errstate(all="ignore"):
            return np.asarray(self.warping(self.standardized(values)))

    def unwarped(self, of_model: ArrayLike) -> FloatArray:
        """The standardized values, given values of the model, of the same shape."""
        with np.errstate(all="ignore"):
            return np.asarray(self.warping.inverse(np.asarray(of_model, float)))

    def unstandardized(self, standardized: FloatArray) -> FloatArray:
        """The values of the objective, given standardized ones, of the same shape."""
        return self.sign * (self.location + self.scale * standardized)

    def inverse(self, of_model: ArrayLike) -> FloatArray:
        """The values of the objective, given values of the model, of the same shape."""
        return self.unstandardized(self.unwarped(of_model))

    def errors(self, sem: Float[np.ndarray, " n"], values: ArrayLike) -> Float[np.ndarray, " n"]:
        """Standard errors on the scale of the model, to first order.

        Args:
            sem: standard errors of the objective.
            values: values of the objective, shape (n,).
        """
        slopes = np.exp(np.asarray(self.warping.log_slope(self.standardized(values))))
        return sem / self.scale * slopes


UNCHANGED = Transform()
"""The identity."""
