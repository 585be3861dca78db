"""Conversion between the user's units and the scale of the model."""

import numbers
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float, Shaped

from structbo.data import UNCHANGED, Transform, unit_points
from structbo.space import Space

NORMAL_95 = 1.6449
"""The 95 % quantile of the standard normal."""
NODES, WEIGHTS = np.polynomial.hermite_e.hermegauss(32)
"""Gauss-Hermite quadrature, for means of functions of a normal variable."""
WEIGHTS = WEIGHTS / WEIGHTS.sum()


class Description(NamedTuple):
    """Mean, standard deviation and 90 % interval of values of the objective.

    Args:
        mean: their means.
        deviation: their standard deviations.
        lower: lower ends of 90 % intervals.
        upper: upper ends of 90 % intervals.
    """

    mean: Float[np.ndarray, " m"]
    deviation: Float[np.ndarray, " m"]
    lower: Float[np.ndarray, " m"]
    upper: Float[np.ndarray, " m"]


@dataclass(frozen=True)
class Units:
    """The user's units of points and values, converted to and from the scale of the model.

    Args:
        space: the space of the points.
        transform: map from values of the objective to values of the model.

    Example:
        >>> units = Units(Space({"rate": (1e-4, 1.0, "log")}), Transform(-1.0, -5.0, 2.0))
        >>> units.coordinates({"rate": 0.01}), units.parameter_values(0, [0.5, 1.0])
        (array([[0.5]]), array([0.01, 1.  ]))
        >>> units.values(np.array([0.0, 1.0]))
        array([5., 3.])
    """

    space: Space
    transform: Transform = UNCHANGED

    @classmethod
    def of_unit_cube(cls, names: Sequence[str]) -> "Units":
        """The units of the model itself."""
        return cls(Space({name: (0.0, 1.0) for name in names}))

    def coordinates(self, points: Any, *, name: str = "points") -> Float[np.ndarray, "m D"]:
        """Points of the unit cube, from a dict by name, several, or a table."""
        return unit_points(self.space, points, name)

    def parameter_values(self, dim: int, coordinates: Iterable[float]) -> Shaped[np.ndarray, " m"]:
        """Values of one parameter at coordinates: an array of numbers or of objects."""
        values = [self.space.parameters[dim].from_unit(u) for u in coordinates]
        are_numbers = all(isinstance(v, numbers.Real) and not isinstance(v, bool) for v in values)
        return np.array(values) if are_numbers else np.fromiter(values, object, len(values))

    def parameter_coordinates(self, dim: int, values: Iterable[Any]) -> Float[np.ndarray, " m"]:
        """The coordinates of values of one parameter."""
        return np.array([self.space.parameters[dim].to_unit(value) for value in values])

    @property
    def is_increasing(self) -> bool:
        """Whether the objective increases with the values of the model."""
        return self.transform.sign > 0.0

    def values(self, of_model: Float[np.ndarray, "*shape"]) -> Float[np.ndarray, "*shape"]:
        """Values of the objective."""
        return self.transform.inverse(of_model)

    def moments(
        self,
        mean: Float[np.ndarray, "S m"],
        variance: Float[np.ndarray, "S m"],
        weights: Float[np.ndarray, "S m"] | None = None,
    ) -> tuple[Float[np.ndarray, " m"], Float[np.ndarray, " m"]]:
        """Mean and standard deviation of the objective, given a mixture of normals.

        Args:
            mean: means of the S normals, on the scale of the model.
            variance: variances of the S normals.
            weights: weights of the normals, summing to one over S; by default equal.

        Returns:
            Both by the law of total variance. Quadrature is exact for a linear transform.
        """
        shares = np.full(mean.shape, 1.0 / len(mean)) if weights is None else weights
        normals = zip(mean, variance, strict=True)
        means, variances = np.stack([self._moments(*normal) for normal in normals], axis=1)
        center = (shares * means).sum(0)
        variance = (shares * (variances + np.square(means - center))).sum(0)
        # Squares of the objective's own values may overflow.
        return self.transform.unstandardized(center), self.transform.scale * np.sqrt(variance)

    def _moments(
        self, mean: Float[np.ndarray, " m"], variance: Float[np.ndarray, " m"]
    ) -> tuple[Float[np.ndarray, " m"], Float[np.ndarray, " m"]]:
        """Mean and variance of standardized values, given normals on the scale of the model."""
        values = self.transform.unwarped(mean[:, None] + np.sqrt(variance)[:, None] * NODES)
        center = values @ WEIGHTS
        return center, np.square(values - center[:, None]) @ WEIGHTS

    def description(
        self, means: Float[np.ndarray, "S m"], variances: Float[np.ndarray, "S m"]
    ) -> Description:
        """Moments and interval of the objective, given S normals on the scale of the model.

        The interval belongs to one normal with the mean and the variance of the mixture.

        Args:
            means: means of the S normals.
            variances: variances of the S normals.
        """
        deviation = np.sqrt(variances.mean(0) + means.var(0))
        ends = self.interval(means.mean(0), deviation)
        return Description(*self.moments(means, variances), *ends)

    def interval(
        self, mean: Float[np.ndarray, "*shape"], deviation: Float[np.ndarray, "*shape"]
    ) -> tuple[Float[np.ndarray, "*shape"], Float[np.ndarray, "*shape"]]:
        """The 5 % and the 95 % quantile of the objective, given a normal on the scale of the model.

        Args:
            mean: mean of the normal.
            deviation: standard deviation of the normal.
        """
        reach = NORMAL_95 * deviation * self.transform.sign
        return self.values(mean - reach), self.values(mean + reach)
