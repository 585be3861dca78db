"""Slices of the function: one or two parameters vary, all others stay as they are at a point."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from structbo.posterior import Effect, Posterior
from structbo.posterior.effects import on_grids
from structbo.posterior.quadrature import Axis
from structbo.posterior.units import Description

NUM_POINTS = 33
"""Number of values per parameter, for a parameter that has as many."""


def slices_of(
    posterior: Posterior,
    which: Sequence[Sequence[str]],
    at: Any,
    *,
    num_points: int = NUM_POINTS,
    max_draws: int = 64,
) -> tuple[Effect, ...]:
    """The function along one or two parameters at a time, all others as at a point.

    Args:
        posterior: of a model without a projection.
        which: one or two names for each slice.
        at: the point, in the user's units.
        num_points: number of values per parameter, if it has as many; a category has all its own.
        max_draws: number of draws to average over; more are thinned evenly.

    Returns:
        One effect per slice, NaN where a constraint is broken.

    Raises:
        TypeError, ValueError: if the point is outside the space.
    """
    units, axes = posterior.units, Axis.all_of(posterior)
    (center,) = units.coordinates(at, name="at")
    grids = [
        [axes[posterior.names.index(name)].grid(num_points) for name in names] for names in which
    ]
    rows = []
    for names, grid in zip(which, grids, strict=True):
        mesh = np.stack(np.meshgrid(*grid, indexing="ij"), -1).reshape(-1, len(names))
        points = np.tile(center, (len(mesh), 1))
        points[:, [posterior.names.index(name) for name in names]] = mesh
        rows.append(points)
    points = np.concatenate(rows)
    is_allowed = np.isclose(units.space.snap(points), points, atol=1e-6).all(1)
    found = posterior.describe(units.space.from_unit(points), max_draws=max_draws)
    allowed = Description(*(np.where(is_allowed, value, np.nan) for value in found))
    return on_grids(posterior, which, grids, allowed)
