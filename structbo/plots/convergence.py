"""The best value so far, over the runs."""

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from structbo.data import Direction, trial_values
from structbo.optimizer import Optimizer, Result
from structbo.plots.figure import BLUE, GRAY, ORANGE, axes_for, bare, drawable, literal

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def plot_convergence(
    values: Optimizer | Result | ArrayLike,
    *,
    direction: Direction | None = None,
    value_name: str = "objective",
    ax: "Axes | None" = None,
) -> "Axes":
    """Draws every value and the best so far over the numbers of the runs.

    Runs of an optimizer have the numbers of their trials. A cross at the bottom marks a run that
    failed. Values beyond 1e300 are drawn there, because axes reach no further.

    Args:
        values: an optimizer or a result; or values in the order of evaluation, NaN where one
            failed, shape (m,). The first of them is run 1.
        direction: whether small or large values are good, "minimize" or "maximize". The default is
            the direction of the optimizer, and "minimize" for values alone.
        value_name: name of the objective, for the vertical axis.
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
        told = [trial for trial in optimizer.trials if trial.is_told]
        own, observed = optimizer.direction, trial_values(told)
        runs = np.array([trial.number for trial in told])
    else:
        observed = np.asarray(values, float)
        runs = np.arange(1, observed.size + 1)
    direction = own if direction is None else direction
    if observed.ndim != 1 or observed.size == 0:
        raise ValueError(f"values must be a list of numbers, got shape {observed.shape}.")
    if direction not in ("minimize", "maximize"):
        raise ValueError(f'direction must be "minimize" or "maximize", got {direction!r}.')
    observed = drawable(np.where(np.isfinite(observed), observed, np.nan))
    (axes,) = axes_for(ax, 1, (6.5, 4.0))
    axes.scatter(runs, observed, s=14, color=GRAY, linewidths=0, label="run")
    best = (np.fmin if direction == "minimize" else np.fmax).accumulate(observed)
    axes.step(runs, best, where="post", color=BLUE, linewidth=2, label="best so far")
    if (failed := np.isnan(observed)).any():
        (crosses,) = axes.plot(runs[failed], np.zeros(failed.sum()), "x", label="failed")
        crosses.set(color=ORANGE, transform=axes.get_xaxis_transform(), clip_on=False)
    axes.set_xlabel("number of the run")
    axes.set_ylabel(f"{literal(value_name)} ({direction}d)")
    axes.locator_params(axis="x", integer=True)
    bare(axes)
    axes.legend(frameon=False)
    return axes
