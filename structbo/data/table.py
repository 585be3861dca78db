"""Users' tables as arrays: points of the unit cube, values, and the sign of the direction."""

from typing import Any, Literal

import numpy as np
from jaxtyping import Float
from numpy.typing import ArrayLike

from structbo.data.values import column_numbers
from structbo.space import Space

Direction = Literal["minimize", "maximize"]
"""Whether small or large values are good."""


def direction_sign(direction: Direction) -> float:
    """1 for "maximize", -1 for "minimize"."""
    if direction not in ("minimize", "maximize"):
        raise ValueError(f'direction must be "minimize" or "maximize", got {direction!r}.')
    return 1.0 if direction == "maximize" else -1.0


def unit_points(space: Space, points: Any, name: str) -> Float[np.ndarray, "m D"]:
    """Points in the unit cube; None and empty tables give no rows."""
    if points is None or (hasattr(points, "__len__") and len(points) == 0):
        return np.empty((0, space.num_dims))
    return space.to_unit(points, name=name)


def observed_values(y: ArrayLike | None) -> Float[np.ndarray, " m"]:
    """Values as an array; a column (m, 1) is flattened, and None gives no values."""
    if y is None:
        return np.empty(0)
    values = column_numbers("y", y)
    if values.ndim != 1:
        raise ValueError(f"y must have shape (m,), got {values.shape}.")
    return values
