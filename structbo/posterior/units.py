"""The units of users: the only place where a posterior converts them."""

import numbers
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from structbo.data import unit_points
from structbo.models.foundation.arrays import FloatArray
from structbo.space import Space


@dataclass(frozen=True)
class Units:
    """How users speak of points and values; the model sees the unit cube and values of its scale.

    Args:
        space: of the points.
        location: what users call the model's 0.
        slope: what one unit of the model is to them; negative if the model's values were turned so
            that larger is better.

    Example:
        >>> units = Units(Space({"rate": (1e-4, 1.0, "log")}), location=5.0, slope=-2.0)
        >>> units.coordinates({"rate": 0.01}), units.parameter_values(0, [0.5, 1.0])
        (array([[0.5]]), array([0.01, 1.  ]))
        >>> units.values(np.array([0.0, 1.0])), units.deviations(np.array([0.5]))
        (array([5., 3.]), array([1.]))
    """

    space: Space
    location: float = 0.0
    slope: float = 1.0

    @classmethod
    def of_unit_cube(cls, names: Sequence[str]) -> "Units":
        """Those of the model itself."""
        return cls(Space({name: (0.0, 1.0) for name in names}))

    def coordinates(self, points: Any, *, name: str = "points") -> FloatArray:
        """Points of the unit cube, shape (m, D), from a dict by name, several, or a table."""
        return unit_points(self.space, points, name)

    def parameter_values(self, dim: int, coordinates: Iterable[float]) -> NDArray[Any]:
        """Values of one parameter at coordinates (m,): an array of numbers, or of any objects."""
        values = [self.space.parameters[dim].from_unit(u) for u in coordinates]
        are_numbers = all(isinstance(v, numbers.Real) and not isinstance(v, bool) for v in values)
        return np.array(values) if are_numbers else np.fromiter(values, object, len(values))

    def parameter_coordinates(self, dim: int, values: Iterable[Any]) -> FloatArray:
        """The coordinates (m,) of values of one parameter."""
        return np.array([self.space.parameters[dim].to_unit(value) for value in values])

    def values(self, of_model: FloatArray) -> FloatArray:
        """Values of the function."""
        return self.location + self.slope * of_model

    def variances(self, of_model: FloatArray) -> FloatArray:
        """Variances of the function."""
        return np.square(self.slope) * of_model

    def deviations(self, of_model: FloatArray) -> FloatArray:
        """Standard deviations of the function."""
        return abs(self.slope) * of_model
