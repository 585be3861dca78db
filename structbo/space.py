"""The search space: named parameters, and the maps to and from the unit cube.

Every parameter takes exactly one coordinate of the cube. A real one fills [0, 1]; a discrete one
sits at its *levels*, a grid from 0 to 1, so a categorical with k choices costs one dimension.
Parameters know how to map one value; `Space` names them and maps whole tables.
"""

import difflib
import math
import numbers
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = ["Categorical", "Integer", "Ordinal", "Real", "Space"]

FloatArray: TypeAlias = NDArray[np.float64]
Points: TypeAlias = list[dict[str, Any]] | FloatArray

ROUND_OFF = 1e-6  # a bound that went through single precision is still that bound
MAX_INTEGERS = 2**20  # one level each, 8 MiB
MAX_MAGNITUDE = 2**53  # the integers that a float64 holds exactly


class Parameter(ABC):
    """One named coordinate: how a single value goes to [0, 1] and back."""

    is_categorical: ClassVar[bool] = False

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


@dataclass(frozen=True)
class Real(Parameter):
    """A real number in [low, high], linear or in the logarithm.

    Args:
        low, high: finite bounds, low < high; both positive if `log`.
        log: whether equal ratios, not equal differences, are equally far apart.

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
        return self.values[int(_nearest(self.levels, u))]


@dataclass(frozen=True)
class Integer(_Discrete):
    """An integer in {low, ..., high}, both included, evenly spaced or in the logarithm.

    Args:
        low, high: integer bounds, low <= high; both positive if `log`.
        log: whether equal ratios, not equal differences, are equally far apart.

    >>> Integer(1, 9).to_unit(3), Integer(1, 9, log=True).to_unit(3)
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
        object.__setattr__(self, "choices", tuple(_plain(choice) for choice in self.choices))
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
            hint = _did_you_mean(value, self.choices)
            choices = list(self.choices)
            raise ValueError(f"value must be one of {choices}, got {value!r}{hint}") from None


