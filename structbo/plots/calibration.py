"""Predictions of left out observations beside what was observed."""

from typing import TYPE_CHECKING

import numpy as np

from structbo.plots.figure import BLUE, GRAY, ORANGE, axes_for, bare, drawable, literal
from structbo.plots.sources import Learned, as_posterior
from structbo.posterior import Calibration

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes

TWO_SIDED_95, TWO_SIDED_90 = 1.96, 1.645
"""Quantiles of the standard normal."""


def plot_calibration(
    calibration: Learned | Calibration,
    *,
    value_name: str = "objective",
    ax: "Sequence[Axes] | None" = None,
) -> "tuple[Axes, ...]":
    """Draws what was observed against what all other observations predict, and how well they do.

    On the left, bars are 90 % intervals by normals with the predicted deviations; those that do not
    contain the observation are orange. On the right is the share of the observations inside of
    central intervals, over the probability of these; the band is where it lies for a right process
    in 95 % of the cases, at each probability by itself and as if observations were independent.

    Args:
        calibration: `Posterior.calibration()`; or what has a posterior.
        value_name: name of the objective, for the axes.
        ax: where to draw, two Axes. Default: a new figure.

    Returns:
        The two axes.

    Raises:
        ValueError: if there are fewer than two observations.
        ImportError: if Matplotlib is missing.
    """
    if not isinstance(calibration, Calibration):
        calibration = as_posterior(calibration).calibration()
    axes = axes_for(ax, 2, (4.4, 4.2))
    _draw_predictions(axes[0], calibration, literal(value_name))
    _draw_coverage(axes[1], calibration)
    return axes


def _draw_predictions(ax: "Axes", calibration: Calibration, value_name: str) -> None:
    observed, mean = drawable(calibration.observed), drawable(calibration.mean)
    half = TWO_SIDED_90 * drawable(calibration.deviation)
    is_inside = np.abs(observed - mean) <= half
    for chosen, color, label in (
        (is_inside, BLUE, "inside its 90 % interval"),
        (~is_inside, ORANGE, "outside"),
    ):
        ax.errorbar(
            mean[chosen],
            observed[chosen],
            xerr=half[chosen],
            fmt="o",
            markersize=4,
            elinewidth=0.8,
            alpha=0.7,
            color=color,
            label=label,
        )
    ends = [min(observed.min(), mean.min()), max(observed.max(), mean.max())]
    ax.plot(ends, ends, color=GRAY, linewidth=1, zorder=0)
    ax.set(xlabel=f"{value_name}, predicted from all other runs", ylabel=f"{value_name}, observed")
    ax.locator_params(nbins=5)
    ax.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=2, frameon=False)
    bare(ax)


def _draw_coverage(ax: "Axes", calibration: Calibration) -> None:
    probability = np.linspace(0.0, 1.0, 101)
    share = np.array([calibration.num_inside(p) for p in probability]) / len(calibration.observed)
    half = TWO_SIDED_95 * np.sqrt(probability * (1.0 - probability) / len(calibration.observed))
    lower, upper = (np.clip(probability + sign * half, 0.0, 1.0) for sign in (-1.0, 1.0))
    ax.fill_between(probability, lower, upper, color=GRAY, alpha=0.2, linewidth=0)
    ax.plot(probability, probability, color=GRAY, linewidth=1)
    ax.plot(probability, share, color=BLUE, linewidth=2)
    ax.set(xlim=(0, 1), ylim=(0, 1), aspect="equal")
    ax.set(xlabel="probability of the interval", ylabel="observed values inside it")
    for axis in (ax.xaxis, ax.yaxis):
        axis.set_major_formatter("{x:.0%}")
    bare(ax)
