"""Importances of parameters as bars."""

from typing import TYPE_CHECKING

import numpy as np

from structbo.models.foundation.arguments import checked_count
from structbo.plots.figure import BLUE, ORANGE, axes_for, bare, literal, shortened
from structbo.posterior import Importances, Shares

if TYPE_CHECKING:
    from matplotlib.axes import Axes

ROW = 0.36
"""Height of a row, in inches."""
CHARACTER = 0.075
"""Typical width of a character of a label, in inches."""
NAME_LENGTH = 24


def plot_importances(
    importances: Importances,
    *,
    max_rows: int = 25,
    value_name: str = "objective",
    ax: "Axes | None" = None,
) -> "Axes":
    """Draws the shares of the variance due to each parameter, alone and in total, with intervals.

    The upper bar of a row is the total, which counts all interactions of the parameter; the lower
    bar is what it does alone. Lines reach from the 5 % to the 95 % quantile.

    Args:
        importances: `Posterior.importances()`.
        max_rows: maximum number of parameters, those with the largest total.
        value_name: name of the objective, for the horizontal axis.
        ax: where to draw. Default: a new figure.

    Returns:
        The axes, the most important parameter on top.

    Raises:
        ValueError: if max_rows is not positive.
        ImportError: if Matplotlib is missing.
    """
    checked_count("max_rows", max_rows)
    shown = np.argsort(-importances.total.mean, kind="stable")[:max_rows]
    names = shortened([importances.names[d] for d in shown], NAME_LENGTH)
    width = 5.0 + CHARACTER * max(map(len, names))
    (axes,) = axes_for(ax, 1, (width, ROW * len(shown) + 1.2))
    rows = np.arange(len(shown))
    for shares, label, color, shift in (
        (importances.total, "in total", BLUE, -0.2),
        (importances.first_order, "alone", ORANGE, 0.2),
    ):
        chosen = Shares(*(value[shown] for value in shares))
        axes.barh(rows + shift, chosen.mean, height=0.38, color=color, alpha=0.75, label=label)
        axes.hlines(rows + shift, chosen.lower, chosen.upper, color="black", linewidth=1.2)
    axes.set_yticks(rows, names)
    xlabel = f"share of the variation of {literal(value_name)}"
    axes.set(ylim=(len(shown) - 0.4, -0.6), xlabel=xlabel)
    axes.set_xlim(left=0.0)
    axes.xaxis.set_major_formatter("{x:.0%}")
    left_out = len(importances.names) - len(shown)
    if left_out:
        axes.set_title(f"without the {left_out} least important", fontsize="medium", loc="right")
    axes.legend(loc="lower right", frameon=False)
    bare(axes)
    return axes
