"""Batches: a strategy chooses among candidates from the whole space.

The first point maximizes the criterion, unless the strategy continues the batch of pending points.
The candidates are this point, the other maxima found by its search, and the points of
`candidate_points`.
"""

from collections.abc import Iterator
from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jaxtyping import Float, Key

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
from structbo.models.foundation.compilation import compiled
from structbo.proposal.candidates import (
    best_observed,
    candidate_points,
    is_new,
    observed_points,
)
from structbo.proposal.search import Situation, Task, task_of

NUM_CANDIDATES, NUM_BEST = 480, 12
"""Numbers of candidates, and of the best points of the search for a single point among them.

They are at most 512 together with some pending points.
"""


class Proposal(NamedTuple):
    """The points to evaluate next.

    Args:
        ranked: for each point, its candidates in the unit cube, best first.
        acquisition: the acquisition function that the first point maximizes.
    """

    ranked: list[Float[np.ndarray, "_K D"]]
    acquisition: Acquisition


def from_candidates(
    situation: Situation,
    num_points: int,
    key: Key[Array, ""],
    criterion: Criterion,
    strategy: BatchStrategy,
    single: Proposal,
) -> Proposal:
    """Chooses points among candidates by a strategy; see `propose`.

    The strategy ranks candidates by a `JointCriterion` at the moments of the mixture of draws. For
    other criteria it uses the confidence bound of `Criterion.width`.

    Args:
        situation: the posterior, legal coordinates and pending points.
        num_points: how many points to choose.
        key: a JAX random key.
        criterion: the acquisition criterion of single points.
        strategy: the batch strategy.
        single: the proposal of a single point.

    Returns:
        The points, or the single proposal if there are no new candidates.
    """
    posteriors, num_observed = situation.posteriors, situation.num_observed
    data = posteriors.data
    num_dims = data.x.shape[1]
    key_candidates, key_strategy = jax.random.split(key)
    others = candidates(posteriors.is_projected, task_of(situation, posteriors, key_candidates))
    known = np.concatenate([observed_points(data), situation.pending])
    (best,) = single.ranked
    best = best[is_new(best, known)][:NUM_BEST]
    points = np.concatenate([best, np.asarray(others)])
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
    """Compiles the programs of `from_candidates`, one per iteration.

    Args:
        situation: arrays of the shapes to come, with arbitrary values.
    """
    posteriors, key = situation.posteriors, jax.random.key(0)
    others = candidates.prepare(posteriors.is_projected, task_of(situation, posteriors, key))
    yield
    GroundSet.prepare(posteriors.processes, np.asarray(others))
    yield


@compiled("is_projected")
def candidates(is_projected: bool, task: Task) -> Float[Array, "m D"]:
    """Points from the whole space to choose a batch from.

    Args:
        is_projected: whether the model has a projection, which rules out an additive acquisition.
        task: the arguments of the search.

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
