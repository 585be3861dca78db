"""The record of a run: its trials, and the best of them."""

import logging
from typing import Any

import numpy as np
from jaxtyping import Float

from structbo.data import (
    Direction,
    Trial,
    direction_sign,
    filled_errors,
    trial_frame,
    trial_values,
    unit_points,
)
from structbo.space import Space, SpaceLike

_logger = logging.getLogger(__name__)


class Record:
    """The trials of a run, in the order of their numbers.

    Args:
        space: the search space, or what `Space` accepts.
        direction: whether small or large values are good, "minimize" or "maximize".
    """

    def __init__(self, space: SpaceLike, direction: Direction) -> None:
        self.space = Space(space)
        self.direction: Direction = direction
        self._sign = direction_sign(direction)
        self._trials: list[Trial] = []
        self._rows: dict[int, Float[np.ndarray, " D"]] = {}

    def __repr__(self) -> str:
        best = ""
        if self._complete:
            best = f", best {self.best.value:.6g} at {self._rounded(self.best)}"
        return f"{type(self).__name__}({self.direction}, {len(self._trials)} trials{best})"

    @property
    def trials(self) -> tuple[Trial, ...]:
        """All trials, in order."""
        return tuple(self._trials)

    @property
    def best(self) -> Trial:
        """The complete trial with the best value.

        Under noise this value is biased; see `best_trials`.

        Raises:
            ValueError: if no trial is complete.
        """
        complete = self._complete
        if not complete:
            raise ValueError(
                f"there is no best trial yet: none of {len(self._trials)} trials is complete."
            )
        return max(complete, key=lambda t: self._sign * (t.value or 0.0))

    def to_frame(self) -> Any:
        """All trials as a table.

        Returns:
            A pandas DataFrame with the columns number, one per parameter and fixed value, value,
            sem if one was told, and state. A parameter with one of these names gets the prefix
            ``params_``, repeated until the name is free.

        Raises:
            ImportError: if pandas is not installed.
        """
        return trial_frame(self._trials, self.space)

    def _log(self, told: Trial) -> None:
        if not _logger.isEnabledFor(logging.INFO):
            return
        outcome = told.state if told.value is None else f"{told.value:.6g}"
        is_best = told.state == "complete" and self.best.number == told.number
        note = ", the best so far" if is_best else ""
        _logger.info("trial %d: %s%s, at %s", told.number, outcome, note, self._rounded(told))

    def _rounded(self, trial: Trial) -> Any:
        """The point of a trial, rounded for display."""
        return self.space.rounded([trial.params])[0]

    @property
    def _told(self) -> list[Trial]:
        return [t for t in self._trials if t.is_told]

    @property
    def _complete(self) -> list[Trial]:
        return [t for t in self._trials if t.state == "complete"]

    def _table(
        self, told: list[Trial]
    ) -> tuple[Float[np.ndarray, "m D"], Float[np.ndarray, " m"], Float[np.ndarray, " m"] | None]:
        """Points of the unit cube, values (larger is better), and their standard errors, if any."""
        new = [t for t in told if t.number not in self._rows]
        rows = unit_points(self.space, [t.params for t in new], "params")
        self._rows |= {t.number: row for t, row in zip(new, rows, strict=True)}
        x = np.reshape([self._rows[t.number] for t in told], (-1, self.space.num_dims))
        return x, self._sign * trial_values(told), filled_errors([t.sem for t in told])
