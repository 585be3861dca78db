"""Conversion of users' scalars to Python scalars."""

import math
import numbers
import reprlib
from decimal import Decimal
from typing import Any

ROUND_OFF = 1e-6
"""Relative error of a number after single precision or a few sums."""


def plain(value: Any) -> Any:
    """A scalar of NumPy, JAX or Torch as a Python scalar; None for a masked value.

    >>> import numpy as np
    >>> plain(np.float32(0.5)), plain(np.ma.masked)
    (0.5, None)
    """
    is_scalar = getattr(value, "ndim", None) == 0
    is_time = getattr(getattr(value, "dtype", None), "kind", "") in ("m", "M")
    return value.tolist() if is_scalar and not is_time else value


def is_missing(value: Any) -> bool:
    """Whether a value is None, NaN, NaT, the NA of pandas, or masked."""
    value = plain(value)
    try:
        return value is None or bool(value != value)
    except TypeError:  # NA is neither equal to itself nor different
        return True
    except (ArithmeticError, RuntimeError, ValueError):  # an array
        return False


def as_number(what: str, value: Any) -> float:
    """A real number of any type as a float; errors call it `what`."""
    if type(value) is float:
        return value
    value = plain(value)
    if isinstance(value, bool) or not isinstance(value, numbers.Real | Decimal):
        raise TypeError(f"{what} must be a number, got {value!r}")
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if math.isinf(number) and number != value:
        raise ValueError(f"{what} must fit into a float, got {_shortened(value)}")
    return number


def as_integer(what: str, value: Any) -> int:
    """A whole number, possibly with round-off, as an int; errors call it `what`."""
    value = plain(value)
    if isinstance(value, numbers.Integral) and not isinstance(value, bool):
        return int(value)
    number = as_number(what, value)
    if not (math.isfinite(number) and abs(number - round(number)) <= ROUND_OFF):
        raise ValueError(f"{what} must be an integer, got {value!r}")
    return round(number)


def _shortened(value: Any) -> str:
    """A number, shortened for a message."""
    try:
        return reprlib.repr(value)
    except ValueError:  # Python refuses to print integers of more than 4300 digits
        return "an integer of thousands of digits"
