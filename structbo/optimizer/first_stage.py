"""A screening as the first stage of an optimizer, which takes over its trials."""

from dataclasses import replace

from structbo.data import Trial
from structbo.screening import Screening
from structbo.space import Space


class FirstStage:
    """The trials of a screening, with their numbers in an optimizer.

    Args:
        screening: a screening on the same space, possibly with trials; None for no first stage.
        space: the search space.

    Raises:
        TypeError: if it is not a screening.
        ValueError: if it has other parameters.
    """

    def __init__(self, screening: Screening | None, space: Space) -> None:
        if screening is not None and not isinstance(screening, Screening):
            raise TypeError(
                "screening must be an instance such as HierarchicalDiagonalSampling(space), got "
                f"{screening!r}."
            )
        if screening is not None and screening.space.names != space.names:
            raise ValueError(
                f"the space of screening must have the names {list(space.names)}, got "
                f"{list(screening.space.names)}."
            )
        self.screening = screening
        self.trials: tuple[Trial, ...] = () if screening is None else screening.trials
        self._own_numbers = {trial.number: trial.number for trial in self.trials}

    def ask(self, number: int) -> Trial:
        """The next trial, under its number in the optimizer."""
        assert self.screening is not None
        trial = self.screening.ask()
        self._own_numbers[number] = trial.number
        return replace(trial, number=number)

    def tell(self, told: Trial) -> None:
        """Passes a value to the screening if it asked for the trial."""
        if self.screening is not None and told.number in self._own_numbers:
            self.screening.tell(self._own_numbers[told.number], told.value)
