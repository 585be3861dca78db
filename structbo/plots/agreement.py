"""Whether chains agree on the structure."""

from typing import TYPE_CHECKING

import numpy as np

from structbo.plots.figure import CHAIN_COLORS, GRAY, axes_for, bare, literal
from structbo.plots.sources import Learned, as_posterior
from structbo.posterior import indicator_probabilities, indicator_rhat, pair_labels

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MAX_LENGTH = 40
"""Length of the name of a pair that fits in one line."""
VISIBLE = 0.004
"""Points that differ by less than this look the same, and are drawn once."""


def plot_agreement(posterior: Learned, *, ax: "Axes | None" = None) -> "Axes":
    """Draws probabilities by the first chain against those by the others, with their errors.

    A point is the probability that a pair of parameters shares a component; bars are two standard
    errors of each chain by itself. Chains that have mixed agree within their errors. The pair with
    the largest R-hat is named.

    Args:
        posterior: draws of two or more chains; or an optimizer or a result, which has them.
        ax: where to draw. Default: a new figure.

    Returns:
        The axes.

    Raises:
        ValueError: if there is only one chain, or only one dimension.
        ImportError: if Matplotlib is missing.
    """
    posterior = as_posterior(posterior)
    together, pairs = posterior.structures.pairs_together()
    if len(together) < 2 or together.shape[-1] == 0:
        raise ValueError(
            "agreement needs at least two chains and two dimensions, got "
            f"{len(together)} chains and {len(posterior.directions)} dimensions."
        )
    (axes,) = axes_for(ax, 1, (5.2, 5.4))
    found = [indicator_probabilities(chain[None]) for chain in together]
    axes.plot([0, 1], [0, 1], color=GRAY, linewidth=1, zorder=0)
    for chain, other in enumerate(found[1:], start=1):
        points = np.stack([found[0].mean, other.mean, 2.0 * found[0].mcse, 2.0 * other.mcse], 1)
        _, different = np.unique((points / VISIBLE).round(), axis=0, return_index=True)
        x, y, error_of_x, error_of_y = points[np.sort(different)].T
        axes.errorbar(
            x,
            y,
            xerr=error_of_x,
            yerr=error_of_y,
            fmt="o",
            markersize=4,
            elinewidth=0.8,
            alpha=0.7,
            color=CHAIN_COLORS[chain % len(CHAIN_COLORS)],
            label=f"chain {chain}",
        )
    rhat = indicator_rhat(together)
    worst = int(np.argmax(rhat))
    name = literal(pair_labels(posterior.directions, pairs)[worst])
    if len(name) > MAX_LENGTH:
        name = name.replace(",", ",\n")
    axes.set_title(f"largest R-hat of a pair: {rhat[worst]:.2f}\n{name}")
    farthest = max(found[1:], key=lambda other: abs(other.mean[worst] - found[0].mean[worst]))
    axes.scatter(
        found[0].mean[worst], farthest.mean[worst], s=140, facecolors="none", edgecolors="black"
    )
    axes.set(xlim=(-0.03, 1.03), ylim=(-0.03, 1.03), aspect="equal")
    axes.set_xlabel("probability of a common component, chain 0")
    axes.set_ylabel("the same by the other chains" if len(found) > 2 else "the same by chain 1")
    bare(axes)
    if len(found) > 2:
        axes.legend(loc="upper left", frameon=False)
    return axes
