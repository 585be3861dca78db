"""Checks of observations that users hand in, with messages that name the fault and its place."""

import numbers
from decimal import Decimal
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from structbo.data.data_frame import in_order_of
from structbo.models.arrays import FloatArray

NUMBERS = "biuf"
"""Kinds of NumPy's types that are real numbers."""


def real_numbers(name: str, values: ArrayLike) -> FloatArray:
    """Values as an array of floats, of any shape; None is NaN.

    Raises:
        ValueError: if one is complex, a string, or no number at all.
    """
    try:
        given = np.asarray(values)
        is_text = given.dtype.kind == "O" and any(isinstance(v, str | complex) for v in given.flat)
        if given.dtype.kind in NUMBERS + "O" and not is_text:
            return np.asarray(values, float)
    except (TypeError, ValueError):
        pass
    raise ValueError(f"{name} must be numbers, got {values!r}.")


def one_number(name: str, value: Any, *, hint: str = "") -> float:
    """A number, or an array of just one, as a float; None is NaN.

    Args:
        name: what to call the value in the message.
        value: anything.
        hint: the end of the message.

    Raises:
        ValueError: if it is anything else.

    Example:
        >>> one_number("value", np.array([2.5])), one_number("value", None)
        (2.5, nan)
    """
    try:
        number = value.item() if hasattr(value, "item") else value
    except (RuntimeError, TypeError, ValueError):  # an array of several
        number = value
    if number is None:
        return np.nan
    if not isinstance(number, numbers.Real | Decimal):
        raise ValueError(f"{name} must be one number, got {value!r}{hint}.")
    return float(number)


def checked_points(name: str, points: ArrayLike, num_dims: int | None = None) -> FloatArray:
    """Points of the unit cube, shape (n, D).

    Args:
        name: what to call them in messages.
        points: an array of this shape.
        num_dims: D, if it is known.

    Raises:
        ValueError: if the shape is another one, or a point is outside of the cube.
    """
    array = real_numbers(name, points)
    if array.ndim != 2 or array.shape[1] == 0:
        raise ValueError(f"{name} must have shape (n, D), got {array.shape}.")
    bad = ~((array >= 0.0) & (array <= 1.0))
    if bad.any():
        row, column = np.argwhere(bad)[0]
        raise ValueError(
            f"{name} must lie in the unit cube, got {name}[{row}, {column}] = "
            f"{array[row, column]}; map points with Space.to_unit first."
        )
    if num_dims is not None and array.shape[1] != num_dims:
        raise ValueError(f"{name} must have {num_dims} columns, got {array.shape[1]}.")
    return array


def checked_data(X: ArrayLike, y: ArrayLike) -> tuple[FloatArray, FloatArray]:
    """Points of the unit cube, shape (n, D), and observations, shape (n,).

    Where both are tables of pandas, rows belong together by their index.

    Raises:
        ValueError: if shapes or indices do not match, X leaves the unit cube, or a value is not
            finite.
    """
    points, values = checked_points("X", X), real_numbers("y", in_order_of(X, y))
    if values.shape != points.shape[:1]:
        raise ValueError(
            f"y must have one value per row of X: X has shape {points.shape}, "
            f"y has shape {values.shape}."
        )
    bad = np.flatnonzero(~np.isfinite(values))
    if bad.size:
        raise ValueError(f"y must be finite, got y[{bad[0]}] = {values[bad[0]]}; drop failed runs.")
    return points, values
