"""Optuna's distributions as parameters of a `Space`, and back.

Optuna stores a choice as its index and a number as a float, and so do the parameters here: their
values are Optuna's *internal representation*.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from optuna.distributions import (
    BaseDistribution,
    CategoricalDistribution,
    FloatDistribution,
    IntDistribution,
)

from structbo.models.arrays import FloatArray
from structbo.space import Categorical, Integer, Ordinal, Parameter, Real, Space
from structbo.space.parameters import MAX_INTEGERS

STORED_TYPES = (type(None), bool, int, float, str)
"""Choices that every storage of Optuna keeps."""


@dataclass(frozen=True)
class Stepped(Parameter):
    """The numbers low, low + step, ..., up to high.

    Args:
        low, high: finite bounds, low < high.
        step: the distance of neighbors.

    Example:
        >>> stepped = Stepped(0.0, 1.0, 0.25)
        >>> stepped.to_unit(0.75), stepped.from_unit(0.6)
        (0.75, 0.5)
    """

    low: float
    high: float
    step: float

    @property
    def _num_steps(self) -> int:
        return round((self.high - self.low) / self.step)

    @property
    def levels(self) -> FloatArray | None:
        """All of them, unless they are so many that they are as good as real numbers."""
        return np.linspace(0, 1, self._num_steps + 1) if self._num_steps < MAX_INTEGERS else None

    def to_unit(self, value: Any) -> float:
        index = round((float(value) - self.low) / self.step)
        if not 0 <= index <= self._num_steps:
            raise ValueError(f"value must be in [{self.low}, {self.high}], got {value}")
        return index / self._num_steps

    def from_unit(self, u: float) -> float:
        return min(self.low + self.step * round(u * self._num_steps), self.high)


def parameter_of(distribution: BaseDistribution, *, is_ordinal: bool = False) -> Parameter:
    """The parameter of a distribution with more than one value, in its internal representation.

    Args:
        distribution: of floats, integers or categories, in Optuna's sense.
        is_ordinal: whether the order of choices matters, which Optuna does not know.

    Raises:
        TypeError: if it is of another class.

    Example:
        >>> parameter_of(IntDistribution(1, 8, log=True))
        Integer(low=1, high=8, log=True)
    """
    match distribution:
        case CategoricalDistribution(choices=choices):
            indices = range(len(choices))
            return Ordinal(indices) if is_ordinal else Categorical(indices)
        case FloatDistribution(low=low, high=high, step=None, log=log):
            return Real(low, high, log)
        case IntDistribution(low=low, high=high, step=1, log=log) if high - low < MAX_INTEGERS:
            return Integer(low, high, log)
        case IntDistribution(low=low, high=high, log=True):
            return Real(low, high, log=True)
        case FloatDistribution(low=low, high=high, step=float(step)):
            return Stepped(low, high, step)
        case IntDistribution(low=low, high=high, step=step):
            return Stepped(low, high, step)
    raise TypeError(f"{distribution} is not a distribution that StructboSampler knows.")


def rounded(distribution: BaseDistribution, value: float) -> float:
    """The value of a parameter, rounded if its distribution is of very many integers."""
    return float(round(value) if isinstance(distribution, IntDistribution) else value)


def distribution_of(name: str, parameter: Parameter) -> BaseDistribution:
    """The distribution of a parameter.

    Raises:
        ValueError: if Optuna has none, or cannot store a choice.

    Example:
        >>> distribution_of("x", Real(0.0, 1.0))
        FloatDistribution(high=1.0, log=False, low=0.0, step=None)
    """
    match parameter:
        case Real(low=low, high=high, log=log):
            return FloatDistribution(low, high, log=log)
        case Integer(low=low, high=high, log=log):
            return IntDistribution(low, high, log=log)
        case Ordinal(choices=choices) | Categorical(choices=choices):
            bad = [c for c in choices if not isinstance(c, STORED_TYPES)]
            bad += [c for i, c in enumerate(choices) if c in choices[:i]]
            if not bad:
                return CategoricalDistribution(choices)
            reason = f"choices that Optuna cannot store or tell apart: {bad}. Name them by strings"
        case _:
            reason = f"a type that Optuna does not have: {parameter}. Use one of structbo's own"
    raise ValueError(f"parameter {name!r} of a study has {reason}.")


def internal_space(
    distributions: Mapping[str, BaseDistribution], given: Space | None = None
) -> Space:
    """The space of distributions, in the internal representation of their values.

    Args:
        distributions: by name, each with more than one value.
        given: the space that they come from, if any: it knows which choices are ordinal.
    """
    parameters = {} if given is None else dict(zip(given.names, given.parameters, strict=True))
    return Space(
        {
            name: parameter_of(distribution, is_ordinal=isinstance(parameters.get(name), Ordinal))
            for name, distribution in distributions.items()
        }
    )
