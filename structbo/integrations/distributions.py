"""Conversion between Optuna's distributions and the parameters of a `Space`.

Optuna stores a choice as its index and a number as a float. The parameters here have these values,
Optuna's *internal representation*.
"""

import warnings
from collections.abc import Container, Iterable, Mapping
from typing import Any

from optuna.distributions import (
    BaseDistribution,
    CategoricalDistribution,
    FloatDistribution,
    IntDistribution,
)

from structbo.space import (
    Categorical,
    Fixed,
    Integer,
    LinearConstraint,
    Ordinal,
    Parameter,
    Real,
    Space,
)
from structbo.space.numeric import MAX_INTEGERS, on_grid

STORED_TYPES = (type(None), bool, int, float, str)
"""Types of choices that every Optuna storage supports."""


def parameter_of(distribution: BaseDistribution, *, is_ordinal: bool = False) -> Parameter:
    """The parameter of a distribution with more than one value, in its internal representation.

    Args:
        distribution: a distribution of floats, integers or categories.
        is_ordinal: whether the order of choices matters, which Optuna does not record.

    Raises:
        TypeError: if the distribution is of another class.

    Example:
        >>> parameter_of(IntDistribution(1, 8, log=True))
        Integer(low=1, high=8, log=True, step=1)
    """
    match distribution:
        case CategoricalDistribution(choices=choices):
            indices = range(len(choices))
            return Ordinal(indices) if is_ordinal else Categorical(indices)
        case FloatDistribution(low=low, high=high, step=None, log=log):
            return Real(low, high, log)
        case IntDistribution(low=low, high=high, step=step, log=log) if (
            high - low < MAX_INTEGERS * step
        ):
            return Integer(low, high, log, step)
        case IntDistribution(low=low, high=high, log=True):
            return Real(low, high, log=True)
        case FloatDistribution(low=low, high=high) | IntDistribution(low=low, high=high):
            width = float(distribution.step or 1.0)
            return Real(low, high, step=width if (high - low) / width < MAX_INTEGERS else None)
    raise TypeError(f"StructboSampler does not support the distribution {distribution}.")


def rounded(distribution: BaseDistribution, value: float) -> float:
    """The value of a parameter, rounded to the grid of its distribution."""
    step = getattr(distribution, "step", None)
    if step is None:
        return value
    low, high = float(distribution.low), float(distribution.high)  # type: ignore[attr-defined]
    return min(on_grid(low, float(step), round((value - low) / step)), high)


def contains(distribution: BaseDistribution, value: Any) -> bool:
    """Whether a trial may suggest a value from a distribution."""
    try:
        return bool(distribution._contains(distribution.to_internal_repr(value)))
    except (TypeError, ValueError):
        return False


def distribution_of(name: str, parameter: Parameter | Fixed) -> BaseDistribution:
    """The distribution of a parameter, or of a fixed value.

    Raises:
        ValueError: if Optuna has none, or cannot store a choice.

    Example:
        >>> distribution_of("x", Real(0.0, 1.0))
        FloatDistribution(high=1.0, log=False, low=0.0, step=None)
    """
    match parameter:
        case Real(low=low, high=high, log=log, step=step):
            with warnings.catch_warnings(category=UserWarning, action="ignore"):
                made = FloatDistribution(low, high, log=log, step=step)
            values = [] if parameter.levels is None else map(parameter.from_unit, parameter.levels)
            if all(contains(made, value) for value in values):
                return made
            reason = f"values that Optuna rounds to others: {parameter}. Name them by Ordinal"
        case Integer(low=low, high=high, log=log, step=step):
            return IntDistribution(low, high, log=log, step=step)
        case Ordinal(choices=choices) | Categorical(choices=choices) | Fixed(choices=choices):
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
        distributions: distributions by name, each with more than one value.
        given: the space that they come from, if any, for its ordinal choices and constraints.

    Raises:
        ValueError: if a parameter of a constraint has no distribution.
    """
    parameters = {} if given is None else dict(zip(given.names, given.parameters, strict=True))
    constraints = () if given is None else given.constraints
    for constraint in constraints:
        if missing := sorted(constraint.weights.keys() - distributions.keys()):
            raise ValueError(
                f"a trial must search all parameters of {constraint}, and another sampler, such as "
                f"PartialFixedSampler, keeps {missing}: leave them out of the weights, and "
                "subtract their share from the bounds."
            )
    return Space(
        {
            name: parameter_of(distribution, is_ordinal=isinstance(parameters.get(name), Ordinal))
            for name, distribution in distributions.items()
        },
        constraints,
    )


def space_of(
    distributions: Mapping[str, BaseDistribution],
    ordinals: Container[str] = (),
    constraints: Iterable[LinearConstraint] = (),
) -> Space:
    """The space of distributions, in the values passed to objectives.

    Args:
        distributions: distributions by name; a single value becomes `Fixed`.
        ordinals: the names of choices whose order matters.
        constraints: the constraints of the space.

    Example:
        >>> from optuna.distributions import CategoricalDistribution, IntDistribution
        >>> space_of({"k": IntDistribution(1, 8), "act": CategoricalDistribution(["tanh"])}).spec
        {'k': Integer(low=1, high=8, log=False, step=1), 'act': Fixed(value='tanh')}
    """
    return Space(
        {
            name: _as_seen(distribution, is_ordinal=name in ordinals)
            for name, distribution in distributions.items()
        },
        constraints,
    )


def _as_seen(distribution: BaseDistribution, *, is_ordinal: bool) -> Parameter | Fixed:
    match distribution:
        case CategoricalDistribution(choices=[only]):
            return Fixed(only)
        case CategoricalDistribution(choices=choices):
            return Ordinal(choices) if is_ordinal else Categorical(choices)
        case FloatDistribution(low=low) | IntDistribution(low=low) if distribution.single():
            return Fixed(low)
    return parameter_of(distribution)
