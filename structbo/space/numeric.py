"""Parameters that are numbers."""

import math
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from typing import Any

import numpy as np
from jaxtyping import Float

from structbo.models.foundation.arguments import checked_bool
from structbo.space.parameters import Discrete, Parameter, Scale, nearest_level
from structbo.space.scalars import ROUND_OFF, as_integer, as_number

DIGITS = 17
"""Number of digits that identifies a float."""
MAX_INTEGERS = 2**20  # one level each, 8 MiB
MAX_MAGNITUDE = 2**53  # the integers that a float64 holds exactly


@dataclass(frozen=True)
class Real(Parameter):
    """A real number in [low, high], on a linear or logarithmic scale, or on a grid of equal steps.

    Args:
        low, high: finite bounds, low < high; both positive if `log`.
        log: whether the scale is logarithmic: equal ratios are equally far apart.
        step: restricts the values to low, low + step, ..., high; not with `log`.

    >>> Real(1e-4, 1.0, log=True).to_unit(1e-2)
    0.5
    >>> Real(0.0, 1.0, step=0.1).from_unit(0.32)
    0.3
    """

    low: float
    high: float
    log: bool = False
    step: float | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "low", as_number("low", self.low))
        object.__setattr__(self, "high", as_number("high", self.high))
        object.__setattr__(self, "log", checked_bool("log", self.log))
        if not (math.isfinite(self.low) and math.isfinite(self.high)):
            raise ValueError(f"low and high must be finite, got low={self.low}, high={self.high}")
        if self.low == self.high:
            raise ValueError(
                f"low must be below high, got {self.low} for both; use Fixed({self.low}) for a "
                "constant"
            )
        if self.low > self.high:
            raise ValueError(f"low must be below high, got low={self.low} and high={self.high}")
        if self.log and self.low <= 0:
            raise ValueError(f"log needs low > 0, got low={self.low}; raise it or drop log")
        if not math.isfinite(self._span):
            raise ValueError(f"[{self.low}, {self.high}] is too wide for a float; narrow it")
        if self.step is not None:
            object.__setattr__(self, "step", self._checked_step(as_number("step", self.step)))

    def _checked_step(self, step: float) -> float:
        if self.log:
            raise ValueError(f"step and log exclude each other, got step={step}; drop one of them")
        if not 0.0 < step < math.inf:
            raise ValueError(f"step must be positive, got {step}")
        count = (self.high - self.low) / step
        if count >= MAX_INTEGERS:
            raise ValueError(f"step={step} makes more than {MAX_INTEGERS} values; drop it")
        if abs(count - round(count)) > ROUND_OFF or round(count) == 0:
            last = on_grid(self.low, step, math.floor(count + ROUND_OFF))
            nearest = last if last > self.low else on_grid(self.low, step, 1)
            raise ValueError(
                f"step must lead from low to high, got low={self.low}, high={self.high} and "
                f"step={step}; high={nearest} would do"
            )
        return step

    @cached_property
    def _grid(self) -> tuple[tuple[float, ...], Float[np.ndarray, " L"]] | None:
        """The values and the levels of a grid."""
        if self.step is None:
            return None
        count = round((self.high - self.low) / self.step)
        inner = (on_grid(self.low, self.step, k) for k in range(1, count))
        levels = np.linspace(0.0, 1.0, count + 1)
        levels.setflags(write=False)
        return (self.low, *inner, self.high), levels

    @property
    def levels(self) -> Float[np.ndarray, " L"] | None:
        return None if self._grid is None else self._grid[1]

    @property
    def scale(self) -> Scale:
        return "log" if self.log else "linear"

    @property
    def _span(self) -> float:
        return (self.high - self.low) / (self.low if self.log else 1.0)

    def to_unit(self, value: Any) -> float:
        number = as_number("value", value)
        inside = min(max(number, self.low), self.high)
        if not self._distance(number, inside) <= ROUND_OFF:
            raise ValueError(f"value must be in [{self.low}, {self.high}], got {number}")
        if self._grid is not None:
            index = self._index(inside)
            return float(self._grid[1][index])
        return self._distance(inside, self.low)

    def _distance(self, number: float, reference: float) -> float:
        """The distance between a number and a reference, relative to the range."""
        if number == reference:
            return 0.0
        if not self.log:
            return abs(number - reference) / self._span
        if number <= 0.0:
            return math.inf
        return abs(math.log1p((number - reference) / reference)) / math.log1p(self._span)

    def from_unit(self, u: float) -> float:
        u = min(max(float(u), 0.0), 1.0)
        if self._grid is not None:
            values, levels = self._grid
            return values[int(nearest_level(levels, u))]
        if not self.log:
            value = self.low * (1.0 - u) + self.high * u
        elif u < 0.5:
            value = self.low * math.exp(u * math.log1p(self._span))
        else:  # from the high end, so that both bounds are exact
            value = self.high * math.exp((u - 1.0) * math.log1p(self._span))
        return min(max(value, self.low), self.high)

    def as_legal(self, value: Any) -> float:
        """The number itself, without the round-off of the coordinate."""
        u = self.to_unit(value)
        if self._grid is not None:
            return self.from_unit(u)
        return min(max(as_number("value", value), self.low), self.high)

    def rounded(self, value: float, resolution: float) -> float:
        """The number with the fewest digits within the resolution.

        >>> Real(20.0, 80.0).rounded(45.380417, 1e-4), Real(1.0, 1.1).rounded(1.0123456, 1e-4)
        (45.38, 1.01235)
        """
        coordinate = self.to_unit(value)
        for short in (0.0, *(float(f"{value:.{digits}g}") for digits in range(1, DIGITS))):
            try:
                distance = abs(self.to_unit(short) - coordinate)
            except ValueError:  # outside, or between the steps
                continue
            if self.low <= short <= self.high and distance <= resolution / 2:
                return short
        return value

    def _index(self, number: float) -> int:
        """The index of a number on the grid."""
        assert self._grid is not None and self.step is not None
        values, _ = self._grid
        index = min(round((number - self.low) / self.step), len(values) - 1)
        round_off = min(ROUND_OFF * max(self.step, abs(number)), self.step / 4)
        if abs(number - values[index]) > round_off:
            raise ValueError(
                f"value must be {self.low} plus a multiple of {self.step}, got {number}; the "
                f"nearest is {values[index]}"
            )
        return index