@dataclass(frozen=True)
class Ordinal(_Choices):
    """One of several values whose given order matters; neighbours are alike.

    Args:
        choices: distinct numbers, strings, booleans, None, or tuples of these. 1 and True differ,
            1 and 1.0 do not; NaN reads as None. NumPy scalars come back as Python's own.

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


@dataclass(frozen=True, init=False, repr=False)
class Space:
    """Named parameters, and the maps between their values and the unit cube [0, 1]^D.

    Args:
        spec: `{name: parameter}`; or a list of parameters, named x0, x1, ...; or an array (D, 2)
            of bounds, as in `Space.box`; or a `Space`. A parameter is (low, high),
            (low, high, "log"), `Real`, `Integer`, `Ordinal` or `Categorical`.

    Attributes:
        names: the D names; parameters: the D parameters.
        is_box: whether points are arrays (n, D) rather than dicts.

    Raises:
        TypeError, ValueError: naming the parameter that is at fault.

    >>> space = Space({"lr": (1e-4, 1.0, "log"), "act": Categorical(["relu", "gelu"])})
    >>> space.to_unit({"lr": 0.01, "act": "gelu"})
    array([[0.5, 1. ]])
    >>> space.from_unit([[0.0, 0.2]])
    [{'lr': 0.0001, 'act': 'relu'}]
    """

    names: tuple[str, ...]
    parameters: tuple[Parameter, ...]
    is_box: bool

    def __init__(self, spec: "Mapping[str, Any] | Sequence[Any] | NDArray[Any] | Space") -> None:
        if hasattr(spec, "ndim"):
            spec = Space.box(np.asarray(spec))
        named = _named(spec)
        object.__setattr__(self, "names", tuple(named))
        object.__setattr__(self, "parameters", tuple(_parameter(n, s) for n, s in named.items()))
        object.__setattr__(self, "is_box", isinstance(spec, Space) and spec.is_box)

    @classmethod
    def box(cls, bounds: ArrayLike) -> "Space":
        """The box whose points are arrays (n, D).

        Args:
            bounds: (D, 2), one row [low, high] per dimension.

        Raises:
            TypeError, ValueError: for another shape, or bounds that are not finite or not ordered.

        >>> Space.box([[0, 1], [-5, 10]]).from_unit([[0.5, 0.5]])
        array([[0.5, 2.5]])
        """
        try:
            array = np.asarray(bounds, dtype=np.float64)
        except (TypeError, ValueError):
            raise TypeError(f"bounds must be numbers of shape (D, 2), got {bounds!r}") from None
        if array.ndim != 2 or array.shape[1] != 2:
            raise ValueError(
                f"bounds must have shape (D, 2), one row [low, high] per dimension, got "
                f"{array.shape}"
            )
        space = cls(array.tolist())
        object.__setattr__(space, "is_box", True)
        return space

    @property
    def num_dims(self) -> int:
        """D, the number of parameters."""
        return len(self.names)

    @cached_property
    def levels(self) -> tuple[FloatArray | None, ...]:
        """Per dimension, the legal coordinates in ascending order; None for a real one."""
        return tuple(parameter.levels for parameter in self.parameters)

    @cached_property
    def is_categorical(self) -> NDArray[np.bool_]:
        """Which dimensions have no order (D,)."""
        return np.array([parameter.is_categorical for parameter in self.parameters])

    @property
    def num_points(self) -> int | None:
        """How many points there are; None if infinitely many."""
        sizes = [len(levels) for levels in self.levels if levels is not None]
        return math.prod(sizes) if len(sizes) == self.num_dims else None

    def to_unit(self, points: Any) -> FloatArray:
        """Map points to the unit cube.

        Args:
            points: a dict by name, a list of dicts, a DataFrame, or an array (n, D) or (D,) (or
                nested list) of values in the order of `names`.

        Returns:
            (n, D), exactly on the levels where a parameter is discrete.

        Raises:
            TypeError, ValueError: naming the point and the parameter at fault.
        """
        rows = self._rows(points)
        unit = np.empty((len(rows), self.num_dims))
        for i, row in enumerate(rows):
            for d, (name, parameter) in enumerate(zip(self.names, self.parameters, strict=True)):
                try:
                    unit[i, d] = parameter.to_unit(row[d])
                except (TypeError, ValueError) as error:
                    raise type(error)(f"points[{i}][{name!r}]: {error}") from None
        return unit

    def from_unit(self, unit: ArrayLike) -> Points:
        """Map the unit cube to the nearest legal points.

        Args:
            unit: (n, D) or (D,); coordinates outside [0, 1] are clipped.

        Returns:
            n dicts by name, or an array (n, D) if the space is a box.

        Raises:
            ValueError: for another shape, or NaN.
        """
        coordinates = np.atleast_2d(self._coordinates(unit))
        if coordinates.ndim != 2:
            raise ValueError(f"unit must have shape (n, D) or (D,), got {coordinates.shape}")
        rows = [
            [parameter.from_unit(u) for parameter, u in zip(self.parameters, row, strict=True)]
            for row in coordinates.tolist()
        ]
        if self.is_box:
            return np.array(rows).reshape(-1, self.num_dims)
        return [dict(zip(self.names, row, strict=True)) for row in rows]

    def snap(self, unit: ArrayLike) -> FloatArray:
        """Move to the nearest legal points of the unit cube.

        Args:
            unit: (..., D).

        Returns:
            (..., D): reals clipped into [0, 1], the others on their nearest level.

        Raises:
            ValueError: for another shape, or NaN.

        >>> Space([(0, 1), Integer(0, 2)]).snap([1.1, 0.6])
        array([1. , 0.5])
        """
        snapped = np.clip(self._coordinates(unit), 0.0, 1.0)
        for d, levels in enumerate(self.levels):
            if levels is not None:
                snapped[..., d] = levels[_nearest(levels, snapped[..., d])]
        return snapped

    def __repr__(self) -> str:
        if self.is_box:
            return f"Space.box({[[p.low, p.high] for p in self.parameters if isinstance(p, Real)]})"
        pairs = zip(self.names, self.parameters, strict=True)
        lines = [f"    {name!r}: {parameter!r},\n" for name, parameter in pairs]
        return "Space({\n" + "".join(lines) + "})"

    def _coordinates(self, unit: ArrayLike) -> FloatArray:
        coordinates = np.asarray(unit, dtype=np.float64)
        if coordinates.ndim == 0 or coordinates.shape[-1] != self.num_dims:
            raise ValueError(
                f"unit must have shape (..., {self.num_dims}), got {coordinates.shape}"
            )
        if np.isnan(coordinates).any():
            raise ValueError("unit must not hold NaN")
        return coordinates

    def _rows(self, points: Any) -> Sequence[Sequence[Any]]:
        """Any kind of table, as rows of values in the order of `names`."""
        if hasattr(points, "columns"):
            self._check_names("points", points.columns)
            return list(zip(*(points[name].to_list() for name in self.names), strict=True))
        if hasattr(points, "ndim") and not _is_dict(points):
            points = np.asarray(points).tolist()
        if isinstance(points, str) or not isinstance(points, Iterable):
            raise TypeError(f"points must be dicts, a DataFrame or an array, got {points!r}")
        points = [points] if _is_dict(points) else list(points)
        if not all(_is_dict(p) or isinstance(p, list | tuple | np.ndarray) for p in points):
            points = [points]
        return [self._row(f"points[{i}]", point) for i, point in enumerate(points)]

    def _row(self, where: str, point: Any) -> Sequence[Any]:
        if _is_dict(point):
            self._check_names(where, point.keys())
            return [point[name] for name in self.names]
        if len(point) != self.num_dims:
            raise ValueError(
                f"{where} must hold {self.num_dims} values {list(self.names)}, got {len(point)}; "
                "points as an array have shape (n, D)"
            )
        return list(point)

    def _check_names(self, where: str, given: Iterable[Any]) -> None:
        given = list(given)
        if len(given) == self.num_dims and set(given) == set(self.names):
            return
        faults = [
            *(f"unknown {n!r}{_did_you_mean(n, self.names)}" for n in given if n not in self.names),
            *(f"missing {name!r}" for name in self.names if name not in given),
            *(f"repeated {name!r}" for name in self.names if given.count(name) > 1),
        ]
        raise ValueError(
            f"{where} must have exactly the names {list(self.names)}; {', '.join(faults)}"
        )


def _named(spec: Any) -> dict[str, Any]:
    """What `Space` was given, as parameters or their short forms by name."""
    if isinstance(spec, Space):
        return dict(zip(spec.names, spec.parameters, strict=True))
    if isinstance(spec, str) or not isinstance(spec, Mapping | Sequence):
        raise TypeError(f"spec must be a dict, a list, an array (D, 2) or a Space, got {spec!r}")
    named = dict(spec) if isinstance(spec, Mapping) else {f"x{d}": s for d, s in enumerate(spec)}
    if not named:
        raise ValueError("spec must hold at least one parameter, got none")
    for name in named:
        if not isinstance(name, str) or not name:
            raise TypeError(f"spec must have non-empty strings as names, got {name!r}")
    return named


def _parameter(name: str, spec: Any) -> Parameter:
    try:
        match spec:
            case Parameter():
                return spec
            case (numbers.Real() as low, numbers.Real() as high):
                return Real(low, high)  # type: ignore[arg-type]
            case (numbers.Real() as low, numbers.Real() as high, "log"):
                return Real(low, high, log=True)  # type: ignore[arg-type]
    except (TypeError, ValueError) as error:
        raise type(error)(f"parameter {name!r}: {error}") from None
    raise TypeError(
        f"parameter {name!r} must be (low, high), (low, high, 'log'), Real, Integer, Ordinal or "
        f"Categorical, got {spec!r}; for choices write Categorical([...])"
    )


def _plain(value: Any) -> Any:
    """A scalar of NumPy (or JAX, or Torch) as Python's own."""
    return value.item() if getattr(value, "ndim", None) == 0 else value


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


def _is_dict(point: Any) -> bool:
    """Whether values are found by name, as in a dict or a row of a DataFrame."""
    return hasattr(point, "keys")


def _did_you_mean(word: Any, words: Iterable[Any]) -> str:
    close = difflib.get_close_matches(str(word), [w for w in words if isinstance(w, str)], n=1)
    return f" (did you mean {close[0]!r}?)" if close else ""


def _nearest(levels: FloatArray, u: FloatArray | float) -> NDArray[np.intp]:
    """The index of the level nearest to each coordinate, the lower one of two equally near."""
    right = np.minimum(np.searchsorted(levels, u), len(levels) - 1)
    left = np.maximum(right - 1, 0)
    return np.where(u - levels[left] <= levels[right] - u, left, right)
