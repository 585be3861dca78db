"""Colors, axes and checks that all plots share."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Okabe and Ito's colors, which most color-blind people can tell apart.
BLUE, ORANGE, GRAY = "#0072B2", "#D55E00", "#7F7F7F"
CHAIN_COLORS = (BLUE, ORANGE, "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
LARGEST = 1e300
"""Axes that reach much further have no ticks: their length overflows."""


def axes_for(
    ax: "Axes | Sequence[Axes] | None",
    count: int,
    size: tuple[float, float],
    *,
    columns: int | None = None,
    share: bool = False,
) -> "tuple[Axes, ...]":
    """The given axes, or the axes of a new figure.

    Args:
        ax: one Axes or several; None for a new figure.
        count: how many are needed.
        size: width and height of each, in inches.
        columns: of a new figure; by default all axes are side by side.
        share: whether the axes of a new figure have the same vertical axis.

    Raises:
        ValueError: if too few or too many are given.
        ImportError: if Matplotlib is missing.
    """
    if ax is not None:
        axes = tuple(ax) if isinstance(ax, Sequence | np.ndarray) else (ax,)
        if len(axes) != count:
            raise ValueError(f"ax must be {count} Axes, got {len(axes)}.")
        return axes
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError(
            'plots need Matplotlib, which is missing: pip install "structbo[plots]"'
        ) from error
    columns = columns or count
    rows = -(-count // columns)
    figure, grid = plt.subplots(
        rows,
        columns,
        squeeze=False,
        sharey=share,
        figsize=(size[0] * columns, size[1] * rows),
        layout="constrained",
    )
    for unused in grid.flat[count:]:
        figure.delaxes(unused)
    return tuple(grid.flat[:count])


def bare(ax: "Axes") -> None:
    """Removes the upper and the right border."""
    ax.spines[["top", "right"]].set_visible(False)


def drawable(values: Float[np.ndarray, "*shape"]) -> Float[np.ndarray, "*shape"]:
    """Values of the objective that axes can hold: larger ones than `LARGEST` are cut to it."""
    return np.clip(values, -LARGEST, LARGEST)


def literal(text: str) -> str:
    """A text that Matplotlib shows as it is: no dollar begins a formula, no character breaks lines.

    Example:
        >>> print(literal("price in $, tax in $"), literal("two\\nlines"))
        price in \\$, tax in \\$ two\ufffdlines
    """
    shown = (c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text)
    return "".join(shown).replace("$", r"\$")


def shortened(names: Sequence[str], length: int) -> list[str]:
    """Names of limited length if that leaves them different, each as a `literal`.

    If one is longer, all lose the words that they begin and end with in common, and then the
    middle.

    Example:
        >>> shortened(["detector_stage_07_threshold", "detector_stage_19_threshold"], 20)
        ['…07…', '…19…']
        >>> shortened(["weight_decay_of_embeddings", "learning_rate"], 15)
        ['weight_…eddings', 'learning_rate']
    """
    if max(map(len, names)) <= length:
        return [literal(name) for name in names]
    start = _common_words(names)
    end = _common_words([name[start:][::-1] for name in names])
    inner = [name[start : len(name) - end] for name in names]
    half = (length - 1) // 2
    short = [n if len(n) <= length else f"{n[:half]}…{n[-half:]}" for n in inner]
    marked = [f"{'…' * bool(start)}{name}{'…' * bool(end)}" for name in short]
    unique = marked if len(set(marked)) == len(set(names)) else names
    return [literal(name) for name in unique]


def _common_words(names: Sequence[str]) -> int:
    """Number of characters of the whole words that all names begin with; 0 for a single name."""
    first, last = min(names), max(names)
    size = 0
    for k, (one, other) in enumerate(zip(first, last, strict=False)):
        if one != other:
            return size
        if not one.isalnum():
            size = k + 1
    return size if len(names) > 1 else 0
