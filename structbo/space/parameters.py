"""Parameters of a search space: how one value goes to [0, 1] and back.

A real parameter fills [0, 1]; a discrete one sits at its *levels*, a grid from 0 to 1, so a
categorical with k choices costs one dimension.
"""

import difflib
import math
import numbers
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from structbo.models.arrays import FloatArray

ROUND_OFF = 1e-6  # a bound that went through single precision is still that bound
MAX_INTEGERS = 2**20  # one level each, 8 MiB
MAX_MAGNITUDE = 2**53  # the integers that a float64 holds exactly


Scale = Literal["linear", "log", "labels"]
"""Of an axis: for numbers, or for labels that are equally far apart."""


class Parameter(ABC):
    """One named coordinate: how a single value goes to [0, 1] and back."""

    is_categorical: ClassVar[bool] = False

    @property
    def scale(self) -> Scale:
        """On what axis pictures show the values."""
        return "linear" if self.levels is None else "labels"

    @property
    @abstractmethod
    def levels(self) -> FloatArray | None:
        """Legal coordinates (k,), ascending; None where all of [0, 1] is legal."""

    @abstractmethod
    def to_unit(self, value: Any) -> float:
        """The coordinate of `value`; raises TypeError or ValueError if the value is not legal."""

    @abstractmethod
    def from_unit(self, u: float) -> Any:
        """The value at the legal coordinate nearest to `u`."""

    def as_legal(self, value: Any) -> Any:
        """The legal value that `value` stands for; raises as `to_unit` does.

        By default it has gone through its coordinate.
        """
        return self.from_unit(self.to_unit(value))


@dataclass(frozen=True)
class Real(Parameter):
    """A real number in [low, high], linear or in the logarithm.

    Args:
        low, high: finite bounds, low < high; both positive if `log`.
        log: whether the scale is logarithmic: equal ratios are equally far apart.

    >>> Real(1e-4, 1.0, log=True).to_unit(1e-2)
    0.5
    """

    low: float
    high: float
    log: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "low", _number("low", self.low))
        object.__setattr__(self, "high", _number("high", self.high))
        if not (math.isfinite(self.low) and math.isfinite(self.high)):
            raise ValueError(f"low and high must be finite, got low={self.low}, high={self.high}")
        if self.low >= self.high:
            raise ValueError(f"low must be below high, got low={self.low} and high={self.high}")
        if self.log and self.low <= 0:
            raise ValueError(f"log needs low > 0, got low={self.low}; raise it or drop log")
        if not math.isfinite(self._span):
            raise ValueError(f"[{self.low}, {self.high}] is too wide for a float; narrow it")

    @property
    def levels(self) -> None:
        return None

    @property
    def scale(self) -> Scale:
        return "log" if self.log else "linear"

    @property
    def _span(self) -> float:
        return (self.high - self.low) / (self.low if self.log else 1.0)

    def to_unit(self, value: Any) -> float:
        number = _number("value", value)
        inside = min(max(number, self.low), self.high)
        slack = ROUND_OFF * min(abs(inside), self.high - self.low)
        if not abs(number - inside) <= slack:
            raise ValueError(f"value must be in [{self.low}, {self.high}], got {number}")
        if self.log:
            return math.log1p((inside - self.low) / self.low) / math.log1p(self._span)
        return (inside - self.low) / self._span

    def from_unit(self, u: float) -> float:
        u = min(max(float(u), 0.0), 1.0)
        if not self.log:
            value = self.low * (1.0 - u) + self.high * u
        elif u < 0.5:
            value = self.low * math.exp(u * math.log1p(self._span))
        else:  # from the other end, so that both bounds are exact
            value = self.high * math.exp((u - 1.0) * math.log1p(self._span))
        return min(max(value, self.low), self.high)

    def as_legal(self, value: Any) -> float:
        """The number itself, not one that lost a bit on its way to the coordinate and back."""
        self.to_unit(value)
        return min(max(_number("value", value), self.low), self.high)


class _Discrete(Parameter):
    """Finitely many values; `values[i]` sits at `levels[i]`."""

    @property
    @abstractmethod
    def values(self) -> Sequence[Any]: ...

    @abstractmethod
    def _index(self, value: Any) -> int: ...

    def _positions(self) -> FloatArray:
        """Where the values lie, from 0 up, on a scale of any length."""
        return np.arange(len(self.values), dtype=np.float64)

    @property
    def levels(self) -> FloatArray:
        return self._levels

    @cached_property
    def _levels(self) -> FloatArray:
        positions = self._positions()
        levels = positions / positions[-1] if len(positions) > 1 else np.array([0.5])
        levels.setflags(write=False)
        return levels

    def to_unit(self, value: Any) -> float:
        return float(self.levels[self._index(value)])

    def from_unit(self, u: float) -> Any:
        return self.values[int(nearest_level(self.levels, u))]


