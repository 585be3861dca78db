"""Ask and tell for methods that find which parameters matter."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from structbo.data import Trial, one_number
from structbo.models import AdditiveGP, active_sets
from structbo.models.foundation.arguments import checked_count, checked_seed, is_integer
from structbo.models.foundation.arrays import FloatArray
from structbo.space import Space, SpaceLike


class Screening(ABC):
    """A sequence of evaluations that finds which parameters matter.

    Most parameters of a point stay at those of a random background point.

    Args:
        space: the search space, or what `Space` accepts.
        budget: how many evaluations there may be.
        seed: for the background point and all other random choices.
    """

    def __init__(
        self,
        space: SpaceLike,
        budget: int,
        seed: int,
    ) -> None:
        self.space = Space(space)
        if self.space.constraints:
            raise ValueError(
                "a screening moves parameters between their bounds and keeps no constraints: give "
                f"it a space without, got {list(self.space.constraints)}."
            )
        self.budget = checked_count("budget", budget)
        self._seed = checked_seed(seed)
        self.background: FloatArray = np.random.default_rng(self._seed).random(self.space.num_dims)
        self._trials: list[Trial] = []

    @property
    def trials(self) -> tuple[Trial, ...]:
        """Everything asked and told, in order."""
        return tuple(self._trials)

    @property
    def is_done(self) -> bool:
        """Whether there is nothing more to ask: all is decided, or the budget is spent."""
        return self.is_decided or len(self._trials) >= self.budget

    @property
    @abstractmethod
    def is_decided(self) -> bool:
        """Whether the values told so far suffice."""

    @property
    @abstractmethod
    def active(self) -> tuple[str, ...]:
        """Names of the parameters found to matter, so far."""

    @abstractmethod
    def active_probabilities(self) -> FloatArray:
        """For every parameter, how probable it is that it matters, shape (D,)."""

    @abstractmethod
    def _next(self, rng: np.random.Generator) -> FloatArray:
        """The next point of the unit cube; its purpose is recorded."""

    @abstractmethod
    def _note(self, number: int) -> None:
        """Updates the evidence with a value that was told."""

    def ask(self) -> Trial:
        """Proposes a point, which is pending until it is told.

        Any number of points may be pending, and they may be told in any order. Each is chosen
        without the values of those pending, so fewer at a time are better informed.

        Returns:
            A trial.

        Raises:
            ValueError: if `is_done`.
        """
        if self.is_done:
            raise ValueError(
                f"there is nothing more to ask after {len(self._trials)} evaluations of "
                f"{self.budget}: check is_done first."
            )
        # The seed [s, 0] would be that of the background point.
        point = self._next(np.random.default_rng([self._seed, 1 + len(self._trials)]))
        params = self.space.from_unit(point)[0]
        self._trials.append(Trial(len(self._trials), params))
        return self._trials[-1]

    def tell(self, trial: Trial | int, value: float | None = None) -> Trial:
        """Reports the objective at a point that was asked for.

        Args:
            trial: the trial, or its number.
            value: the objective; None, NaN or infinite for a failed evaluation, which counts in
                the budget and gives no evidence.

        Returns:
            The trial as it is kept.

        Raises:
            ValueError: if the trial is unknown or already told, or the value is not a number.
                Nothing told before is lost.
        """
        number = trial.number if isinstance(trial, Trial) else trial
        if not is_integer(number) or not 0 <= number < len(self._trials):
            raise ValueError(
                f"trial must be one that was asked for, or its number; got {trial!r}, and "
                f"{len(self._trials)} were asked for."
            )
        if self._trials[number].state != "pending":
            raise ValueError(f"trial {number} was already told: {self._trials[number]}.")
        self._trials[number] = self._trials[number].told(one_number("value", value))
        self._note(int(number))
        return self._trials[number]

    def run(self, objective: Callable[[Any], float]) -> None:
        """Asks and tells until it is done.

        Args:
            objective: maps a point, a dict by name or an array (D,) for a plain box, to a number.
        """
        while not self.is_done:
            trial = self.ask()
            self.tell(trial, objective(trial.params))

    def model(self) -> AdditiveGP:
        """One component over an active set, whose prior is `active_probabilities`."""
        structure = active_sets(self.active_probabilities())
        return AdditiveGP(structure, categorical=self.space.categorical)

    def _value(self, number: int) -> float | None:
        return self._trials[number].value

    def _along(self, members: Sequence[int], z: float) -> FloatArray:
        """The background point with some coordinates set to one value, snapped to the space."""
        point = self.background.copy()
        point[list(members)] = z
        return self.space.snap(point)
