"""Effects of single parameters as curves, and of pairs as surfaces."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from structbo.models.arrays import FloatArray
from structbo.plots.figure import BLUE, axes_for, bare
from structbo.posterior import Effect, Posterior

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MAX_COLUMNS = 3


def plot_effects(
    posterior: Posterior,
    *,
    num_effects: int = 6,
    max_draws: int = 64,
    ax: "Axes | Sequence[Axes] | None" = None,
) -> "tuple[Axes, ...]":
    """Draws the average of the function as a curve over each of the most influential parameters.

    Bands reach from the 5 % to the 95 % quantile. Influence is how much the curve varies: a
    parameter that acts through its interactions only has a flat one.

    Args:
        posterior: draws of a model without a projection.
        num_effects: at most so many parameters, the most influential first.
        max_draws: how many draws to average over.
        ax: where to draw, one Axes per curve. Default: a new figure.

    Returns:
        The axes.

    Raises:
        ValueError: if the model has a projection, or num_effects is not positive.
        ImportError: if Matplotlib is missing.
    """
    if num_effects < 1:
        raise ValueError(f"num_effects must be at least 1, got {num_effects}.")
    effects = posterior.main_effects(max_draws=max_draws)
    shown = sorted(effects, key=lambda effect: -effect.strength)[:num_effects]
    axes = axes_for(ax, len(shown), (3.2, 2.7), columns=min(len(shown), MAX_COLUMNS), share=True)
    for panel, effect in zip(axes, shown, strict=True):
        _draw_curve(panel, effect)
    for panel in axes[::MAX_COLUMNS]:
        panel.set_ylabel("average of the function")
    return axes


def plot_surface(
    posterior: Posterior,
    names: Sequence[str],
    *,
    max_draws: int = 64,
    ax: "Sequence[Axes] | None" = None,
) -> "tuple[Axes, ...]":
    """Draws the average of the function over all parameters but two, beside its standard deviation.

    Args:
        posterior: draws of a model without a projection.
        names: of the two parameters, the horizontal one first.
        max_draws: how many draws to average over.
        ax: where to draw, two Axes. Default: a new figure.

    Returns:
        The two axes.

    Raises:
        ValueError: if names are not two, one is unknown, or the model has a projection.
        ImportError: if Matplotlib is missing.
    """
    if isinstance(names, str) or len(names) != 2:
        raise ValueError(f"names must be two parameters, got {names!r}.")
    effect = posterior.effect(names, max_draws=max_draws)
    axes = axes_for(ax, 2, (5.2, 4.4))
    seen = posterior.X[:, [posterior.names.index(name) for name in names]].T
    places = []
    for i, is_category in enumerate(effect.is_categorical):
        grid = effect.grid[i]
        # The levels of a category are equally far apart, whatever numbers they have.
        levels = np.arange(len(grid)), np.searchsorted(grid, seen[i])
        places.append(levels if is_category else (grid, seen[i]))
    (x, seen_x), (y, seen_y) = places
    for panel, values, title, colors in (
        (axes[0], effect.mean, "average of the function", "viridis"),
        (axes[1], effect.deviation, "its standard deviation", "Blues"),
    ):
        image = panel.pcolormesh(x, y, values.T, shading="nearest", cmap=colors)
        panel.figure.colorbar(image, ax=panel)
        panel.scatter(seen_x, seen_y, s=10, color="white", edgecolors="black", linewidths=0.6)
        panel.set(title=title, xlabel=names[0], ylabel=names[1])
        for axis, grid, is_category in zip(
            (panel.xaxis, panel.yaxis), effect.grid, effect.is_categorical, strict=True
        ):
            if is_category:
                axis.set_ticks(np.arange(len(grid)), _levels(grid))
    return axes


def _draw_curve(ax: "Axes", effect: Effect) -> None:
    (grid,), (name,) = effect.grid, effect.names
    if effect.is_categorical[0]:
        place = np.arange(len(grid))
        half = (effect.upper - effect.lower) / 2
        ax.errorbar(place, effect.mean, yerr=half, fmt="o", color=BLUE, capsize=3)
        ax.set_xticks(place, _levels(grid))
        ax.margins(x=0.2)
    else:
        ax.fill_between(grid, effect.lower, effect.upper, color=BLUE, alpha=0.25, linewidth=0)
        ax.plot(grid, effect.mean, color=BLUE, linewidth=2)
        ax.set_xticks([0.0, 0.5, 1.0])
        ax.margins(x=0.02)
    ax.set_xlabel(name)
    bare(ax)


def _levels(grid: FloatArray) -> list[str]:
    return [f"{level:.2g}" for level in grid]