@dataclass(frozen=True)
class Integer(_Discrete):
    """An integer in {low, ..., high}, both included, evenly spaced or in the logarithm.

    Args:
        low, high: integer bounds, low <= high; both positive if `log`.
        log: whether the scale is logarithmic: equal ratios are equally far apart.

    >>> Integer(1, 9).to_unit(3), round(Integer(1, 9, log=True).to_unit(3), 9)
    (0.25, 0.5)
    """

    low: int
    high: int
    log: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "low", _integer("low", self.low))
        object.__setattr__(self, "high", _integer("high", self.high))
        if self.low > self.high:
            raise ValueError(f"low must not exceed high, got low={self.low} and high={self.high}")
        if self.log and self.low <= 0:
            raise ValueError(f"log needs low >= 1, got low={self.low}; raise it or drop log")
        too_many = self.high - self.low >= MAX_INTEGERS
        if too_many or max(-self.low, self.high) > MAX_MAGNITUDE:
            raise ValueError(
                f"{{{self.low}, ..., {self.high}}} is too large: at most {MAX_INTEGERS} integers "
                f"of magnitude at most 2**53; use Real and round"
            )

    @property
    def values(self) -> range:
        return range(self.low, self.high + 1)

    @property
    def scale(self) -> Scale:
        return "log" if self.log else "linear"

    def _positions(self) -> FloatArray:
        steps = super()._positions()
        return np.log1p(steps / self.low) if self.log else steps

    def _index(self, value: Any) -> int:
        number = _integer("value", value)
        if not self.low <= number <= self.high:
            raise ValueError(f"value must be in {{{self.low}, ..., {self.high}}}, got {number}")
        return number - self.low


@dataclass(frozen=True)
class _Choices(_Discrete):
    choices: Sequence[Any]

    def __post_init__(self) -> None:
        unordered = isinstance(self.choices, str | bytes | set | frozenset)
        if unordered or not isinstance(self.choices, Iterable):
            raise TypeError(f"choices must be a list, got {self.choices!r}")
        object.__setattr__(self, "choices", tuple(_fixed(choice) for choice in self.choices))
        if not self.choices:
            raise ValueError("choices must hold at least one value, got none")
        try:
            counts = Counter(map(_identity, self.choices))
        except TypeError:
            raise TypeError(f"choices must be hashable, got {list(self.choices)}") from None
        repeated = [choice for choice in self.choices if counts[_identity(choice)] > 1]
        if repeated:
            raise ValueError(f"choices must differ, got {repeated} as equals; keep one of them")

    @property
    def values(self) -> Sequence[Any]:
        return self.choices

    @cached_property
    def _indices(self) -> dict[Hashable, int]:
        return {_identity(choice): i for i, choice in enumerate(self.choices)}

    def _index(self, value: Any) -> int:
        try:
            return self._indices[_identity(value)]
        except (KeyError, TypeError):
            hint = did_you_mean(value, self.choices)
            choices = list(self.choices)
            raise ValueError(f"value must be one of {choices}, got {value!r}{hint}") from None


@dataclass(frozen=True)
class Ordinal(_Choices):
    """One of several values whose given order matters; neighbors are alike.

    Args:
        choices: distinct numbers, strings, booleans, None, or tuples of these. 1 and True differ,
            1 and 1.0 do not; NaN reads as None. NumPy scalars come back as Python's own, lists as
            tuples: nobody can edit them.


    >>> Ordinal([16, 32, 64]).to_unit(32)
    0.5
    """


@dataclass(frozen=True)
class Categorical(_Choices):
    """One of several values without an order.

    Args:
        choices: as for `Ordinal`.

    >>> Categorical(["relu", "gelu", None]).from_unit(1.0) is None
    True
    """

    is_categorical: ClassVar[bool] = True


def _plain(value: Any) -> Any:
    """A scalar of NumPy (or JAX, or Torch) as Python's own."""
    return value.item() if getattr(value, "ndim", None) == 0 else value


def _fixed(value: Any) -> Any:
    """A choice that cannot be edited: lists become tuples."""
    return tuple(map(_fixed, value)) if isinstance(value, list) else _plain(value)


def _number(what: str, value: Any) -> float:
    value = _plain(value)
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        raise TypeError(f"{what} must be a number, got {value!r}")
    try:
        return float(value)
    except OverflowError:
        raise ValueError(f"{what} must fit into a float, got {value!r}") from None


def _integer(what: str, value: Any) -> int:
    value = _plain(value)
    if isinstance(value, numbers.Integral) and not isinstance(value, bool):
        return int(value)
    if not _number(what, value).is_integer():
        raise ValueError(f"{what} must be an integer, got {value!r}")
    return int(value)


def _identity(value: Any) -> Hashable:
    """Equal for the same choice: 1 and 1.0, [1] and (1,), NaN and None; but not 1 and True."""
    value = _plain(value)
    if isinstance(value, list | tuple):
        return tuple(_identity(item) for item in value)
    return isinstance(value, bool), None if _is_missing(value) else value


def _is_missing(value: Any) -> bool:
    try:
        return bool(value != value)
    except TypeError:  # pandas' NA is neither equal to itself nor not
        return True
    except ValueError:  # an array
        return False


def did_you_mean(word: Any, words: Iterable[Any]) -> str:
    close = difflib.get_close_matches(str(word), [w for w in words if isinstance(w, str)], n=1)
    return f" (did you mean {close[0]!r}?)" if close else ""


def nearest_level(levels: FloatArray, u: FloatArray | float) -> NDArray[np.intp]:
    """The index of the level nearest to each coordinate, the lower one of two equally near."""
    right = np.minimum(np.searchsorted(levels, u), len(levels) - 1)
    left = np.maximum(right - 1, 0)
    return np.where(u - levels[left] <= levels[right] - u, left, right)
