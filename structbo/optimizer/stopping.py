"""Runs that end before their budget is spent."""

import math
from dataclasses import dataclass, field

from structbo.data import Trial
from structbo.models.foundation.arguments import checked_count
from structbo.optimizer.optimizer import Optimizer


class StopSearch(Exception):
    """Raised by a callback of `minimize` or `maximize`, ends the run.

    Raised by the function itself, it is an exception like others: `catch` decides.

    No more points are asked for, running evaluations are awaited, and the result is returned as at
    the end of the budget. The text of the exception is logged as the reason.

    Example:
        >>> import structbo as sb
        >>> def good_enough(optimizer, trial):
        ...     if trial.value is not None and trial.value < 10.0:
        ...         raise sb.StopSearch("good enough")
        >>> run = {"callbacks": [good_enough], "show_progress_bar": False}
        >>> len(sb.minimize(lambda p: p["x"], {"x": (0.0, 1.0)}, 100, **run).trials)
        1
    """


@dataclass
class StopBelowGain:
    """A callback that ends the run when the expected gain is small.

    The gain of a point is its expected improvement over the best posterior mean, averaged over
    posterior draws, in the units of the objective: `Optimizer.expected_gain`. The default criterion
    weights it less at the ends of the ranges. Because draws vary, the run only ends after several
    proposals in a row with a smaller gain; a batch is one proposal. The gain depends on the model,
    which can be wrong, especially with few values. Quasi-random points are ignored. The count
    restarts in a process that continues a run.

    Args:
        least: the smallest gain that is worth an evaluation.
        patience: number of proposals in a row with a smaller gain that end the run.

    Raises:
        ValueError: if an argument is not positive; in the run, if its criterion is none of
            "interior_ei", "log_ei" and "log_eqi".

    Example:
        >>> import structbo as sb
        >>> run = {"callbacks": [sb.StopBelowGain(1e-3)], "show_progress_bar": False}
        >>> len(sb.minimize(lambda p: p["x"], {"x": (0.0, 1.0)}, 2, **run).trials)
        2
    """

    least: float
    patience: int = 3
    _num_below: int = field(default=0, init=False, repr=False)
    _last_gain: float | None = field(default=None, init=False, repr=False)

    def __post_init__(self) -> None:
        if not (isinstance(self.least, int | float) and 0.0 < self.least < math.inf):
            raise ValueError(
                f"least must be a positive number, in units of the objective, got {self.least!r}."
            )
        self.patience = checked_count("patience", self.patience)

    def __call__(self, optimizer: Optimizer, trial: Trial) -> None:
        gain = optimizer.expected_gain
        if gain and gain == self._last_gain:  # another point of the same batch
            return
        self._last_gain = gain
        self._num_below = 0 if gain is None or gain >= self.least else self._num_below + 1
        if self._num_below == self.patience:
            self._num_below = 0
            raise StopSearch(
                f"the last {self.patience} proposals had an expected gain below {self.least:g}"
            )
