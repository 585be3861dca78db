"""Prior probabilities beside posterior ones."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from structbo.plots.figure import BLUE, GRAY, axes_for, bare, shortened
from structbo.posterior import Probabilities, pair_labels

if TYPE_CHECKING:
    from matplotlib.axes import Axes

ROW = 0.27
"""Height of a row, in inches."""
CHARACTER = 0.08
"""Typical width of a character of a label, in inches."""
NAME_LENGTH = 24


def plot_prior_posterior(
    prior: Probabilities,
    posterior: Probabilities,
    names: Sequence[str] | None = None,
    *,
    max_rows: int = 20,
    ax: "Axes | None" = None,
) -> "Axes":
    """Draws prior and posterior probabilities of the same events, a row for each.

    Args:
        prior: for example ``posterior.prior().edge_probabilities()``, of pairs (D, D) or of single
            parameters (D,).
        posterior: the same by the posterior, for example ``posterior.edge_probabilities()``.
        names: of the D parameters or of the families; by default the names in `posterior`.
        max_rows: maximum number of events; the ones whose probability changed most stay.
        ax: where to draw. Default: a new figure.

    Returns:
        The axes, the most probable event on top.

    Raises:
        ValueError: if shapes do not match, or max_rows is not positive.
        ImportError: if Matplotlib is missing.
    """
    names = posterior.names if names is None else names
    size = len(names)
    shapes = {np.shape(value) for value in (*prior, *posterior)}
    if shapes not in ({(size,)}, {(size, size)}):
        raise ValueError(
            f"prior and posterior must both have shape {(size,)} or {(size, size)}, one entry per "
            f"name, got {np.shape(prior.mean)} and {np.shape(posterior.mean)}."
        )
    if max_rows < 1:
        raise ValueError(f"max_rows must be at least 1, got {max_rows}.")
    events: Any
    if np.ndim(prior.mean) == 1:
        labels, events = shortened(names, NAME_LENGTH), np.arange(size)
    else:
        events = np.triu_indices(size, 1)
        labels = pair_labels(shortened(names, NAME_LENGTH), events)
    before, after = (Probabilities(p.mean[events], p.mcse[events]) for p in (prior, posterior))
    changed = np.argsort(-np.abs(after.mean - before.mean), kind="stable")[:max_rows]
    shown = changed[np.argsort(after.mean[changed], kind="stable")]
    rows = np.arange(len(shown))
    width = 4.5 + CHARACTER * max(len(labels[i]) for i in shown)
    (axes,) = axes_for(ax, 1, (width, ROW * len(shown) + 1.2))
    axes.hlines(rows, before.mean[shown], after.mean[shown], color=GRAY, linewidth=1, zorder=0)
    for values, color, face, label in (
        (before, GRAY, "white", "prior"),
        (after, BLUE, BLUE, "posterior"),
    ):
        axes.errorbar(
            values.mean[shown],
            rows,
            xerr=2.0 * values.mcse[shown],
            fmt="o",
            color=color,
            markerfacecolor=face,
            markersize=5,
            label=label,
        )
    axes.set_yticks(rows, [labels[i] for i in shown])
    axes.set(xlim=(-0.03, 1.03), ylim=(-0.7, len(shown) - 0.3), xlabel="probability")
    some = f"the {len(shown)} of {len(labels)} that changed most"
    axes.legend(
        title=some if len(shown) < len(labels) else None,
        loc="lower center",
        bbox_to_anchor=(0.5, 1.0),
        ncols=2,
        frameon=False,
    )
    bare(axes)
    return axes
