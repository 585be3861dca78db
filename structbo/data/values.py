"""Values of the objective as floats, whatever users hand in."""

import numbers
from decimal import Decimal
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from structbo.models.foundation.arrays import FloatArray

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
