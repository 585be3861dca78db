"""Batches anywhere in a space: a strategy chooses among candidates from all over it.

The first point maximizes the criterion as if it were the only one, unless the strategy continues
the batch of pending points. The candidates are this point, the others that its search found, and
those of `candidate_points`.
"""

from collections.abc import Iterator
from functools import partial
from typing import Any

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
from structbo.maximizers import Components, Layout
from structbo.models import ConditionedGP, Model
from structbo.models.foundation.compilation import compiled
from structbo.proposal.candidates import best_observed, candidate_points, is_new
from structbo.proposal.situation import Proposal, Situation
from structbo.space import Levels

NUM_CANDIDATES = 480
"""Few enough that with the first point's and some pending ones they are 512 at most."""


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
    data, num_observed = situation.data, situation.num_observed
    num_dims = data.x.shape[1]
    key_candidates, key_strategy = jax.random.split(key)
    posteriors, others = candidates(*_arguments(situation, key_candidates))
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
        posteriors,
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
    key = jax.eval_shape(jax.random.key, 0)
    posteriors, others = candidates.prepare(*_arguments(situation, key))
    yield
    GroundSet.prepare(posteriors, np.asarray(others))
    yield


def _arguments(situation: Situation, key: Any) -> tuple[Any, ...]:
    """Those of `candidates`."""
    union = situation.union
    return (
        situation.model,
        union.is_projected,
        situation.draws,
        situation.data,
        union.rows,
        union.components,
        union.layouts[0],
        situation.levels,
        situation.num_observed,
        key,
    )


@compiled("model", "is_projected")
def candidates(
    model: Model,
    is_projected: bool,
    draws: Draws,
    data: Data,
    rows: Array | np.ndarray,
    components: Components,
    layout: Layout,
    levels: Levels,
    num_observed: Array | float,
    key: Array,
) -> tuple[ConditionedGP, Array]:
    """The posteriors of draws, and points all over the space to choose a batch from.

    Args:
        model: the NumPyro model.
        is_projected: whether components share no axes: there is no additive acquisition then.
        draws: posterior draws of the model's sites.
        data: padded observations.
        rows: which rows of each draw's decomposition are components, shape (S, R).
        components: those of all draws.
        layout: the junction tree of all of them.
        levels: the legal coordinates.
        num_observed: how many observations there are.
        key: a JAX random key.

    Returns:
        The posteriors, stacked along the first axis, and shape (NUM_CANDIDATES, D).
    """
    posteriors = condition(model, draws, data, rows)
    landscape = None
    if not is_projected:
        beta = HalfLog()(num_observed, data.x.shape[1])
        contexts = jnp.full(len(posteriors.noise), beta)
        landscape = AdditiveAcquisition(posteriors, contexts, components, AdditiveUCB()), layout
    parents = best_observed(data)
    return posteriors, candidate_points(key, landscape, levels, parents, NUM_CANDIDATES)
