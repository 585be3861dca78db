"""A trial: one point, and what is known of the objective there."""

from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from structbo.data.table import observed_values

State = Literal["pending", "complete", "failed", "withdrawn"]


@dataclass(frozen=True)
class Trial:
    """One point and what is known of it.

    Args:
        number: counts trials from 0.
        params: the point: a dict by name, or an array (D,) for a plain box.
        state: "pending" until a value is told; "failed" if the value was not finite; "withdrawn" if
            it will never be told.
        value: the objective there, or None.
    """

    number: int
    params: Any
    state: State = "pending"
    value: float | None = None

    def told(self, value: float | None) -> "Trial":
        """The trial with its value; None, NaN and infinite values are failures.

        Raises:
            ValueError: if the value is not a number.
        """
        known = np.nan if value is None else float(observed_values([value])[0])
        if np.isfinite(known):
            return replace(self, state="complete", value=known)
        return replace(self, state="failed", value=None)
