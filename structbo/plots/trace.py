"""Traces of the chains: where they are, and how far their structures are from the mode."""

from typing import TYPE_CHECKING

from structbo.plots.figure import CHAIN_COLORS, axes_for, bare
from structbo.plots.sources import Learned, as_posterior
from structbo.posterior import distance_to_mode

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes


def plot_trace(posterior: Learned, *, ax: "Sequence[Axes] | None" = None) -> "tuple[Axes, ...]":
    """Draws the log density by draw, and in how many pairs its structure differs from the mode.

    Chains that have mixed lie on top of each other in both. The mode is the most frequent value,
    over all chains, of which pairs share a component.

    Args:
        posterior: draws; or an optimizer or a result, which has them.
        ax: where to draw, two Axes. Default: a new figure.

    Returns:
        The two axes.

    Raises:
        ImportError: if Matplotlib is missing.
    """
    axes = axes_for(ax, 2, (7.5, 2.6), columns=1)
    posterior = as_posterior(posterior)
    distance = distance_to_mode(posterior.structures)
    for panel, values in zip(axes, (posterior.log_density, distance), strict=True):
        for chain, row in enumerate(values):
            color = CHAIN_COLORS[chain % len(CHAIN_COLORS)]
            panel.plot(row, color=color, linewidth=1, alpha=0.8, label=f"chain {chain}")
        bare(panel)
        panel.margins(x=0.01)
    axes[0].set_ylabel("log density")
    axes[1].set(xlabel="draw", ylabel="pairs unlike the mode")
    for axis in ("x", "y"):
        axes[1].locator_params(axis=axis, integer=True)
    axes[0].legend(
        loc="lower center",
        bbox_to_anchor=(0.5, 1.0),
        ncols=min(len(CHAIN_COLORS), len(distance)),
        frameon=False,
    )
    return axes
