"""Axes in the units of a parameter: numbers, perhaps on a logarithmic scale, or labels."""

from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from structbo.models.foundation.arrays import FloatArray
from structbo.plots.figure import shortened
from structbo.space import Scale

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MAX_LABELS = 12
LABEL_LENGTH = 20
MAX_CHARACTERS = 28
"""Characters for which a horizontal axis has room if all labels are as long as the longest."""


def places(grid: NDArray[Any], scale: Scale) -> FloatArray:
    """Places of values along an axis, shape (m,); labels are equally far apart."""
    return np.arange(len(grid), dtype=float) if scale == "labels" else np.asarray(grid, float)


def edges(places: FloatArray, scale: Scale) -> FloatArray:
    """The ends of cells around each of these places, shape (m + 1,)."""
    x = np.log(places) if scale == "log" else places
    if len(x) == 1:
        return np.array([places[0] - 0.5, places[0] + 0.5])
    middle = (x[1:] + x[:-1]) / 2
    ends = np.concatenate([[2 * x[0] - middle[0]], middle, [2 * x[-1] - middle[-1]]])
    return np.exp(ends) if scale == "log" else ends


def set_scale(ax: "Axes", which: Literal["x", "y"], grid: NDArray[Any], scale: Scale) -> None:
    """Ticks and scale of the horizontal or the vertical axis."""
    from matplotlib.ticker import LogLocator, MaxNLocator, NullFormatter, StrMethodFormatter

    axis = ax.xaxis if which == "x" else ax.yaxis
    few = MaxNLocator(5, integer=grid.dtype.kind == "i", steps=[1, 2, 2.5, 5, 10])
    if scale == "log":
        (ax.set_xscale if which == "x" else ax.set_yscale)("log")
        decades = np.log10(grid[-1] / grid[0])
        if decades < 2.0:
            axis.set_major_locator(few if decades < 1.0 else LogLocator(subs=(1.0, 3.0)))
            axis.set_major_formatter(StrMethodFormatter("{x:g}"))
        axis.set_minor_formatter(NullFormatter())
    elif scale == "labels":
        kept = np.unique(np.linspace(0, len(grid) - 1, MAX_LABELS).round().astype(int))
        given = [f"{v:.3g}" if isinstance(v, float) else str(v) for v in grid[kept]]
        texts = shortened(given, LABEL_LENGTH)
        axis.set_ticks(kept, texts)
        if which == "x" and len(texts) * max(map(len, texts)) > MAX_CHARACTERS:
            ax.tick_params("x", rotation=90)
    else:
        axis.set_major_locator(few)
