"""Pictures of what was learned: which parameters interact, and how the best value fell or rose."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Okabe and Ito's colours, which most colour-blind people can tell apart.
BLUE, ORANGE, GREY = "#0072B2", "#D55E00", "#7F7F7F"
FULL_WIDTH = 6.0
"""Line width, in points, of an edge with probability 1."""
LEGEND_PROBABILITIES = (0.1, 0.5, 1.0)
CHARACTER = 0.075
"""Typical width of a character of a label, in inches."""
LABEL_RADIUS = 1.1


def plot_interactions(
    probabilities: ArrayLike,
    names: Sequence[str],
    truth: ArrayLike | None = None,
    ax: "Axes | Sequence[Axes] | None" = None,
) -> "tuple[Axes, ...]":
    """Draws the learned interaction graph, beside the true one if it is known.

    Lines are as wide as edges are probable. With a truth, colours tell whether an edge is in it.

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
    learned = _edge_matrix("probabilities", probabilities, len(names))
    if truth is None:
        axes, keys = _axes(ax, 1, 7.4), {}
        _draw_graph(axes[0], learned, names, np.full(learned.shape, BLUE))
    else:
        known = _edge_matrix("truth", truth, len(names)) > 0.5
        axes, keys = _axes(ax, 2, 7.4), {"in the truth": BLUE, "not in the truth": ORANGE}
        _draw_graph(axes[0], learned, names, np.where(known, BLUE, ORANGE))
        _draw_graph(axes[1], known.astype(float), names, np.full(known.shape, BLUE))
        axes[1].set_title("true interactions")
    axes[0].set_title("learned interactions")
    _add_legend(axes[0], keys)
    return axes


def plot_together(
    probabilities: ArrayLike, names: Sequence[str], ax: "Axes | None" = None
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
    matrix = _edge_matrix("probabilities", probabilities, len(names)).copy()
    np.fill_diagonal(matrix, np.nan)
    (axes,) = _axes(ax, 1, 5.6)
    image = axes.imshow(matrix, cmap="Blues", vmin=0.0, vmax=1.0)
    ticks = np.arange(len(names))
    axes.set_xticks(ticks, names, rotation=90)
    axes.set_yticks(ticks, names)
    axes.figure.colorbar(image, ax=axes, label="posterior probability of a common component")
    return axes


def plot_convergence(
    values: ArrayLike,
    direction: Literal["minimize", "maximize"] = "minimize",
    ax: "Axes | None" = None,
) -> "Axes":
    """Draws every value and the best so far over the evaluations.

    Args:
        values: in the order of evaluation, NaN where one failed, shape (m,).
        direction: whether small or large values are good, "minimize" or "maximize".
        ax: where to draw. Default: a new figure.

    Returns:
        The axes.

    Raises:
        ValueError: for another direction, or values that are not a list of numbers.
        ImportError: if Matplotlib is missing.
    """
    numbers = np.asarray(values, float)
    if numbers.ndim != 1 or numbers.size == 0:
        raise ValueError(f"values must be a list of numbers, got shape {numbers.shape}.")
    if direction not in ("minimize", "maximize"):
        raise ValueError(f'direction must be "minimize" or "maximize", got {direction!r}.')
    (axes,) = _axes(ax, 1, 4.0)
    count = np.arange(1, len(numbers) + 1)
    axes.scatter(count, numbers, s=14, color=GREY, alpha=0.6, linewidths=0, label="evaluation")
    best = (np.fmin if direction == "minimize" else np.fmax).accumulate(numbers)
    axes.step(count, best, where="post", color=BLUE, linewidth=2, label="best so far")
    axes.set_xlabel("evaluations")
    axes.set_ylabel(f"value ({direction}d)")
    axes.locator_params(axis="x", integer=True)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False)
    return axes


def _draw_graph(
    ax: "Axes", probabilities: NDArray[np.float64], names: Sequence[str], colours: NDArray[np.str_]
) -> None:
    """Nodes on a circle, clockwise from the top; likely edges over unlikely ones."""
    angles = np.pi / 2 - 2 * np.pi * np.arange(len(names)) / len(names)
    nodes = np.column_stack([np.cos(angles), np.sin(angles)])
    rows, columns = np.triu_indices(len(names), 1)
    for a, b in zip(rows, columns, strict=True):
        p = float(probabilities[a, b])
        if p > 0.0:
            ax.plot(*nodes[[a, b]].T, **_line(p, colours[a, b]), zorder=1 + p)
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


def _line(probability: float, colour: str) -> dict[str, Any]:
    return {
        "color": colour,
        "linewidth": FULL_WIDTH * probability,
        "alpha": 0.35 + 0.65 * probability,
        "solid_capstyle": "butt",
    }


def _add_legend(ax: "Axes", keys: dict[str, str]) -> None:
    from matplotlib.lines import Line2D

    shade = GREY if keys else BLUE
    handles = [Line2D([], [], **_line(p, shade), label=f"{p:g}") for p in LEGEND_PROBABILITIES]
    for label, colour in keys.items():
        handles.append(Line2D([], [], **_line(0.5, colour), label=label))
    ax.legend(
        handles=handles,
        title="line width: posterior probability",
        loc="upper center",
        bbox_to_anchor=(0.5, 0.0),
        ncols=len(handles),
        frameon=False,
    )


def _axes(ax: "Axes | Sequence[Axes] | None", count: int, height: float) -> "tuple[Axes, ...]":
    if ax is None:
        try:
            import matplotlib.pyplot as plt
        except ImportError as error:
            raise ImportError(
                'plots need Matplotlib, which is missing: pip install "structbo[plots]"'
            ) from error
        _, grid = plt.subplots(
            1, count, squeeze=False, figsize=(6.5 * count, height), layout="constrained"
        )
        return tuple(grid[0])
    axes = tuple(ax) if isinstance(ax, Sequence | np.ndarray) else (ax,)
    if len(axes) != count:
        raise ValueError(f"ax must be {count} Axes, got {len(axes)}.")
    return axes


def _edge_matrix(name: str, matrix: ArrayLike, size: int) -> NDArray[np.float64]:
    array = np.asarray(matrix, float)
    if array.shape != (size, size):
        raise ValueError(
            f"{name} must have shape {(size, size)}, one row per name, got {array.shape}."
        )
    if not ((array >= 0.0) & (array <= 1.0)).all():
        raise ValueError(f"{name} must be in [0, 1], got {array}.")
    if not np.allclose(array, array.T):
        raise ValueError(f"{name} must be symmetric.")
    return array
