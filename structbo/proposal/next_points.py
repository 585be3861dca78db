"""The next points: one after the other, or by a strategy that chooses among candidates."""

import jax
from jax import Array

from structbo.acquisition import Criterion
from structbo.batches import BatchStrategy, Hallucination
from structbo.maximizers import Maximizer
from structbo.proposal.batch import from_candidates
from structbo.proposal.one_by_one import by_hallucination
from structbo.proposal.situation import Proposal, Situation


def propose(
    situation: Situation,
    num_points: int,
    key: Array,
    criterion: Criterion,
    strategy: BatchStrategy,
    maximizer: Maximizer,
) -> Proposal:
    """Proposes points to evaluate at once, the first by a criterion, the others by a strategy.

    `Hallucination` maximizes the criterion anywhere in the space for every point. Other strategies
    choose among candidates.

    Args:
        situation: what is known.
        num_points: how many points to propose.
        key: a JAX random key.
        criterion: how single points are judged.
        strategy: how several points are chosen.
        maximizer: finds the points where the criterion is largest.

    Returns:
        The candidates for each point, one for those that a strategy chose, and the acquisition that
        the first one maximizes. In a small space there can be fewer points than asked for.
    """
    key_single, key_batch = jax.random.split(key)
    if isinstance(strategy, Hallucination):
        return by_hallucination(situation, num_points, key_single, criterion, strategy, maximizer)
    single = by_hallucination(situation, 1, key_single, criterion, Hallucination(), maximizer)
    if num_points == 1 and not len(situation.pending):
        return single
    return from_candidates(situation, num_points, key_batch, criterion, strategy, single)
