"""Announcements of suggestions that take minutes, before they begin."""

import logging
import math

MANY_ROWS, ROWS_PER_MINUTE = 10_000, 15_000
"""A suggestion from more rows than the first is announced, with its time on two cores."""
MANY_DIMS, SQUARES_PER_MINUTE = 3_000, 5e6
"""The same for more dimensions than the first: the square of their number per minute."""
_logger = logging.getLogger(__name__)


def announce_wait(num_rows: int, num_dims: int) -> None:
    """Logs a warning if the first suggestion of a size takes minutes.

    Args:
        num_rows: number of observations.
        num_dims: the number of dimensions D.

    Example:
        >>> announce_wait(50, 100)
    """
    minutes = math.ceil(num_rows / ROWS_PER_MINUTE + num_dims**2 / SQUARES_PER_MINUTE)
    if num_rows > MANY_ROWS:
        _logger.warning(
            "a suggestion from %d observations takes about %d minutes: pass fewer rows, such as "
            "the best ones and a random sample of the others, to be faster.",
            num_rows,
            minutes,
        )
    elif num_dims > MANY_DIMS:
        _logger.warning(
            "a suggestion for %d parameters takes about %d minutes: fix parameters that do not "
            "matter, or let structbo.HierarchicalDiagonalSampling find those that do, to be "
            "faster.",
            num_dims,
            minutes,
        )
