"""What proposals will need is compiled in the background, before they need it.

That is so for the first proposal by the model, along with the last quasi-random points, and for the
next padded size, shortly before the observations reach it. A single `suggest` looks no further than
its own proposal.
"""

from collections.abc import Iterator

import numpy as np

from structbo.data import Data, padded_size
from structbo.draws import Chain
from structbo.models.arrays import FloatArray
from structbo.optimizer.settings import Method
from structbo.proposal import Situation, prepared_search
from structbo.space import Levels

NUM_PROGRAMS = 7
"""The steps of `programs` for a first proposal."""
SOON = 13 / 16
"""When so much of a padded size is used, the next one is prepared. Many runs end before it, with
50, 100 or 200 evaluations."""


def programs(
    method: Method,
    chain: Chain,
    levels: Levels,
    x: FloatArray,
    *,
    num_pending: int = 0,
    has_noise: bool = False,
) -> Iterator[None]:
    """Compiles what a proposal needs, in the background: one program at every step.

    Args:
        method: how points are proposed.
        chain: that will draw.
        levels: the legal coordinates.
        x: as many points as will be observed, shape (m, D), with any coordinates.
        num_pending: how many points will be pending.
        has_noise: whether there will be standard errors of values.
    """
    data = _table(x, has_noise)
    draws = yield from chain.prepared(data, warp=method.warp)
    rest = np.zeros((num_pending, x.shape[1]))
    searched = _table(np.concatenate([x, rest]), has_noise)
    situation = Situation(method.model, draws, searched, levels, pending=rest)
    yield from prepared_search(situation, method.criterion, method.maximizer)


def num_first(num_missing: int) -> int:
    """How many programs of the first proposal should be prepared with so many points to go.

    Example:
        >>> num_first(7), num_first(6), num_first(0)
        (0, 1, 7)
    """
    return max(0, NUM_PROGRAMS - num_missing)


def num_soon(num_observed: int) -> int:
    """How many programs of the next padded size should be prepared with so many observations.

    Example:
        >>> num_soon(51), num_soon(53), num_soon(64)
        (0, 1, 12)
    """
    return max(0, num_observed - int(SOON * padded_size(num_observed)))


def _table(x: FloatArray, has_noise: bool) -> Data:
    nothing = np.zeros(len(x))
    return Data.padded(x, nothing, nothing if has_noise else None)
