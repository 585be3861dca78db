"""An optimizer with the trials of a table, numbered as in the table."""

from dataclasses import replace

from structbo.command_line.table_file import TableRows
from structbo.data import Direction, Trial
from structbo.optimizer import Optimizer
from structbo.space import Space


class TableOptimizer(Optimizer):
    """An optimizer for a report on a table, whose trials keep the numbers of their rows.

    Args:
        space: the search space.
        direction: whether small or large values are good, "minimize" or "maximize".
        known: the table; points without a value are ignored.
        seed: seed of all random choices.

    Example:
        >>> known = TableRows([{"x": 0.5}], [2.0], [], errors=[None], numbers=[9])
        >>> TableOptimizer(Space({"x": (0.0, 1.0)}), "minimize", known).trials[0].number
        9
    """

    def __init__(
        self, space: Space, direction: Direction, known: TableRows, *, seed: int = 0
    ) -> None:
        super().__init__(space, direction, seed=seed)
        for point, value, error in zip(known.points, known.values, known.errors, strict=True):
            self.tell(point, (value, error))
        self._numbers = known.numbers

    @property
    def trials(self) -> tuple[Trial, ...]:
        """All trials in the order of the table."""
        pairs = zip(super().trials, self._numbers, strict=True)
        return tuple(replace(trial, number=number) for trial, number in pairs)
