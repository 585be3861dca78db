"""A screening as the first stage of an optimizer, which takes over its trials."""

from collections.abc import Iterable
from typing import Any

from structbo.data import Trial
from structbo.screening import Screening
from structbo.space import Space
from structbo.space.differing_names import difference
from structbo.space.long_lists import first_names


class FirstStage:
    """The trials of a screening, with their numbers in an optimizer.

    Trials that the screening was asked for are kept until they are taken. An optimizer that cannot
    complete a batch takes none.

    Args:
        screening: a screening on the same space, possibly with trials; None for no first stage.
        space: the search space.

    Raises:
        TypeError: if it is not a screening.
        ValueError: if it has another space, or the space has constraints.
    """

    def __init__(self, screening: Screening | None, space: Space) -> None:
        if screening is not None and not isinstance(screening, Screening):
            raise TypeError(
                "screening must be an instance such as HierarchicalDiagonalSampling(space), got "
                f"{screening!r}."
            )
        if screening is not None:
            _check_space(screening.space, space)
        self.screening = screening
        self.trials: tuple[Trial, ...] = () if screening is None else screening.trials
        self._own_numbers = {trial.number: trial.number for trial in self.trials}
        self._next: list[Trial] = []

    @property
    def is_over(self) -> bool:
        """Whether the screening is done and knows the end of all its trials."""
        assert self.screening is not None
        return self.screening.is_done and all(t.state != "pending" for t in self.screening.trials)

    def next_points(self, count: int) -> list[Any]:
        """The points of the next trials, or fewer at the end; the same ones until they are taken.

        Args:
            count: maximum number of points.
        """
        if self.screening is None:
            return []
        while len(self._next) < count and not self.screening.is_done:
            self._next.append(self.screening.ask())
        return [trial.params for trial in self._next[:count]]

    def take(self, numbers: Iterable[int]) -> None:
        """Gives the next trials of the screening to an optimizer.

        Args:
            numbers: their numbers in the optimizer.
        """
        for number in numbers:
            self._own_numbers[number] = self._next.pop(0).number

    def tell(self, trial: Trial) -> None:
        """Passes a value, or a withdrawal, to the screening if it asked for the trial."""
        own_number = self._own_numbers.get(trial.number)
        if self.screening is None or own_number is None:
            return
        if trial.state == "withdrawn":
            self.screening.withdraw(own_number)
        else:
            self.screening.tell(own_number, trial.value)


def _check_space(given: Space, space: Space) -> None:
    """Checks that a screening has the space of the optimizer."""
    if given.names != space.names:
        raise ValueError(
            f"the space of screening must have the names {first_names(space.names)}; "
            f"{difference(given.names, space.names)}."
        )
    if space.constraints:
        raise ValueError(
            "a screening ignores constraints: pass a space without constraints, or no screening, "
            f"got {list(space.constraints)}."
        )
    for name in {**space.spec, **given.spec}:
        own, other = space.spec.get(name), given.spec.get(name)
        if own != other:
            raise ValueError(
                f"the space of screening must be the optimizer's, whose {name!r} is {own}, got "
                f"{other}: pass the same space to both."
            )
    if given.is_box != space.is_box:
        raise ValueError(
            "the points of screening must have the format of the optimizer's, which are "
            f"{_format(space)}, got {_format(given)}: pass the same space to both."
        )


def _format(space: Space) -> str:
    return "arrays" if space.is_box else "dicts"
