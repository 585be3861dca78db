"""Checks of arguments, with messages that name the argument and what was given."""

import numpy as np
from jax.core import Tracer
from jax.typing import ArrayLike


def is_concrete(value: ArrayLike) -> bool:
    """Whether the numbers are known, and not traced."""
    return not isinstance(value, Tracer)


def checked_count(name: str, value: object) -> int:
    """An integer of at least 1.

    Raises:
        ValueError: if it is anything else.

    Example:
        >>> checked_count("n", 3)
        3
    """
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 1:
        raise ValueError(f"{name} must be an integer of at least 1, got {value!r}.")
    return int(value)


def check_positive(name: str, value: ArrayLike, *, largest: float = np.finfo(float).max) -> None:
    """Checks numbers where they are known, and not random and traced.

    Raises:
        ValueError: if one of them is not positive, or larger than the largest that is allowed.
    """
    if not is_concrete(value):
        return
    numbers = np.asarray(value, float)
    if not ((numbers > 0.0) & (numbers <= largest)).all():
        kind = "positive" if largest == np.inf else "positive and finite"
        raise ValueError(f"{name} must be {kind}, got {value}.")