@dataclass(frozen=True)
class Integer(Discrete):
    """An integer in {low, low + step, ..., high}, on a linear or logarithmic scale.

    Args:
        low, high: integer bounds, low <= high, both included; both positive if `log`.
        log: whether the scale is logarithmic: equal ratios are equally far apart.
        step: difference of neighboring values, a divisor of high - low; 1 if `log`.

    >>> Integer(1, 9).to_unit(3), round(Integer(1, 9, log=True).to_unit(3), 9)
    (0.25, 0.5)
    >>> Integer(32, 256, step=32).from_unit(0.3)
    96
    """

    low: int
    high: int
    log: bool = False
    step: int = 1

    def __post_init__(self) -> None:
        object.__setattr__(self, "low", as_integer("low", self.low))
        object.__setattr__(self, "high", as_integer("high", self.high))
        object.__setattr__(self, "log", checked_bool("log", self.log))
        object.__setattr__(self, "step", as_integer("step", self.step))
        if self.low > self.high:
            raise ValueError(f"low must not exceed high, got low={self.low} and high={self.high}")
        if self.log and self.low <= 0:
            raise ValueError(f"log needs low >= 1, got low={self.low}; raise it or drop log")
        self._check_step()
        too_many = (self.high - self.low) // self.step >= MAX_INTEGERS
        if too_many or max(-self.low, self.high) > MAX_MAGNITUDE:
            raise ValueError(
                f"{{{self.low}, ..., {self.high}}} is too large: at most {MAX_INTEGERS} integers "
                f"of magnitude at most 2**53; use Real and round"
            )

    def _check_step(self) -> None:
        if self.step < 1:
            raise ValueError(f"step must be at least 1, got {self.step}")
        if self.log and self.step != 1:
            raise ValueError(
                f"step and log exclude each other, got step={self.step}; drop one of them"
            )
        if rest := (self.high - self.low) % self.step:
            nearest = max(self.high - rest, self.low + self.step)
            raise ValueError(
                f"step must lead from low to high, got low={self.low}, high={self.high} and "
                f"step={self.step}; high={nearest} would do"
            )

    @property
    def values(self) -> range:
        return range(self.low, self.high + 1, self.step)

    @property
    def scale(self) -> Scale:
        return "log" if self.log else "linear"

    def _positions(self) -> Float[np.ndarray, " L"]:
        steps = super()._positions()
        return np.log1p(steps / self.low) if self.log else steps

    def _index(self, value: Any) -> int:
        number = as_integer("value", value)
        if not self.low <= number <= self.high:
            raise ValueError(f"value must be in {{{self.low}, ..., {self.high}}}, got {number}")
        index, rest = divmod(number - self.low, self.step)
        if rest:
            raise ValueError(
                f"value must be {self.low} plus a multiple of {self.step}, got {number}"
            )
        return index


def on_grid(low: float, step: float, index: int) -> float:
    """The number ``low + index * step`` in decimal arithmetic: 0.1 times 3 is 0.3.

    >>> on_grid(0.0, 0.1, 3), 0.0 + 0.1 * 3
    (0.3, 0.30000000000000004)
    """
    return float(Decimal(repr(low)) + index * Decimal(repr(step)))
