"""Single values as users give them, as Python's own."""

import numbers
from typing import Any


def plain(value: Any) -> Any:
    """A scalar of NumPy (or JAX, or Torch) as Python's own."""
    return value.item() if getattr(value, "ndim", None) == 0 else value


def as_number(what: str, value: Any) -> float:
    """A real number as a float; errors call it `what`."""
    value = plain(value)
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        raise TypeError(f"{what} must be a number, got {value!r}")
    try:
        return float(value)
    except OverflowError:
        raise ValueError(f"{what} must fit into a float, got {value!r}") from None


def as_integer(what: str, value: Any) -> int:
    """A whole number as an int; errors call it `what`."""
    value = plain(value)
    if isinstance(value, numbers.Integral) and not isinstance(value, bool):
        return int(value)
    if not as_number(what, value).is_integer():
        raise ValueError(f"{what} must be an integer, got {value!r}")
    return int(value)
