"""Effects of single parameters as curves, and of pairs as surfaces."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from structbo.models.foundation.arrays import FloatArray
from structbo.plots.figure import BLUE, ORANGE, axes_for, bare, drawable, literal, shortened
from structbo.plots.scales import edges, places, set_scale
from structbo.plots.slices import slices_of
from structbo.plots.sources import Learned, as_posterior
from structbo.posterior import Effect, Posterior

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MAX_COLUMNS = 3
NAME_LENGTH = 32
FEW_POINTS = 12
"""Up to this number, points of a curve, such as integers, are marked one by one."""


def plot_effects(
    posterior: Learned,
    *,
    at: Any = None,
    num_effects: int = 6,
    max_draws: int = 64,
    value_name: str = "objective",
    ax: "Axes | Sequence[Axes] | None" = None,
) -> "tuple[Axes, ...]":
    """Draws the function as a curve over each of the most influential parameters.

    A curve is the average over all other parameters, or the function with all other parameters as
    at a point. Parameters and function are in the user's units. Bands reach from the 5 % to the
    95 % quantile. The influence of a parameter is the standard deviation of its curve, so the
    average over a parameter that acts only through interactions is flat.

    Args:
        posterior: of a model without a projection; or an optimizer or a result, which has one.
        at: a point, in the user's units, which an orange mark shows. By default, curves are
            averages over all other parameters.
        num_effects: maximum number of parameters, the most influential first.
        max_draws: number of draws to average over.
        value_name: name of the objective, for the vertical axis.
        ax: where to draw, one Axes per curve. Default: a new figure.

    Returns:
        The axes.

    Raises:
        ValueError: if the model has a projection, the point is outside the space, or num_effects
            is not positive.
        ImportError: if Matplotlib is missing.
    """
    if num_effects < 1:
        raise ValueError(f"num_effects must be at least 1, got {num_effects}.")
    posterior = as_posterior(posterior)
    if at is None:
        effects = posterior.main_effects(max_draws=max_draws)
    else:
        names = [(name,) for name in posterior.names]
        effects = slices_of(posterior, names, at, max_draws=max_draws)
    shown = by_strength(effects)[:num_effects]
    axes = axes_for(ax, len(shown), (3.2, 2.7), columns=min(len(shown), MAX_COLUMNS), share=True)
    draw_curves(posterior, shown, axes, at=at, value_name=value_name)
    if ax is None and len(shown) < len(effects):
        title = f"{len(shown)} of {len(effects)} parameters, the most influential"
        axes[0].figure.suptitle(title)
    return axes


def by_strength(effects: Sequence[Effect]) -> list[Effect]:
    """Effects of single parameters, the curve that varies most first."""
    return sorted(effects, key=lambda effect: -float(np.nanstd(effect.mean)))


def draw_curves(
    posterior: Posterior,
    effects: Sequence[Effect],
    axes: "Sequence[Axes]",
    *,
    at: Any,
    value_name: str,
) -> None:
    """Draws effects of single parameters.

    Args:
        posterior: the posterior that the effects describe.
        effects: the effects, one per Axes.
        axes: where to draw.
        at: the point that slices go through, which is marked; None for averages.
        value_name: name of the objective, for the vertical axes.
    """
    labels = shortened([effect.names[0] for effect in effects], NAME_LENGTH)
    for panel, effect, label in zip(axes, effects, labels, strict=True):
        _draw_curve(panel, effect)
        panel.set_xlabel(label)
    for panel in axes[::MAX_COLUMNS]:
        panel.set_ylabel(_title(value_name, at))
    if at is not None:
        center, (mean, _) = posterior.units.coordinates(at, name="at"), posterior.predict(at)
        for panel, effect in zip(axes, effects, strict=True):
            x = _places_of(posterior, effect, 0, center)
            panel.plot(x, drawable(mean), "o", color=ORANGE, markersize=6, zorder=3)


def plot_surface(
    posterior: Learned,
    names: Sequence[str],
    *,
    at: Any = None,
    max_draws: int = 64,
    value_name: str = "objective",
    ax: "Sequence[Axes] | None" = None,
) -> "tuple[Axes, ...]":
    """Draws the function over two parameters, beside its standard deviation.

    It is averaged over all other parameters, or taken with all others as at a point. Parameters and
    function are in the user's units. Dots are the points that were evaluated.

    Args:
        posterior: of a model without a projection; or an optimizer or a result, which has one.
        names: of the two parameters, the horizontal one first.
        at: a point, in the user's units. By default, the other parameters are averaged over.
        max_draws: number of draws to average over.
        value_name: name of the objective, for the titles.
        ax: where to draw, two Axes. Default: a new figure.

    Returns:
        The two axes.

    Raises:
        ValueError: if names are not two, one is unknown, the point is outside the space, or the
            model has a projection.
        ImportError: if Matplotlib is missing.
    """
    if isinstance(names, str) or len(names) != 2:
        raise ValueError(f"names must be two parameters, got {names!r}.")
    posterior = as_posterior(posterior)
    if at is None:
        effect = posterior.effect(names, max_draws=max_draws)
    else:
        (effect,) = slices_of(posterior, [names], at, max_draws=max_draws)
    axes = axes_for(ax, 2, (5.2, 4.4))
    x, y = (edges(places(g, s), s) for g, s in zip(effect.grid, effect.scales, strict=True))
    seen_x, seen_y = (_places_of(posterior, effect, i, posterior.X) for i in range(2))
    for panel, values, title, colors in (
        (axes[0], effect.mean, _title(value_name, at), "viridis"),
        (axes[1], effect.deviation, "its standard deviation", "Blues"),
    ):
        # Cells drawn as vectors would have seams between them.
        image = panel.pcolormesh(x, y, drawable(values).T, cmap=colors, rasterized=True)
        panel.figure.colorbar(image, ax=panel)
        panel.scatter(seen_x, seen_y, s=10, color="white", edgecolors="black", linewidths=0.6)
        horizontal, vertical = shortened(names, NAME_LENGTH)
        panel.set(title=title, xlabel=horizontal, ylabel=vertical)
        set_scale(panel, "x", effect.grid[0], effect.scales[0])
        set_scale(panel, "y", effect.grid[1], effect.scales[1])
    return axes


def _title(value_name: str, at: Any) -> str:
    return literal(value_name) if at is not None else f"average {literal(value_name)}"


def _places_of(posterior: Posterior, effect: Effect, which: int, points: FloatArray) -> FloatArray:
    """Places of points of the unit cube, (m, D), along one axis of an effect, shape (m,)."""
    dim = posterior.names.index(effect.names[which])
    grid, scale = effect.grid[which], effect.scales[which]
    if scale == "labels":
        levels = posterior.units.parameter_coordinates(dim, grid)
        return np.interp(points[:, dim], levels, places(grid, scale))
    return np.asarray(posterior.units.parameter_values(dim, points[:, dim]), float)


def _draw_curve(ax: "Axes", effect: Effect) -> None:
    (grid,), (scale,) = effect.grid, effect.scales
    x = places(grid, scale)
    mean, lower, upper = map(drawable, (effect.mean, effect.lower, effect.upper))
    if scale == "labels":
        ax.errorbar(x, mean, yerr=[mean - lower, upper - mean], fmt="o", color=BLUE, capsize=3)
        ax.margins(x=0.2)
    else:
        are_few = len(grid) <= FEW_POINTS
        ax.fill_between(x, lower, upper, color=BLUE, alpha=0.25, linewidth=0)
        ax.plot(x, mean, color=BLUE, linewidth=2, marker="o" if are_few else "")
        ax.margins(x=0.05 if are_few else 0.02)
    set_scale(ax, "x", grid, scale)
    bare(ax)
