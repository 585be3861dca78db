"""The next points, one after the other: each counts those before it as observed."""

from collections.abc import Iterator, Sequence

import jax.numpy as jnp
import numpy as np
from jax import Array

from structbo.acquisition import Criterion
from structbo.batches import Hallucination, Lie
from structbo.data import Data
from structbo.draws import Draws, condition
from structbo.maximizers import Maximizer
from structbo.models import Model
from structbo.models.foundation.accelerator import map_draws
from structbo.models.foundation.arrays import FloatArray
from structbo.models.foundation.compilation import compiled
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

    Pending points, and points after the first, count as observed, with the values that the strategy
    takes them to have.
    """
    data, new = situation.data, situation.pending
    ranked, acquisitions = [], []
    for key in keys:
        if len(new):
            data = _with_fantasies(situation, data, new, strategy.lie)
        points, acquisition = best_points(situation, data, key, criterion, maximizer)
        ranked.append(points)
        acquisitions.append(acquisition)
        new = points[:1]
    return Proposal(ranked, acquisitions[0])


def prepared_fantasies(situation: Situation, strategy: Hallucination) -> Iterator[None]:
    """Compiles what a few points need that count as observed, in the background, in one step.

    Args:
        situation: what will be known, with any values.
        strategy: how these points get their values.
    """
    if strategy.lie is None:
        data = situation.data
        few = Data.padded(np.asarray(data.x)[:1], np.zeros(1))
        _mean.prepare(situation.model, situation.draws, data, situation.union.rows, few.x)
    yield


def _with_fantasies(situation: Situation, data: Data, points: FloatArray, lie: Lie | None) -> Data:
    """The data with more observations, at their posterior means or with the value of a lie."""
    rows = np.asarray(data.mask)
    x, y = np.asarray(data.x)[rows], np.asarray(data.y)[rows]
    if lie is None:
        padded = Data.padded(points, np.zeros(len(points)))
        arguments = situation.model, situation.draws, data, situation.union.rows, padded.x
        values = np.asarray(_mean(*arguments))[: len(points)]
    else:
        values = np.full(len(points), lie(y))
    known = data.known_noise
    if known is not None:
        known = np.concatenate([np.asarray(known)[rows], np.zeros(len(points))])
    return Data.padded(np.concatenate([x, points]), np.concatenate([y, values]), known)


@compiled("model")
def _mean(
    model: Model, draws: Draws, data: Data, rows: Array | np.ndarray, x: Array | np.ndarray
) -> Array:
    """The posterior mean at points, averaged over draws."""
    points = jnp.asarray(x)
    posteriors = condition(model, draws, data, rows)
    return map_draws(lambda p: p.predict(points)[0], posteriors).mean(0)
