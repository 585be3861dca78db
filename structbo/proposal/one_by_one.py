"""The next points, one after the other: each counts those before it as known."""

from collections.abc import Sequence

import numpy as np
from jax import Array

from structbo.acquisition import Criterion
from structbo.batches import Hallucination, Lie
from structbo.data import Data
from structbo.maximizers import Maximizer
from structbo.models.foundation.arrays import FloatArray
from structbo.proposal.search import best_points
from structbo.proposal.situation import Proposal, Situation


def by_hallucination(
    situation: Situation,
    keys: Sequence[Array],
    criterion: Criterion,
    strategy: Hallucination,
    maximizer: Maximizer,
) -> Proposal:
    """Maximizes a criterion, averaged over draws, a point for every key; see `propose`.

    Pending points, and the points chosen before, count as known, see `Hallucination`.
    """
    data, new = situation.data, situation.pending
    ranked, acquisitions = [], []
    for key in keys:
        if len(new):
            data = _with_fantasies(data, new, strategy.lie)
        points, acquisition = best_points(situation, data, key, criterion, maximizer)
        ranked.append(points)
        acquisitions.append(acquisition)
        new = points[:1]
    return Proposal(ranked, acquisitions[0])


def _with_fantasies(data: Data, points: FloatArray, lie: Lie | None) -> Data:
    """The data with more rows, whose values are unknown (NaN) or a lie."""
    rows = np.asarray(data.mask)
    x, y = np.asarray(data.x)[rows], np.asarray(data.y)[rows]
    values = np.full(len(points), np.nan if lie is None else lie(y))
    known = data.known_noise
    if known is not None:
        known = np.concatenate([np.asarray(known)[rows], np.zeros(len(points))])
    return Data.padded(np.concatenate([x, points]), np.concatenate([y, values]), known)
