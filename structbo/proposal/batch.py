"""Batches anywhere in a space: a strategy chooses among candidates from all over it.

The first point maximizes the criterion as if it were the only one, unless the strategy continues
the batch of pending points. The candidates are this point, the others that its search found, and
the points of `candidate_points`.
"""

from collections.abc import Iterator
from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from structbo.acquisition import (
    Acquisition,
    AdditiveAcquisition,
    AdditiveUCB,
    Criterion,
    HalfLog,
    JointCriterion,
)
from structbo.batches import BatchStrategy, CriterionScore, GroundSet, choose_batch
from structbo.batches.criteria import TINY_DEVIATION
from structbo.models.foundation.arrays import FloatArray
from structbo.models.foundation.compilation import compiled
from structbo.proposal.candidates import best_observed, candidate_points, is_new
from structbo.proposal.search import Situation, Task, task_of

NUM_CANDIDATES = 480
"""Few enough that with the first point's and some pending ones they are 512 at most."""


class Proposal(NamedTuple):
    """The points to evaluate next.

    Args:
        ranked: for each point its candidates in the unit cube, best first, shape (K, D).
        acquisition: what the first point maximizes.
    """

    ranked: list[FloatArray]
    acquisition: Acquisition


def from_candidates(
    situation: Situation,
    num_points: int,
    key: Array,
    criterion: Criterion,
    strategy: BatchStrategy,
    single: Proposal,
) -> Proposal:
    """Chooses points among candidates by a strategy; see `propose`.

    The strategy judges candidates by the formula of a `JointCriterion`, at the moments of the
    mixture of draws. For another criterion it uses the confidence bound of `Criterion.width`.

    Args:
        situation: what is known.
        num_points: how many points to choose.
        key: a JAX random key.
        criterion: how single points are judged.
        strategy: how several points are chosen.
        single: the proposal of one point alone.

    Returns:
        The points; if there are no new candidates, the proposal of one point.
    """
    posteriors, num_observed = situation.posteriors, situation.num_observed
    data = posteriors.data
    num_dims = data.x.shape[1]
    key_candidates, key_strategy = jax.random.split(key)
    others = candidates(posteriors.is_projected, task_of(situation, posteriors, key_candidates))
    points = np.concatenate([*single.ranked, np.asarray(others)])
    known = np.concatenate([np.asarray(data.x)[np.asarray(data.mask)], situation.pending])
    points = points[is_new(points, known)]
    size = min(num_points, len(points))
    if size == 0:
        return single
    context = single.acquisition.contexts
    score = None
    if isinstance(criterion, JointCriterion):
        context = criterion.pooled(context)
        score = CriterionScore(criterion, context)

    def width(ground: GroundSet, num_observed: float) -> float:
        deviation = np.maximum(ground.deviation, TINY_DEVIATION)
        mean, deviation = jax.device_put((ground.mean, deviation))
        return float(criterion.width(mean, deviation, context, num_observed, num_dims))

    chosen = choose_batch(
        strategy,
        posteriors.processes,
        data,
        points,
        size,
        key=key_strategy,
        width=partial(width, num_observed=num_observed),
        next_width=partial(width, num_observed=num_observed + size),
        criterion=score,
        first=0,
        pending=situation.pending,
    )
    first = single.ranked if chosen[0] == 0 else [points[chosen[:1]]]
    return Proposal([*first, *points[chosen[1:], None]], single.acquisition)


def prepared_candidates(situation: Situation) -> Iterator[None]:
    """Compiles what `from_candidates` needs, in the background: one program at every step.

    Args:
        situation: what will be known, with any values.
    """
    posteriors, key = situation.posteriors, jax.eval_shape(jax.random.key, 0)
    others = candidates.prepare(posteriors.is_projected, task_of(situation, posteriors, key))
    yield
    GroundSet.prepare(posteriors.processes, np.asarray(others))
    yield


@compiled("is_projected")
def candidates(is_projected: bool, task: Task) -> Array:
    """Points all over the space to choose a batch from.

    Args:
        is_projected: whether components share no axes: there is no additive acquisition then.
        task: what a search is given.

    Returns:
        Shape (NUM_CANDIDATES, D).
    """
    landscape = None
    if not is_projected:
        beta = HalfLog()(task.num_observed, task.data.x.shape[1])
        contexts = jnp.full(len(task.processes.noise), beta)
        criterion = AdditiveUCB()
        acquisition = AdditiveAcquisition(task.processes, contexts, task.components, criterion)
        landscape = acquisition, task.layouts[0]
    parents = best_observed(task.data)
    return candidate_points(task.key, landscape, task.levels, parents, NUM_CANDIDATES)
