"""The next points, chosen sequentially or by a strategy among candidates.

In a sequence, every point treats the points before it and pending points as observed.
"""

from collections.abc import Iterator, Sequence

import jax
import numpy as np
from jax import Array
from jaxtyping import Float, Key

from structbo.acquisition import Criterion
from structbo.batches import BatchStrategy, Hallucination, Lie
from structbo.data import Data
from structbo.draws import Posteriors
from structbo.maximizers import Maximizer
from structbo.models.foundation.compilation import compiled
from structbo.proposal.batch import Proposal, from_candidates, prepared_candidates
from structbo.proposal.candidates import first_new, observed_points
from structbo.proposal.search import Situation, best_points, prepared_search


def propose(
    situation: Situation,
    num_points: int,
    key: Key[Array, ""],
    criterion: Criterion,
    strategy: BatchStrategy,
    maximizer: Maximizer,
) -> Proposal:
    """Proposes points to evaluate: the first by a criterion, the others by a strategy.

    `Hallucination` maximizes the criterion over the whole space for every point. Other strategies
    choose among candidates.

    Args:
        situation: the posterior, legal coordinates and pending points.
        num_points: how many points to propose.
        key: a JAX random key.
        criterion: the acquisition criterion of single points.
        strategy: the batch strategy.
        maximizer: finds the points where the criterion is largest.

    Returns:
        The candidates for each point (a single one for points chosen by a strategy) and the
        acquisition that the first point maximizes. A small space may have fewer points than asked
        for.
    """
    if isinstance(strategy, Hallucination):
        keys, _ = _split(num_points, key)
        return by_hallucination(situation, keys, criterion, strategy, maximizer)
    keys, key_batch = _split(1, key)
    single = by_hallucination(situation, keys, criterion, Hallucination(), maximizer)
    if num_points == 1 and not len(situation.pending):
        return single
    return from_candidates(situation, num_points, key_batch, criterion, strategy, single)


def prepared(
    situation: Situation,
    criterion: Criterion,
    strategy: BatchStrategy,
    maximizer: Maximizer,
    *,
    is_batch: bool,
) -> Iterator[None]:
    """Compiles the programs of `propose`, one per iteration.

    Args:
        situation: arrays of the shapes to come, with arbitrary values.
        criterion: the acquisition criterion of single points.
        strategy: the batch strategy.
        maximizer: finds the points where the criterion is largest.
        is_batch: whether there will be several points or pending ones.
    """
    yield from prepared_search(situation, criterion, maximizer)
    if is_batch and not isinstance(strategy, Hallucination):
        yield from prepared_candidates(situation)


@compiled("num_points")
def _split(num_points: int, key: Key[Array, ""]) -> tuple[list[Key[Array, ""]], Key[Array, ""]]:
    """A key for the search of each point, and one for the batch."""
    key_points, key_batch = jax.random.split(key)
    return list(jax.random.split(key_points, num_points)), key_batch


def by_hallucination(
    situation: Situation,
    keys: Sequence[Key[Array, ""]],
    criterion: Criterion,
    strategy: Hallucination,
    maximizer: Maximizer,
) -> Proposal:
    """Maximizes a criterion averaged over draws, once per key; see `propose`.

    Pending points and points chosen before count as observed, see `Hallucination`.
    """
    posteriors, new = situation.posteriors, situation.pending
    ranked, acquisitions = [], []
    for key in keys:
        if len(new):
            posteriors = _with_fantasies(posteriors, new, strategy.lie)
        points, acquisition = best_points(situation, posteriors, key, criterion, maximizer)
        ranked.append(points)
        acquisitions.append(acquisition)
        new = first_new(points, observed_points(posteriors.data))
    return Proposal(ranked, acquisitions[0])


def _with_fantasies(
    posteriors: Posteriors, points: Float[np.ndarray, "p D"], lie: Lie | None
) -> Posteriors:
    """The posteriors given more points, with unknown values (NaN) or a constant liar's value."""
    data = posteriors.data
    rows = np.asarray(data.mask)
    x, y = np.asarray(data.x)[rows], np.asarray(data.y)[rows]
    values = np.full(len(points), np.nan if lie is None else lie(y))
    known = data.known_noise
    if known is not None:
        known = np.concatenate([np.asarray(known)[rows], np.zeros(len(points))])
    more = Data.padded(np.concatenate([x, points]), np.concatenate([y, values]), known)
    return posteriors.given(more)
