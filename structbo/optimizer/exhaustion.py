"""The end of a finite space."""

from collections.abc import Callable, Sequence
from typing import TypeVar

Item = TypeVar("Item")


class SpaceExhausted(ValueError):
    """A finite space has no more new points."""


def as_many_as_left(ask: Callable[[int], Sequence[Item]], n: int) -> Sequence[Item]:
    """Asks for n points; if fewer are left, asks for those.

    Args:
        ask: takes a number of points, and raises `SpaceExhausted` if fewer are left.
        n: maximum number of points.

    Example:
        >>> def ask(n):
        ...     if n > 2:
        ...         raise SpaceExhausted
        ...     return [0, 1][:n]
        >>> as_many_as_left(ask, 4), as_many_as_left(ask, 1)
        ([0, 1], [0])
    """
    for size in range(n, 0, -1):
        try:
            return ask(size)
        except SpaceExhausted:
            continue
    return []
