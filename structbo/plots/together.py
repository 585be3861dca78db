"""The heat map of common components."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from structbo.plots.figure import axes_for, edge_matrix

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def plot_together(
    probabilities: ArrayLike, names: Sequence[str], *, ax: "Axes | None" = None
) -> "Axes":
    """Draws a heat map of which parameters share a component.

    Args:
        probabilities: symmetric, for example `Posterior.together_probabilities().mean`,
            shape (D, D).
        names: of the D parameters.
        ax: where to draw. Default: a new figure.

    Returns:
        The axes.

    Raises:
        ValueError: if shapes do not match, or a probability is not in [0, 1].
        ImportError: if Matplotlib is missing.
    """
    matrix = edge_matrix("probabilities", probabilities, len(names)).copy()
    np.fill_diagonal(matrix, np.nan)
    (axes,) = axes_for(ax, 1, (6.5, 5.6))
    image = axes.imshow(matrix, cmap="Blues", vmin=0.0, vmax=1.0)
    ticks = np.arange(len(names))
    axes.set_xticks(ticks, names, rotation=90)
    axes.set_yticks(ticks, names)
    axes.figure.colorbar(image, ax=axes, label="posterior probability of a common component")
    return axes
