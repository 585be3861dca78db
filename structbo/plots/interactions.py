"""The interaction graph."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from structbo.models.arrays import FloatArray
from structbo.plots.figure import BLUE, GRAY, ORANGE, axes_for, edge_matrix

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SIZE = (6.5, 7.4)
FULL_WIDTH = 6.0
"""Line width, in points, of an edge with probability 1."""
LEGEND_PROBABILITIES = (0.1, 0.5, 1.0)
CHARACTER = 0.075
"""Typical width of a character of a label, in inches."""
LABEL_RADIUS = 1.1


def plot_interactions(
    probabilities: ArrayLike,
    names: Sequence[str],
    *,
    truth: ArrayLike | None = None,
    ax: "Axes | Sequence[Axes] | None" = None,
) -> "tuple[Axes, ...]":
    """Draws the learned interaction graph, beside the true one if it is known.

    The width of a line shows the probability of an edge; with a truth, its color whether it is
    true.

    Args:
        probabilities: of the edges, symmetric, for example `Posterior.edge_probabilities().mean`,
            shape (D, D).
        names: of the D parameters.
        truth: the true edge matrix, shape (D, D).
        ax: where to draw: one Axes, or two with a truth. Default: a new figure.

    Returns:
        The axes: one, or two with a truth.

    Raises:
        ValueError: if shapes do not match, or a probability is not in [0, 1].
        ImportError: if Matplotlib is missing.
    """
    learned = edge_matrix("probabilities", probabilities, len(names))
    if truth is None:
        axes, keys = axes_for(ax, 1, SIZE), {}
        _draw_graph(axes[0], learned, names, np.full(learned.shape, BLUE))
    else:
        known = edge_matrix("truth", truth, len(names)) > 0.5
        axes, keys = axes_for(ax, 2, SIZE), {"in the truth": BLUE, "not in the truth": ORANGE}
        _draw_graph(axes[0], learned, names, np.where(known, BLUE, ORANGE))
        _draw_graph(axes[1], known.astype(float), names, np.full(known.shape, BLUE))
        axes[1].set_title("true interactions")
    axes[0].set_title("learned interactions")
    _add_legend(axes[0], keys)
    return axes


def _draw_graph(
    ax: "Axes", probabilities: FloatArray, names: Sequence[str], colors: NDArray[np.str_]
) -> None:
    """Nodes on a circle, clockwise from the top; likely edges over unlikely ones."""
    angles = np.pi / 2 - 2 * np.pi * np.arange(len(names)) / len(names)
    nodes = np.column_stack([np.cos(angles), np.sin(angles)])
    rows, columns = np.triu_indices(len(names), 1)
    for a, b in zip(rows, columns, strict=True):
        p = float(probabilities[a, b])
        if p > 0.0:
            ax.plot(*nodes[[a, b]].T, **_line(p, colors[a, b]), zorder=1 + p)
    ax.scatter(nodes[:, 0], nodes[:, 1], s=60, color="white", edgecolors="black", zorder=3)
    radius, is_radial = _room_for_labels(ax, names)
    for name, angle in zip(names, angles, strict=True):
        _label(ax, name, angle, is_radial)
    ax.set(xlim=(-radius, radius), ylim=(-radius, radius))
    ax.set_aspect("equal")
    ax.set_axis_off()


def _room_for_labels(ax: "Axes", names: Sequence[str]) -> tuple[float, bool]:
    """Half the side of the picture, and whether labels must point outwards not to overlap."""
    box = ax.get_window_extent()
    side = min(box.width, box.height) / ax.figure.dpi
    share = CHARACTER * max(map(len, names)) / side
    radius = (LABEL_RADIUS + 0.05) / (1.0 - min(2.0 * share, 0.7))
    return radius, 2.0 * radius * share > 2.0 * np.pi * LABEL_RADIUS / len(names)


def _label(ax: "Axes", name: str, angle: float, is_radial: bool) -> None:
    x, y = LABEL_RADIUS * np.cos(angle), LABEL_RADIUS * np.sin(angle)
    is_left = x < -1e-9
    side = "right" if is_left else "left"
    if is_radial:
        turn = np.degrees(angle) + (180.0 if is_left else 0.0)
        ax.text(x, y, name, rotation=turn, rotation_mode="anchor", ha=side, va="center")
    elif abs(x) < 0.1:
        ax.text(x, y, name, ha="center", va="bottom" if y > 0 else "top")
    else:
        ax.text(x, y, name, ha=side, va="center")


def _line(probability: float, color: str) -> dict[str, Any]:
    return {
        "color": color,
        "linewidth": FULL_WIDTH * probability,
        "alpha": 0.35 + 0.65 * probability,
        "solid_capstyle": "butt",
    }


def _add_legend(ax: "Axes", keys: dict[str, str]) -> None:
    from matplotlib.lines import Line2D

    shade = GRAY if keys else BLUE
    handles = [Line2D([], [], **_line(p, shade), label=f"{p:g}") for p in LEGEND_PROBABILITIES]
    for label, color in keys.items():
        handles.append(Line2D([], [], **_line(0.5, color), label=label))
    ax.legend(
        handles=handles,
        title="line width: posterior probability",
        loc="upper center",
        bbox_to_anchor=(0.5, 0.0),
        ncols=len(handles),
        frameon=False,
    )
