"""Parameters with a list of choices, and fixed values."""

import math
from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, time
from functools import cached_property
from typing import Any, ClassVar

from structbo.space.parameters import Discrete
from structbo.space.scalars import ROUND_OFF, as_number, is_missing, plain
from structbo.space.spelling import did_you_mean


@dataclass(frozen=True)
class _Choices(Discrete):
    choices: Sequence[Any]

    def __post_init__(self) -> None:
        unordered = isinstance(self.choices, str | bytes | set | frozenset | Mapping)
        if unordered or not isinstance(self.choices, Iterable):
            raise TypeError(f"choices must be a list, got {self.choices!r}")
        object.__setattr__(self, "choices", tuple(_uneditable(choice) for choice in self.choices))
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
            pass
        near = _up_to_round_off(value, self.choices)
        if len(near) == 1:
            return near[0]
        hint, choices = did_you_mean(value, self.choices), list(self.choices)
        raise ValueError(f"value must be one of {choices}, got {value!r}{hint}")


@dataclass(frozen=True)
class Ordinal(_Choices):
    """One of several values in a meaningful order, in which neighbors are similar.

    Args:
        choices: distinct numbers, strings, booleans, dates, None, or tuples of these. 1 and True
            differ, 1 and 1.0 do not. Missing values of any kind, such as NaN, become None. Numbers
            match up to round-off. NumPy scalars become Python scalars, lists become tuples.

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


@dataclass(frozen=True)
class Fixed:
    """A value that all points share, without a coordinate.

    Points passed to the objective include it. Points from users may omit it, but cannot have
    another value.

    Args:
        value: a number, string, boolean, date, None, or a tuple of these.

    >>> from structbo import Space
    >>> space = Space({"lr": (0.0, 1.0), "optimizer": Fixed("adam")})
    >>> space.num_dims, space.from_unit([0.5])
    (1, [{'lr': 0.5, 'optimizer': 'adam'}])
    """

    value: Any

    def __post_init__(self) -> None:
        object.__setattr__(self, "value", _uneditable(self.value))
        try:
            hash(self.value)
        except TypeError:
            raise TypeError(f"value must be hashable, got {self.value!r}") from None

    @property
    def choices(self) -> tuple[Any]:
        """The fixed value."""
        return (self.value,)

    def as_legal(self, value: Any) -> Any:
        """The fixed value; raises ValueError if `value` differs."""
        try:
            is_same = bool(_identity(value) == _identity(self.value))
        except ValueError:  # an array
            is_same = False
        if not (is_same or _up_to_round_off(value, [self.value])):
            raise ValueError(f"value is fixed at {self.value!r}, got {value!r}")
        return self.value


def _uneditable(value: Any) -> Any:
    """An immutable choice: lists become tuples."""
    return tuple(map(_uneditable, value)) if isinstance(value, list) else plain(value)


def _identity(value: Any) -> Hashable:
    """Equal for the same choice: 1 and 1.0, [1] and (1,), NaN and None; but not 1 and True.

    A date equals its first midnight, as tables store dates.
    """
    value = plain(value)
    if isinstance(value, list | tuple):
        return tuple(_identity(item) for item in value)
    if isinstance(value, date) and not isinstance(value, datetime):
        value = datetime.combine(value, time())
    return isinstance(value, bool), None if is_missing(value) else value


def _up_to_round_off(value: Any, choices: Sequence[Any]) -> list[int]:
    """The indices of the choices that a number equals up to round-off."""
    number, exact = _float(value), [_float(choice) for choice in choices]
    smallest = min([1.0, *(abs(x) for x in exact if x != 0.0)])  # NaN is never the least
    slack = [ROUND_OFF * (smallest if x.is_integer() else abs(x)) for x in exact]
    return [i for i, x in enumerate(exact) if abs(number - x) <= slack[i]]


def _float(value: Any) -> float:
    """A finite number as a float, NaN for anything else."""
    try:
        number = as_number("value", value)
    except (TypeError, ValueError):
        return math.nan
    return number if math.isfinite(number) else math.nan
