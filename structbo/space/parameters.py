"""The interface of parameters: maps between values and the unit interval.

A real parameter fills [0, 1]. A discrete one takes *levels*, a grid from 0 to 1, so a categorical
with k choices has a single dimension.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import cached_property
from typing import Any, ClassVar, Literal

import numpy as np
from jaxtyping import Float, Int

Scale = Literal["linear", "log", "labels"]
"""Scale of an axis: numeric, or equidistant labels."""


class Parameter(ABC):
    """A named coordinate, with the map between its values and [0, 1]."""

    is_categorical: ClassVar[bool] = False

    @property
    def scale(self) -> Scale:
        """The scale of the axis in plots."""
        return "linear" if self.levels is None else "labels"

    @property
    @abstractmethod
    def levels(self) -> Float[np.ndarray, " L"] | None:
        """Legal coordinates, ascending; None if all of [0, 1] is legal."""

    @abstractmethod
    def to_unit(self, value: Any) -> float:
        """The coordinate of `value`; raises TypeError or ValueError if the value is not legal."""

    @abstractmethod
    def from_unit(self, u: float) -> Any:
        """The value at the legal coordinate nearest to `u`."""

    def as_legal(self, value: Any) -> Any:
        """The legal value that equals `value`; raises as `to_unit` does.

        The default maps it to its coordinate and back.
        """
        return self.from_unit(self.to_unit(value))

    def rounded(self, value: Any, resolution: float) -> Any:
        """A legal value with fewer digits whose coordinate differs by at most half the resolution.

        By default the value itself.
        """
        return value


class Discrete(Parameter):
    """Finitely many values; `values[i]` sits at `levels[i]`."""

    @property
    @abstractmethod
    def values(self) -> Sequence[Any]: ...

    @abstractmethod
    def _index(self, value: Any) -> int: ...

    def _positions(self) -> Float[np.ndarray, " L"]:
        """Positions of the values, ascending from 0, on a scale of any length."""
        return np.arange(len(self.values), dtype=np.float64)

    @property
    def levels(self) -> Float[np.ndarray, " L"]:
        return self._levels

    @cached_property
    def _levels(self) -> Float[np.ndarray, " L"]:
        positions = self._positions()
        levels = positions / positions[-1] if len(positions) > 1 else np.array([0.5])
        levels.setflags(write=False)
        return levels

    def to_unit(self, value: Any) -> float:
        return float(self.levels[self._index(value)])

    def from_unit(self, u: float) -> Any:
        return self.values[int(nearest_level(self.levels, u))]


def nearest_level(
    levels: Float[np.ndarray, " L"], u: Float[np.ndarray, "*shape"] | float
) -> Int[np.ndarray, "*shape"]:
    """The index of the level nearest to each coordinate; ties go to the lower level."""
    right = np.minimum(np.searchsorted(levels, u), len(levels) - 1)
    left = np.maximum(right - 1, 0)
    return np.where(u - levels[left] <= levels[right] - u, left, right)
