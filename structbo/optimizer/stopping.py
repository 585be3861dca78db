"""Runs that end before their budget is spent."""

import math
from dataclasses import dataclass, field

from structbo.data import Trial
from structbo.models.foundation.arguments import checked_count
from structbo.optimizer.optimizer import Optimizer


class StopSearch(Exception):
    """Raised by a callback of `minimize` or `maximize`, ends the run.

    No more points are asked for, evaluations that are under way are waited for, and the result is
    returned as at the end of the budget. The text of the exception is logged as the reason.

    Example:
        >>> import structbo as sb
        >>> def good_enough(optimizer, trial):
        ...     if optimizer.best.value < 10.0:
        ...         raise sb.StopSearch("good enough")
        >>> run = {"callbacks": [good_enough], "show_progress_bar": False}
        >>> len(sb.minimize(lambda p: p["x"], {"x": (0.0, 1.0)}, 100, **run).trials)
        1
    """


@dataclass
class StopBelowGain:
    """A callback that ends the run when little more is to be gained.

    The gain of a point is its expected improvement on the best posterior mean, averaged over
    posterior draws, in the units of the objective: `Optimizer.expected_gain`. The points asked for
    maximize it, so that no other point promises more. The run ends only after several evaluations
    in a row with a smaller gain, since draws vary. That is a judgment of the model: like the model,
    it can be wrong, most of all while there are few values.

    Quasi-random points do not count. The count starts afresh in a process that continues a run.

    Args:
        least: the gain for which an evaluation is still worth its cost.
        patience: after how many points in a row with a smaller gain the run ends.

    Raises:
        ValueError: if one is not positive; in the run, if its criterion is neither "log_ei" nor
            "log_eqi".

    Example:
        >>> import structbo as sb
        >>> run = {"callbacks": [sb.StopBelowGain(1e-3)], "show_progress_bar": False}
        >>> len(sb.minimize(lambda p: p["x"], {"x": (0.0, 1.0)}, 2, **run).trials)
        2
    """

    least: float
    patience: int = 3
    _num_below: int = field(default=0, init=False, repr=False)

    def __post_init__(self) -> None:
        if not (isinstance(self.least, int | float) and 0.0 < self.least < math.inf):
            raise ValueError(
                f"least must be a positive number, in units of the objective, got {self.least!r}."
            )
        self.patience = checked_count("patience", self.patience)

    def __call__(self, optimizer: Optimizer, trial: Trial) -> None:
        gain = optimizer.expected_gain
        self._num_below = 0 if gain is None or gain >= self.least else self._num_below + 1
        if self._num_below == self.patience:
            self._num_below = 0
            raise StopSearch(
                f"the last {self.patience} points had an expected gain below {self.least:g}"
            )
