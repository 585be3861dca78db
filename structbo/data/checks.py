"""Checks of points in the unit cube and of their observations."""

import numpy as np
from jaxtyping import Float
from numpy.typing import ArrayLike

from structbo.data.data_frame import in_order_of
from structbo.data.values import column_numbers, real_numbers

REMEDY = "Map points with Space.to_unit first, or give fit(..., space=...) their space."


def checked_points(
    name: str, points: ArrayLike, num_dims: int | None = None
) -> Float[np.ndarray, "n D"]:
    """Points of the unit cube.

    Args:
        name: name of the argument in messages.
        points: an array of shape (n, D).
        num_dims: D, if known.

    Raises:
        ValueError: if the shape differs, or a point is outside the cube.
    """
    try:
        array = real_numbers(name, points)
    except ValueError as error:
        raise ValueError(f"{error} {REMEDY}") from None
    if array.ndim != 2 or array.shape[1] == 0:
        raise ValueError(f"{name} must have shape (n, D), got {array.shape}.")
    bad = ~((array >= 0.0) & (array <= 1.0))
    if bad.any():
        row, column = np.argwhere(bad)[0]
        raise ValueError(
            f"{name} must lie in the unit cube, got {name}[{row}, {column}] = "
            f"{array[row, column]}. {REMEDY}"
        )
    if num_dims is not None and array.shape[1] != num_dims:
        raise ValueError(f"{name} must have {num_dims} columns, got {array.shape[1]}.")
    return array


def checked_data(
    X: ArrayLike, y: ArrayLike
) -> tuple[Float[np.ndarray, "n D"], Float[np.ndarray, " n"]]:
    """Points of the unit cube, shape (n, D), and observations, shape (n,), as arrays.

    Rows of two pandas objects are matched by index.

    Raises:
        ValueError: if shapes or indices do not match, X leaves the unit cube, or a value is not
            finite.
    """
    points, values = checked_points("X", X), real_numbers("y", in_order_of(X, y))
    if values.shape != points.shape[:1]:
        raise ValueError(
            f"y must have one value per row of X, got shape {values.shape} for X of shape "
            f"{points.shape}."
        )
    bad = np.flatnonzero(~np.isfinite(values))
    if bad.size:
        raise ValueError(f"y must be finite, got y[{bad[0]}] = {values[bad[0]]}; drop failed runs.")
    return points, values


def checked_errors(
    sem: ArrayLike | None, y: Float[np.ndarray, " n"]
) -> Float[np.ndarray, " n"] | None:
    """Standard errors of observations y, with 0 for missing ones; None if not given.

    A column (n, 1) is flattened.

    Raises:
        ValueError: if the shape differs from y, or one is negative or infinite.
    """
    if sem is None:
        return None
    given = column_numbers("sem", sem)
    errors = np.where(np.isnan(given), 0.0, given)
    if errors.shape != y.shape:
        raise ValueError(f"sem must have one value per value of y, {y.shape}, got {errors.shape}.")
    bad = np.flatnonzero(~((errors >= 0.0) & np.isfinite(errors)))
    if bad.size:
        raise ValueError(
            f"sem must hold finite standard errors, 0 or more, got sem[{bad[0]}] = "
            f"{errors[bad[0]]}."
        )
    return errors
