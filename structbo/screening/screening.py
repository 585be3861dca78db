"""Ask and tell for methods that find the active parameters."""

import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from jaxtyping import Float
from numpy.typing import ArrayLike

from structbo.data import Trial, one_number
from structbo.models import AdditiveGP, active_sets
from structbo.models.foundation.arguments import checked_count, checked_seed, is_integer
from structbo.space import Space, SpaceLike

MANY_BACKGROUNDS = 5
"""Number of failed background points at which a warning says so."""


class Screening(ABC):
    """A sequence of evaluations that finds the active parameters.

    Most parameters of a point keep the values of a random background point.

    Args:
        space: the search space, or what `Space` accepts.
        budget: maximum number of evaluations.
        seed: seed of the background point and all other random choices.
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
                "a screening ignores constraints: pass a space without constraints, got "
                f"{list(self.space.constraints)}."
            )
        self.budget = checked_count("budget", budget)
        self._seed = checked_seed(seed)
        self.background = self._random_background(0)
        self._num_failed_backgrounds = 0
        self._trials: list[Trial] = []

    @property
    def trials(self) -> tuple[Trial, ...]:
        """All trials, in the order in which they were asked for."""
        return tuple(self._trials)

    @property
    def is_done(self) -> bool:
        """Whether the screening is decided or the budget is spent."""
        return self.is_decided or len(self._trials) >= self.budget

    @property
    @abstractmethod
    def is_decided(self) -> bool:
        """Whether the values told so far suffice."""

    @property
    @abstractmethod
    def active(self) -> tuple[str, ...]:
        """Names of the parameters found active so far."""

    @abstractmethod
    def active_probabilities(self) -> Float[np.ndarray, " D"]:
        """The probability that a parameter is active."""

    @abstractmethod
    def _next(self, rng: np.random.Generator) -> Float[np.ndarray, " D"]:
        """The next point of the unit cube; its purpose is recorded."""

    @abstractmethod
    def _note(self, number: int) -> None:
        """Updates the evidence with a value that was told."""

    def ask(self) -> Trial:
        """Proposes a point, which is pending until it is told.

        Any number of points may be pending, and they may be told in any order. A new point does not
        use the values of pending ones.

        Returns:
            A trial.

        Raises:
            ValueError: if `is_done`.
        """
        if self.is_done:
            raise ValueError(
                f"the screening is done after {len(self._trials)} of at most {self.budget} "
                "evaluations: check is_done before asking."
            )
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
            The updated trial.

        Raises:
            ValueError: if the trial is unknown or already told, or the value is not a number.
                Nothing told before is lost.
        """
        number = self._pending_number(trial)
        self._trials[number] = self._trials[number].told(one_number("value", value))
        self._note(number)
        return self._trials[number]

    def withdraw(self, trial: Trial | int) -> Trial:
        """Withdraws a trial whose objective will stay unknown, such as an interrupted evaluation.

        Args:
            trial: the trial, or its number.

        Returns:
            The updated trial, which counts in the budget and says nothing about its point.

        Raises:
            ValueError: if the trial is unknown, or already told or withdrawn.
        """
        number = self._pending_number(trial)
        self._trials[number] = replace(self._trials[number], state="withdrawn")
        return self._trials[number]

    def run(self, objective: Callable[[Any], float]) -> None:
        """Evaluates an objective until the screening is done.

        Args:
            objective: maps a point, a dict by name or an array (D,) for a plain box, to a number.
        """
        while not self.is_done:
            trial = self.ask()
            self.tell(trial, objective(trial.params))

    def model(self) -> AdditiveGP:
        """One component over an active set, with `active_probabilities` as its prior."""
        structure = active_sets(self.active_probabilities())
        return AdditiveGP(structure, categorical=self.space.categorical)

    def settings(self) -> dict[str, Any]:
        """Settings of the search that follows: the model. Settings that are given override them."""
        return {"model": self.model()}

    def _pending_number(self, trial: Trial | int) -> int:
        """The number of a pending trial."""
        number = trial.number if isinstance(trial, Trial) else trial
        if not is_integer(number) or not 0 <= number < len(self._trials):
            raise ValueError(
                f"trial must be an asked trial or its number; got {trial!r}, and "
                f"{len(self._trials)} trials were asked for."
            )
        if self._trials[number].state != "pending":
            raise ValueError(
                f"trial {number} was already told or withdrawn: {self._trials[number]}."
            )
        return int(number)

    def _replace_background(self) -> None:
        """Replaces a background point that fails by another random one."""
        self._num_failed_backgrounds += 1
        self.background = self._random_background(self._num_failed_backgrounds)
        if self._num_failed_backgrounds == MANY_BACKGROUNDS:
            warnings.warn(
                f"{MANY_BACKGROUNDS} random background points failed, and the screening goes on "
                "with another one. Check the objective, or narrow the ranges of the parameters to "
                "where it succeeds.",
                stacklevel=5,
            )

    def _random_background(self, number: int) -> Float[np.ndarray, " D"]:
        """The background point after a number of others."""
        # Trials use the seeds [s, 1], [s, 2], ...
        return np.random.default_rng([self._seed, 0, number]).random(self.space.num_dims)

    def _value(self, number: int) -> float | None:
        return self._trials[number].value

    def _along(self, members: Sequence[int], z: ArrayLike) -> Float[np.ndarray, "*m D"]:
        """The background point with the members' coordinates set to z, snapped to the space."""
        z = np.asarray(z, float)
        points = np.tile(self.background, (*z.shape, 1))
        points[..., list(members)] = z[..., None]
        return self.space.snap(points)
