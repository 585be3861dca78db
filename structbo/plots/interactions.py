"""The interaction graph."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from structbo.models.foundation.arrays import FloatArray
from structbo.plots.figure import BLUE, GRAY, ORANGE, axes_for, shortened
from structbo.plots.pairs import edge_matrix, hidden, pairs_of, strongest
from structbo.plots.sources import Learned, as_posterior
from structbo.posterior import Importances, Probabilities

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SIZE = (6.5, 7.4)
FULL_WIDTH = 6.0
"""Line width, in points, of an edge with probability 1, or of the most important pair."""
LEGEND_WIDTHS = (0.1, 0.5, 1.0)
"""Widths of the lines in the legend, relative to the full width."""
FONT_SIZE = 10.0
CHARACTER = 0.075
"""Typical width of a character of a label, in inches."""
NAME_LENGTH = 24
SMALL = 0.8
"""Size of labels that point outwards, relative to the others."""
LABEL_DISTANCE = 0.1
"""Distance of a label from its node; the circle of nodes has radius 1."""


class Widths(NamedTuple):
    """The quantity that the widths of lines show.

    Args:
        title: in words.
        text: format of its values.
        largest: the value of the full width.
        is_probability: whether the strength of the color shows it, too.
    """

    title: str
    text: str
    largest: float
    is_probability: bool


def plot_interactions(
    probabilities: Learned | Probabilities | ArrayLike,
    names: Sequence[str] | None = None,
    *,
    importances: Importances | None = None,
    truth: ArrayLike | None = None,
    max_names: int = 30,
    ax: "Axes | Sequence[Axes] | None" = None,
) -> "tuple[Axes, ...]":
    """Draws the learned interaction graph, beside the true one if it is known.

    The width of a line shows the share of the variance that is due to a pair, and the strength of
    its color the probability that this share matters. With probabilities alone, both show these.
    With a truth, the color shows whether an edge is true.

    Args:
        probabilities: a posterior, an optimizer or a result; or a symmetric matrix, for example
            `Posterior.edge_probabilities`, shape (D, D).
        names: of the D parameters, needed if probabilities are an array.
        importances: of the same parameters; by default `Posterior.importances`, unless
            probabilities are given or the model has a projection.
        truth: the true edge matrix, shape (D, D).
        max_names: maximum number of parameters; the ones with the widest lines or true edges stay.
        ax: where to draw: one Axes, or two with a truth. Default: a new figure.

    Returns:
        The axes: one, or two with a truth.

    Raises:
        ValueError: if shapes or names do not match, names are missing, a probability is not in
            [0, 1], or max_names is not positive.
        ImportError: if Matplotlib is missing.
    """
    if isinstance(probabilities, Learned):
        posterior = as_posterior(probabilities)
        if importances is None and not posterior.is_projected:
            importances = posterior.importances()
        if importances is not None:
            names = importances.names if names is None else tuple(names)
            probabilities = importances.pairs.matters
            importances = importances._replace(names=names)
    learned, names = pairs_of(probabilities, names)
    known = None if truth is None else edge_matrix("truth", truth, len(names)) > 0.5
    widths, legend = _widths(learned, names, importances)
    shown = strongest(widths if known is None else np.maximum(widths, known), max_names)
    remark = hidden(names, shown)
    names, square = [names[d] for d in shown], np.ix_(shown, shown)
    learned, widths = learned[square], widths[square]
    if known is None:
        axes, keys = axes_for(ax, 1, SIZE), {}
        _draw_graph(axes[0], widths, learned, names, np.full(learned.shape, BLUE))
    else:
        known = known[square]
        axes, keys = axes_for(ax, 2, SIZE), {"in the truth": BLUE, "not in the truth": ORANGE}
        _draw_graph(axes[0], widths, learned, names, np.where(known, BLUE, ORANGE))
        ones = known.astype(float)
        _draw_graph(axes[1], ones, ones, names, np.full(known.shape, BLUE))
        axes[1].set_title("true interactions")
    axes[0].set_title("\n".join(filter(None, ["learned interactions", remark])))
    _add_legend(axes[0], legend, keys)
    return axes


def _widths(
    learned: FloatArray, names: Sequence[str], importances: Importances | None
) -> tuple[FloatArray, Widths]:
    """The widths of lines, relative to the full width, shape (D, D), and what they show."""
    if importances is None:
        return learned, Widths("posterior probability", "{:g}", 1.0, True)
    importances.check_names(names)
    shares = importances.pairs.mean
    largest = float(shares.max(initial=0.0))
    widths = shares / largest if largest > 0.0 else shares
    return widths, Widths("expected share of the variation", "{:.1%}", largest, False)


def _draw_graph(
    ax: "Axes",
    widths: FloatArray,
    probabilities: FloatArray,
    names: Sequence[str],
    colors: NDArray[np.str_],
) -> None:
    """Nodes on a circle, clockwise from the top; likely edges over unlikely ones."""
    import networkx as nx

    graph = nx.from_numpy_array(np.triu(widths, 1))
    # NetworkX goes counterclockwise from the right: mirrored, that is clockwise from the top.
    nodes = {v: np.array([y, x]) for v, (x, y) in nx.circular_layout(graph).items()}
    edges = sorted(graph.edges, key=widths.__getitem__)
    nx.draw_networkx_edges(
        graph,
        nodes,
        ax=ax,
        edgelist=edges,
        width=[FULL_WIDTH * float(widths[edge]) for edge in edges],
        edge_color=[str(colors[edge]) for edge in edges],
        alpha=_opacity([probabilities[edge] for edge in edges]),
    )
    nx.draw_networkx_nodes(
        graph, nodes, ax=ax, node_size=60, node_color="white", edgecolors="black"
    )
    names = shortened(names, NAME_LENGTH)
    radius, is_radial = _room_for_labels(ax, names)
    for name, place in zip(names, nodes.values(), strict=True):
        outwards = place if place.any() else np.array([0.0, 1.0])  # a lone node is in the middle
        _label(ax, name, place + LABEL_DISTANCE * outwards, is_radial)
    ax.set(xlim=(-radius, radius), ylim=(-radius, radius))
    ax.set_aspect("equal")
    ax.set_axis_off()


def _room_for_labels(ax: "Axes", names: Sequence[str]) -> tuple[float, bool]:
    """Half the side of the picture, and whether labels must point outwards not to overlap."""
    box = ax.get_window_extent()
    side = min(box.width, box.height) / ax.figure.dpi
    share = CHARACTER * max(map(len, names)) / side
    circle = 1.0 + LABEL_DISTANCE

    def radius(share: float) -> float:
        return (circle + 0.05) / (1.0 - min(2.0 * share, 0.7))

    if 2.0 * radius(share) * share > 2.0 * np.pi * circle / len(names):
        return radius(SMALL * share), True
    return radius(share), False


def _label(ax: "Axes", name: str, place: FloatArray, is_radial: bool) -> None:
    """Beside its node, on the outside, where NetworkX would write it across the node."""
    x, y = place
    is_left = x < -1e-6
    # Axes need not shrink to keep labels inside: `_room_for_labels` has left room for them.
    how: dict[str, Any] = {
        "in_layout": False,
        "size": FONT_SIZE,
        "ha": "right" if is_left else "left",
        "va": "center",
    }
    if is_radial:
        turn = np.degrees(np.arctan2(y, x)) + (180.0 if is_left else 0.0)
        how |= {"rotation": turn, "rotation_mode": "anchor", "size": SMALL * FONT_SIZE}
    elif abs(x) < 0.1:
        how |= {"ha": "center", "va": "bottom" if y > 0 else "top"}
    ax.text(x, y, name, **how)


def _opacity(probability: ArrayLike) -> FloatArray:
    return 0.35 + 0.65 * np.asarray(probability, float)


def _line(width: float, probability: float, color: str) -> dict[str, Any]:
    """A line for the legend that looks like an edge."""
    return {
        "color": color,
        "linewidth": FULL_WIDTH * width,
        "alpha": float(_opacity(probability)),
        "solid_capstyle": "butt",
    }


def _add_legend(ax: "Axes", shown: Widths, keys: dict[str, str]) -> None:
    from matplotlib.lines import Line2D

    shade = GRAY if keys else BLUE
    handles = []
    for width in LEGEND_WIDTHS:
        label = shown.text.format(shown.largest * width)
        probability = width if shown.is_probability else 1.0
        handles.append(Line2D([], [], **_line(width, probability, shade), label=label))
    for label, color in keys.items():
        handles.append(Line2D([], [], **_line(0.5, 0.5, color), label=label))
    ax.legend(
        handles=handles,
        title=f"line width: {shown.title}",
        loc="upper center",
        bbox_to_anchor=(0.5, 0.0),
        ncols=len(handles),
        frameon=False,
    )
