"""Programs of the next proposals are compiled in the background, before they are needed.

Programs of the first proposal by the model are compiled along with the last quasi-random points,
programs of the next padded size shortly before the observations reach it. A single `suggest` only
compiles the programs of one proposal.
"""

import math
import time
from collections.abc import Callable, Iterator

import numpy as np
from jaxtyping import Float

from structbo.data import Data, padded_size
from structbo.draws import Chain, Posteriors
from structbo.optimizer.settings import Settings
from structbo.proposal import Situation, prepared
from structbo.space import Levels

NUM_PROGRAMS = 10
"""Number of steps of `programs` for a first proposal, two of them for batches only."""
NUM_NEXT = 7
"""Number of steps for a next padded size, two of them for batches only."""
SOON = 13 / 16
"""Share of a padded size at which preparing the next one begins.

Many runs end before it, with 50, 100 or 200 evaluations.
"""
TIMES = 4.0
"""Bound on the time of all programs of a padded size, in multiples of the first proposal's time.

A run that will reach the next size within this time begins to prepare it at once.
"""


def programs(
    settings: Settings,
    chain: Chain,
    levels: Levels,
    x: Float[np.ndarray, "m D"],
    *,
    num_pending: int = 0,
    is_batch: bool = False,
    has_noise: bool = False,
) -> Iterator[None]:
    """Compiles the programs of a proposal in the background, one per iteration.

    Args:
        settings: the settings of the search.
        chain: the source of the draws.
        levels: the legal coordinates.
        x: points with the future number of observations, and arbitrary coordinates.
        num_pending: number of pending points.
        is_batch: whether there will be several points or pending ones.
        has_noise: whether there will be standard errors of values.
    """
    data = _table(x, has_noise)
    draws = yield from chain.prepared(data, warp=settings.warps)
    rest = np.zeros((num_pending, x.shape[1]))
    searched = _table(np.concatenate([x, rest]), has_noise)
    posteriors = Posteriors.prepared(settings.model, draws, searched)
    yield
    situation = Situation(posteriors, levels, pending=rest)
    yield from prepared(
        situation, settings.criterion, settings.batch, settings.maximizer, is_batch=is_batch
    )


def num_first(num_missing: int) -> int:
    """The number of programs of the first proposal to prepare when a number of points is missing.

    Example:
        >>> num_first(10), num_first(9), num_first(0)
        (0, 1, 10)
    """
    return max(0, NUM_PROGRAMS - num_missing)


def num_soon(num_observed: int, num_pending: int = 1, first: int = 0) -> int:
    """The number of programs of the next padded size to prepare at a number of observations.

    They are spread over the remaining asks before the size grows, but for the first one, which has
    just waited for the programs of this size.

    Args:
        num_observed: the observations so far.
        num_pending: how many points are being evaluated.
        first: the observations at the first proposal with this size.

    Example:
        >>> [num_soon(n) for n in (51, 52, 54, 62)], num_soon(56, num_pending=4)
        ([0, 1, 2, 7], 5)
        >>> [num_soon(n, first=60) for n in (60, 61, 63)]
        [0, 3, 7]
    """
    size = padded_size(num_observed)
    start = min(max(int(SOON * size), first + 1), size - 1)
    used = (num_observed + num_pending - start) / (size - start)
    return max(0, math.ceil(NUM_NEXT * used))


class Ahead:
    """The schedule on which a run prepares programs of its next padded size.

    Args:
        clock: returns the time in seconds.

    Example:
        >>> seconds = iter([0.0, 0.3, 60.0, 99.0])
        >>> ahead = Ahead(lambda: next(seconds))
        >>> ahead.begin(20, seconds=5.0)
        >>> ahead.due(21), ahead.due(22), ahead.due(54)  # fast, slow, and near its end
        (1, 0, 2)
    """

    def __init__(self, clock: Callable[[], float] = time.time) -> None:
        self._clock = clock
        self._begun: dict[int, tuple[int, float]] = {}
        self._longest = 0.0
        self._number = 0

    def __contains__(self, size: int) -> bool:
        """Whether there was a proposal with this padded size."""
        return size in self._begun

    def begin(self, num_observed: int, seconds: float) -> None:
        """Records the duration of the first proposal with this padded size, after its end."""
        self._begun[padded_size(num_observed)] = num_observed, self._clock()
        self._longest = max(self._longest, seconds)
        self._number = 0

    def due(self, num_observed: int, num_pending: int = 1) -> int:
        """The number of programs to have prepared by now; one more per call in a fast run.

        Args:
            num_observed: the observations so far, of a size that was begun.
            num_pending: how many points are being evaluated.

        Returns:
            The total number due; 0 if it has not changed since the last call.
        """
        size = padded_size(num_observed)
        first, begin = self._begun[size]
        left = (size - num_observed) * (self._clock() - begin)
        is_fast = left < TIMES * self._longest * (num_observed - first)
        number = max(self._number + is_fast, num_soon(num_observed, num_pending, first))
        before, self._number = self._number, min(number, NUM_NEXT)
        return self._number if self._number > before else 0


def _table(x: Float[np.ndarray, "m D"], has_noise: bool) -> Data:
    nothing = np.zeros(len(x))
    return Data.padded(x, nothing, nothing if has_noise else None)
