"""Batches anywhere in a space: a strategy chooses among candidates from all over it.

The first point maximizes the criterion as if it were the only one, unless the strategy continues
the batch of pending points. The candidates are this point, the others that its search found, and
those of `candidate_points`.
"""

from collections.abc import Sequence
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from structbo.acquisition import (
    AdditiveAcquisition,
    AdditiveUCB,
    Criterion,
    HalfLog,
    JointCriterion,
)
from structbo.batches import BatchStrategy, CriterionScore, GroundSet, choose_batch
from structbo.batches.criteria import TINY_DEVIATION
from structbo.data import Data
from structbo.draws import Draws, condition
from structbo.maximizers import Maximizer, MultiStart
from structbo.models import Model
from structbo.models.compilation import compiled
from structbo.proposal.candidates import candidate_points, is_new
from structbo.proposal.one_by_one import Proposal, propose
from structbo.proposal.search import NUM_PARENTS
from structbo.proposal.union import structure_of
from structbo.space import Levels

NUM_CANDIDATES = 480
"""Few enough that with the first point's and some pending ones they are 512 at most."""


def propose_batch(
    model: Model,
    draws: Draws,
    data: Data,
    levels: Sequence[np.ndarray | None],
    num_points: int,
    key: Array,
    pending: np.ndarray,
    criterion: Criterion,
    strategy: BatchStrategy,
    key_batch: Array,
    *,
    maximizer: Maximizer = MultiStart(),
) -> Proposal:
    """Proposes points to evaluate at once, the first by a criterion, the others by a strategy.

    The strategy judges candidates by the formula of a `JointCriterion`, at the moments of the
    mixture of draws. For another criterion it uses the confidence bound of `Criterion.width`.

    Args:
        model: the NumPyro model.
        draws: posterior draws of its sites.
        data: padded observations.
        levels: per dimension, its legal coordinates, or None for a continuous one.
        num_points: how many points to propose.
        key: a JAX random key for the first point, which is then that of `propose`.
        pending: points being evaluated, shape (p, D).
        criterion: how single points are judged.
        strategy: how several points are chosen.
        key_batch: another key, for the other points.
        maximizer: how the criterion's best point is found.

    Returns:
        The candidates for each point, one for those that the strategy chose, and the acquisition
        that the first one maximizes. In a small space there can be fewer points than asked for.
    """
    union, landscape = structure_of(model, draws, data), None
    given = model, draws, data, levels, 1, key, pending, criterion
    single = propose(*given, maximizer=maximizer, union=union)
    if num_points == 1 and not len(pending):
        return single
    key_candidates, key_strategy = jax.random.split(key_batch)
    posteriors = _conditioned(model, draws, data)
    num_observed, num_dims = float(np.sum(data.mask)), data.x.shape[1]
    if not union.is_projected:
        beta = HalfLog()(num_observed, num_dims)
        contexts = jnp.full(len(posteriors.noise), beta)
        guide = AdditiveAcquisition(posteriors, contexts, union.components, AdditiveUCB())
        landscape = guide, union.layouts[0]
    best_first = np.argsort(-np.where(data.mask, data.y, -np.inf), stable=True)
    parents = jnp.asarray(data.x)[best_first[:NUM_PARENTS]]
    others = candidate_points(key_candidates, landscape, Levels.of(levels), parents, NUM_CANDIDATES)
    points = np.concatenate([*single.ranked, np.asarray(others)])
    known = np.concatenate([np.asarray(data.x)[np.asarray(data.mask)], pending])
    points = points[is_new(points, known)]
    size = min(num_points, len(points))
    if size == 0:
        return single
    contexts = single.acquisition.contexts
    score = None
    if isinstance(criterion, JointCriterion):
        score = CriterionScore(criterion, criterion.pooled(contexts))
    context = contexts if score is None else score.context

    def width(ground: GroundSet, num_observed: float) -> float:
        deviation = np.maximum(ground.deviation, TINY_DEVIATION)
        moments = jnp.asarray(ground.mean), jnp.asarray(deviation)
        return float(criterion.width(*moments, context, num_observed, num_dims))

    chosen = choose_batch(
        strategy,
        posteriors,
        data,
        points,
        size,
        key=key_strategy,
        width=partial(width, num_observed=num_observed),
        next_width=partial(width, num_observed=num_observed + size),
        criterion=score,
        first=0,
        pending=pending,
    )
    first = single.ranked if chosen[0] == 0 else [points[chosen[:1]]]
    return Proposal([*first, *points[chosen[1:], None]], single.acquisition)


_conditioned = compiled("model")(condition)
