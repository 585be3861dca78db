"""The heat map of common components."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from structbo.plots.figure import axes_for, shortened
from structbo.plots.pairs import hidden, pairs_of, strongest
from structbo.plots.sources import Learned
from structbo.posterior import Probabilities

if TYPE_CHECKING:
    from matplotlib.axes import Axes

NAME_LENGTH = 24


def plot_together(
    probabilities: Learned | Probabilities | ArrayLike,
    names: Sequence[str] | None = None,
    *,
    max_names: int = 40,
    ax: "Axes | None" = None,
) -> "Axes":
    """Draws a heat map of which parameters share a component.

    Args:
        probabilities: a posterior, an optimizer or a result; or a symmetric matrix, for example
            `Posterior.together_probabilities`, shape (D, D).
        names: of the D parameters, needed if probabilities are an array.
        max_names: maximum number of parameters; the ones in the most probable pairs stay.
        ax: where to draw. Default: a new figure.

    Returns:
        The axes.

    Raises:
        ValueError: if shapes do not match, names are missing, a probability is not in [0, 1], or
            max_names is not positive.
        ImportError: if Matplotlib is missing.
    """
    matrix, names = pairs_of(probabilities, names)
    shown = strongest(matrix, max_names)
    matrix = matrix[np.ix_(shown, shown)]
    np.fill_diagonal(matrix, np.nan)
    (axes,) = axes_for(ax, 1, (6.5, 5.6))
    image = axes.imshow(matrix, cmap="Blues", vmin=0.0, vmax=1.0)
    ticks, labels = np.arange(len(shown)), shortened([names[d] for d in shown], NAME_LENGTH)
    size = "medium" if len(shown) <= 25 else "x-small"
    axes.set_xticks(ticks, labels, rotation=90, fontsize=size)
    axes.set_yticks(ticks, labels, fontsize=size)
    axes.set_title(hidden(names, shown))
    axes.figure.colorbar(image, ax=axes, label="posterior probability of a common component")
    return axes
