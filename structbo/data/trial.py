"""A trial: one point and the value of the objective there."""

import copy
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from jaxtyping import Float

from structbo.space.long_lists import MOST_SHOWN, first_of

State = Literal["waiting", "pending", "complete", "failed", "withdrawn"]
"""States of a trial, see `Trial`."""


class Copied:
    """A field that is copied when set and when read, so that others cannot edit it."""

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = f"_{name}"

    def __get__(self, instance: object | None, owner: type | None = None) -> Any:
        if instance is None:
            raise AttributeError("the field has no default")
        return copy.copy(vars(instance)[self._name])

    def __set__(self, instance: object, value: Any) -> None:
        vars(instance)[self._name] = copy.copy(value)


@dataclass(frozen=True)
class Trial:
    """One point and its value.

    Args:
        number: index of the trial, from 0.
        params: the point, a dict by name, or an array (D,) for a plain box. Each access returns a
            copy, so edits do not change the trial.
        state: "waiting" in the queue until asked for; "pending" until a value is told; "complete"
            with a finite value; "failed" with another one; "withdrawn" if it will never be told.
        value: the value of the objective, or None.
        sem: the standard error of the value, or None.
    """

    number: int
    params: Any = Copied()
    state: State = "pending"
    value: float | None = None
    sem: float | None = None

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Trial):
            return NotImplemented
        return self._all_but_params == other._all_but_params and np.array_equal(
            self.params, other.params
        )

    def __hash__(self) -> int:
        return hash(self._all_but_params)

    def __repr__(self) -> str:
        rest = f"state={self.state!r}, value={self.value!r}, sem={self.sem!r}"
        return f"Trial(number={self.number!r}, params={_shown(self.params)}, {rest})"

    @property
    def _all_but_params(self) -> tuple[int, State, float | None, float | None]:
        return self.number, self.state, self.value, self.sem

    @property
    def is_told(self) -> bool:
        """Whether the trial is complete or failed."""
        return self.state in ("complete", "failed")

    def told(self, value: float, sem: float | None = None) -> "Trial":
        """The trial with its value; NaN and infinite values are failures."""
        if np.isfinite(value):
            return replace(self, state="complete", value=value, sem=sem)
        return replace(self, state="failed", value=None)


def _shown(params: Any) -> str:
    if isinstance(params, Mapping):
        return f"{{{first_of([f'{name!r}: {value!r}' for name, value in params.items()])}}}"
    with np.printoptions(threshold=MOST_SHOWN):
        return repr(params)


def trial_values(trials: Iterable[Trial]) -> Float[np.ndarray, " n"]:
    """The values of trials; NaN for trials without."""
    return np.array([np.nan if trial.value is None else trial.value for trial in trials], float)


def filled_errors(errors: Iterable[float | None]) -> Float[np.ndarray, " n"] | None:
    """Standard errors with 0 for missing ones; None if all are missing.

    Example:
        >>> filled_errors([None, 0.5]).tolist(), filled_errors([None, None])
        ([0.0, 0.5], None)
    """
    given = list(errors)
    if given.count(None) == len(given):
        return None
    return np.array([0.0 if error is None else error for error in given])
