"""The best value so far, over the evaluations."""

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from structbo.data import Direction, trial_values
from structbo.models.foundation.arrays import FloatArray
from structbo.optimizer import Optimizer, Result
from structbo.plots.figure import BLUE, GRAY, axes_for, bare

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def plot_convergence(
    values: Optimizer | Result | ArrayLike,
    *,
    direction: Direction | None = None,
    ax: "Axes | None" = None,
) -> "Axes":
    """Draws every value and the best so far over the evaluations.

    Args:
        values: an optimizer or a result; or values in the order of evaluation, NaN where one
            failed, shape (m,).
        direction: whether small or large values are good, "minimize" or "maximize". Default: that
            of the optimizer; of values alone, "minimize".
        ax: where to draw. Default: a new figure.

    Returns:
        The axes.

    Raises:
        ValueError: for another direction, or values that are not a list of numbers.
        ImportError: if Matplotlib is missing.
    """
    own: Direction = "minimize"
    if isinstance(values, Optimizer | Result):
        optimizer = values.optimizer if isinstance(values, Result) else values
        own, numbers = optimizer.direction, _values_of(optimizer)
    else:
        numbers = np.asarray(values, float)
    direction = own if direction is None else direction
    if numbers.ndim != 1 or numbers.size == 0:
        raise ValueError(f"values must be a list of numbers, got shape {numbers.shape}.")
    if direction not in ("minimize", "maximize"):
        raise ValueError(f'direction must be "minimize" or "maximize", got {direction!r}.')
    (axes,) = axes_for(ax, 1, (6.5, 4.0))
    count = np.arange(1, len(numbers) + 1)
    axes.scatter(count, numbers, s=14, color=GRAY, alpha=0.6, linewidths=0, label="evaluation")
    best = (np.fmin if direction == "minimize" else np.fmax).accumulate(numbers)
    axes.step(count, best, where="post", color=BLUE, linewidth=2, label="best so far")
    axes.set_xlabel("evaluations")
    axes.set_ylabel(f"value ({direction}d)")
    axes.locator_params(axis="x", integer=True)
    bare(axes)
    axes.legend(frameon=False)
    return axes


def _values_of(optimizer: Optimizer) -> FloatArray:
    return trial_values(trial for trial in optimizer.trials if trial.is_told)
