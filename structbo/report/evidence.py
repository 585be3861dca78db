"""What sections of a report speak of, each part computed once."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from structbo.data import Trial, direction_sign, trial_values
from structbo.models.foundation.arrays import FloatArray
from structbo.optimizer import Optimizer, SpaceExhausted, suggest
from structbo.posterior import Calibration, Importances, Posterior, Probabilities

if TYPE_CHECKING:
    import pandas as pd

CLEAR = 3.0
"""A probability has moved if it differs from the prior by so many Monte Carlo errors."""


@dataclass(frozen=True, eq=False)
class Evidence:
    """The trials of a search, its posterior, and what follows from them.

    Args:
        optimizer: with two or more complete trials.
        num_suggestions: how many points to propose.
        elsewhere: points that are being evaluated without being trials of the optimizer.
    """

    optimizer: Optimizer
    num_suggestions: int
    elsewhere: Sequence[Any] = ()

    @cached_property
    def posterior(self) -> Posterior:
        """Of everything told."""
        return self.optimizer.posterior

    @property
    def names(self) -> tuple[str, ...]:
        """Of the parameters."""
        return self.optimizer.space.names

    @property
    def sign(self) -> float:
        """1 if large values are good, -1 if small ones are."""
        return direction_sign(self.optimizer.direction)

    @cached_property
    def told(self) -> list[Trial]:
        """Complete and failed trials, in the order of the posterior's observations."""
        return [t for t in self.optimizer.trials if t.is_told]

    @cached_property
    def best_first(self) -> list[Trial]:
        """Complete trials, the best value first."""
        complete = [t for t in self.told if t.value is not None]
        return sorted(complete, key=lambda t: -self.sign * (t.value or 0.0))

    @property
    def num_failed(self) -> int:
        """How many evaluations failed."""
        return len(self.told) - len(self.best_first)

    @cached_property
    def pending(self) -> list[Any]:
        """Points that are being evaluated."""
        trials = self.optimizer.trials
        return [*(t.params for t in trials if t.state == "pending"), *self.elsewhere]

    @cached_property
    def importances(self) -> Importances | None:
        """Shares of the variance; None for a model with a projection, which has no such shares."""
        return None if self.posterior.is_projected else self.posterior.importances()

    @cached_property
    def together(self) -> Probabilities:
        """Which parameters share a component, after the data."""
        return self.posterior.together_probabilities()

    @cached_property
    def together_before(self) -> Probabilities:
        """Which parameters share a component, before the data."""
        return self.posterior.prior().together_probabilities()

    @cached_property
    def is_raised(self) -> NDArray[np.bool_]:
        """Which pairs the data made clearly more probable, shape (D, D)."""
        after, before = self.together, self.together_before
        return after.mean - before.mean > CLEAR * np.hypot(after.mcse, before.mcse)

    @cached_property
    def calibration(self) -> Calibration:
        """Predictions of all values that are known; those of failed evaluations are made up."""
        is_known = [trial.state == "complete" for trial in self.told]
        return Calibration(*(value[is_known] for value in self.posterior.calibration()))

    @cached_property
    def summary(self) -> "pd.DataFrame":
        """The diagnostics of all quantities."""
        return self.posterior.summary()

    @cached_property
    def next_points(self) -> list[Any]:
        """Points to evaluate next, as many as there are."""
        if not self.num_suggestions:
            return []
        optimizer, told = self.optimizer, self.told
        try:
            points = suggest(
                optimizer.space,
                [trial.params for trial in told],
                trial_values(told),
                self.num_suggestions,
                direction=optimizer.direction,
                pending=self.pending,
                **vars(optimizer.method),
            )
        except SpaceExhausted:
            return []
        return list(points)

    def cells(self, params: Any) -> list[str]:
        """The values of a point, in the order of the names, as texts."""
        named = self.optimizer.space.by_name(params)
        return [value_text(named[name]) for name in self.names]

    def predicted(self, points: Sequence[Any]) -> tuple[FloatArray, FloatArray]:
        """Mean and standard deviation of the function at points."""
        mean, variance = self.posterior.predict(points)
        return mean, np.sqrt(variance)


def value_text(value: Any) -> str:
    """A value of a parameter, or of the function, with four digits.

    Example:
        >>> value_text(0.123456), value_text(128), value_text("relu"), value_text(None)
        ('0.1235', '128', 'relu', 'None')
    """
    return f"{value:.4g}" if isinstance(value, float | np.floating) else str(value)


def percent(share: float) -> str:
    """A share in percent.

    Example:
        >>> percent(0.905)
        '90\\xa0%'
    """
    return f"{100.0 * share:.0f}\N{NO-BREAK SPACE}%"


def listed(words: Sequence[str]) -> str:
    """Words as in a sentence.

    Example:
        >>> listed(["a", "b", "c"]), listed(["a"])
        ('a, b and c', 'a')
    """
    *first, last = words
    return f"{', '.join(first)} and {last}" if first else last
