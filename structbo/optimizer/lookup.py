"""Lookup of told trials by number or point, and checks of told values."""

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np

from structbo.data import State, Trial, one_number, unit_points
from structbo.models.foundation.arguments import is_integer
from structbo.space import Space

Told: TypeAlias = float | tuple[float | None, float | None] | None
"""A told value, or a mean and its standard error; None if unknown."""
PAST: dict[State, str] = {
    "waiting": "waits in the queue: ask for it first",
    "complete": "was already told",
    "failed": "was already told",
    "withdrawn": "was already withdrawn",
}


def told_value(value: Any) -> tuple[float, float | None]:
    """The value of a trial as a float, NaN for None, and its standard error, if any.

    Args:
        value: a number, or a pair of a mean and its standard error. Each may be missing, in any
            form such as None or NaN.

    Raises:
        ValueError: if value is anything else, or the standard error is negative or infinite.
    """
    hint = "; tell(trial, value) takes one trial, and its value second, or (mean, sem)"
    if not (isinstance(value, tuple) and len(value) == 2):
        return one_number("value", value, hint=hint), None
    mean, sem = (one_number(*pair, hint=hint) for pair in zip(("mean", "sem"), value, strict=True))
    if np.isnan(sem):
        return mean, None
    if not (0.0 <= sem < np.inf):
        raise ValueError(f"sem must be a standard error, 0 or more and finite, got {sem!r}.")
    return mean, sem


def number_to_tell(given: Any, trials: Sequence[Trial], space: Space) -> int | None:
    """The number of the pending trial that a value is for.

    A point without a pending trial may have a waiting one, which the value completes. Otherwise, as
    `number_of`.
    """
    number = number_of(given, trials, space)
    return number_of(given, trials, space, ("waiting",)) if number is None else number


def number_of(
    given: Any, trials: Sequence[Trial], space: Space, states: Sequence[State] = ("pending",)
) -> int | None:
    """The number of a trial in one of the given states.

    Args:
        given: a trial, its number, or its point, possibly rounded as by `Space.rounded`. A point
            means the nearest trial, the first one of several at equal points.
        trials: all trials, in the order of their numbers.
        space: the search space.
        states: the allowed states.

    Returns:
        The number; None if no trial has this point.

    Raises:
        ValueError: if the trial is unknown or in another state, or the point outside the space.
    """
    if isinstance(given, Trial):
        number = given.number
    elif is_integer(given):
        number = int(given)
    else:
        if isinstance(given, list | tuple) and any(isinstance(t, Trial) for t in given):
            raise ValueError(f"trial must be one trial, got {len(given)}; give one at a time.")
        (unit,) = unit_points(space, [given], "trial")
        among = [t for t in trials if t.state in states]
        points = unit_points(space, [t.params for t in among], "params")
        near = np.flatnonzero(space.same(unit, points))
        distances = np.abs(points[near] - unit).max(1)
        nearest = min(zip(distances, near, strict=True), default=None)
        return None if nearest is None else among[nearest[1]].number
    if not 0 <= number < len(trials):
        raise ValueError(f"trial {number} is unknown: this optimizer has {len(trials)}.")
    own = trials[number]
    if isinstance(given, Trial) and not np.array_equal(
        space.to_unit([given.params]), space.to_unit([own.params])
    ):
        raise ValueError(f"{given} was not asked from this optimizer, whose own is {own}.")
    if own.state not in states:
        raise ValueError(f"trial {number} {PAST[own.state]}: {own}.")
    return number
