"""The heat map of choices that are alike."""

from typing import TYPE_CHECKING

import numpy as np

from structbo.plots.figure import axes_for, shortened
from structbo.plots.sources import Learned, as_posterior

if TYPE_CHECKING:
    from matplotlib.axes import Axes

NAME_LENGTH = 24


def plot_alike(posterior: Learned, name: str, *, ax: "Axes | None" = None) -> "Axes":
    """Draws a heat map of which choices of a category are alike, see `Posterior.alike`.

    Similar choices are neighbors: the order is the one of a hierarchical clustering.

    Args:
        posterior: a posterior, an optimizer or a result.
        name: name of a categorical parameter.
        ax: where to draw. Default: a new figure.

    Returns:
        The axes.

    Raises:
        ValueError: if no category has the name, or it has one choice.
        ImportError: if Matplotlib is missing.
    """
    from scipy.cluster.hierarchy import leaves_list, linkage
    from scipy.spatial.distance import squareform

    table = as_posterior(posterior).alike(name)
    gaps = np.maximum(1.0 - table.to_numpy(), 0.0)
    order = leaves_list(linkage(squareform(gaps, checks=False), "average", optimal_ordering=True))
    shown = table.to_numpy()[np.ix_(order, order)]
    (axes,) = axes_for(ax, 1, (6.5, 5.6))
    image = axes.imshow(shown, cmap="RdBu", vmin=-1.0, vmax=1.0)
    labels = shortened([str(table.index[k]) for k in order], NAME_LENGTH)
    axes.set_xticks(np.arange(len(order)), labels, rotation=90)
    axes.set_yticks(np.arange(len(order)), labels)
    axes.set_title(f"choices of {name}")
    axes.figure.colorbar(
        image, ax=axes, label="1: alike, 0: as different as two choices on average"
    )
    return axes
