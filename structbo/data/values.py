"""Values of the objective as floats."""

import math
import warnings
from typing import Any

import numpy as np
from jaxtyping import Float
from numpy.typing import ArrayLike

from structbo.space.scalars import as_number, is_missing, plain

NUMBERS = "biuf"
"""NumPy's type kinds of real numbers."""
MISSING = {"none", "null", "nan", "na", "n/a", "<na>", "nat", "--"}
"""Texts for missing values, as programs write them, in lower case."""
FAILED = MISSING | {"failed", "inf", "-inf"}
"""Texts for the value of a failed evaluation, in lower case."""


def real_numbers(name: str, values: ArrayLike) -> Float[np.ndarray, "*shape"]:
    """Values as an array of floats, of any shape; missing values of any form become NaN.

    Raises:
        ValueError: if one is not a real number, or too large for a float.

    Example:
        >>> real_numbers("y", [1, None, np.ma.masked])
        array([ 1., nan, nan])
    """
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message=".*masked element to nan")
            given: Any = np.ma.asanyarray(values)
    except (TypeError, ValueError):
        raise ValueError(f"{name} must be numbers, got {values!r}.") from None
    if given.dtype.kind in NUMBERS:
        return np.ma.filled(given.astype(float), np.nan)
    numbers, is_masked = np.full(given.shape, np.nan), np.ma.getmaskarray(given)
    for place, value in np.ndenumerate(given.data):
        try:
            numbers[place] = np.nan if is_masked[place] else _number(name, value)
        except TypeError:
            raise ValueError(f"{name} must be numbers, got {plain(value)!r}.") from None
    return numbers


def column_numbers(name: str, values: ArrayLike) -> Float[np.ndarray, "*shape"]:
    """Numbers as `real_numbers` reads them; a column (m, 1) gets the shape (m,).

    Example:
        >>> column_numbers("y", [[1.0], [2.0]])
        array([1., 2.])
    """
    numbers = real_numbers(name, values)
    return numbers[:, 0] if numbers.ndim == 2 and numbers.shape[1] == 1 else numbers


def one_number(name: str, value: Any, *, hint: str = "") -> float:
    """A number, or an array with one element, as a float; missing values of any form become NaN.

    Args:
        name: name of the value in the message.
        value: anything.
        hint: the end of the message.

    Raises:
        ValueError: if the value is not one number, or too large for a float.

    Example:
        >>> one_number("value", np.array([2.5])), one_number("value", None)
        (2.5, nan)
    """
    try:
        return _number(name, _only(value))
    except TypeError:
        raise ValueError(f"{name} must be one number, got {value!r}{hint}.") from None


def as_float(text: str) -> float | None:
    """A number with a decimal point; None for any other text.

    Example:
        >>> as_float("48.7"), as_float("48,7")
        (48.7, None)
    """
    try:
        return None if "_" in text else float(text.replace("\N{MINUS SIGN}", "-"))
    except ValueError:
        return None


def _number(name: str, value: Any) -> float:
    """One number as a float; NaN if it is missing. Raises as `as_number` does."""
    value = plain(value)
    if is_missing(value):
        return np.nan
    return float(value) if isinstance(value, bool) else as_number(name, value)


def _only(value: Any) -> Any:
    """The element of an array with one element; other values unchanged."""
    if math.prod(getattr(value, "shape", (0,))) != 1 or not hasattr(value, "tolist"):
        return value
    found = plain(value) if value.shape == () else value.tolist()
    while isinstance(found, list):
        (found,) = found
    return found
