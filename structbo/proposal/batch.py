"""Batches anywhere in a space: a strategy chooses among candidates from all over it.

The first point maximizes the criterion as if it were the only one, unless the strategy continues
the batch of pending points. With it, the candidates are the points where its search had got to, and
those of `candidate_points`.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from structbo.acquisition import (
    EST,
    AdditiveAcquisition,
    AdditiveUCB,
    Criterion,
    HalfLog,
    LogEI,
    best_means,
)
from structbo.acquisition.est import ESTIMATORS
from structbo.acquisition.exploration import as_schedule
from structbo.batches import (
    BatchStrategy,
    EstimationWidth,
    ExpectedImprovement,
    GroundSet,
    choose_batch,
)
from structbo.batches.criteria import Width
from structbo.data import Data
from structbo.draws import Draws, condition
from structbo.maximizers import Maximizer, MultiStart
from structbo.models.compilation import compiled
from structbo.proposal.candidates import candidate_points, is_new
from structbo.proposal.one_by_one import Proposal, propose
from structbo.proposal.search import NUM_PARENTS
from structbo.proposal.union import structure_of
from structbo.space import Levels

NUM_CANDIDATES = 480
"""Few enough that with the first point's and some pending ones they are 512 at most."""


def propose_batch(
    model: Callable[..., Any],
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

    What the strategy knows of the criterion is its exploration parameter, or its estimate of the
    maximum; for one that has neither, beta is that of `HalfLog`.

    Args:
        model: the NumPyro model.
        draws: posterior draws of its sites.
        data: padded observations.
        levels: per dimension, its legal coordinates, or None for a continuous one.
        num_points: how many points to propose.
        key: a JAX random key for the first point, which is then that of `propose`.
        pending: points being evaluated, shape (p, D).
        criterion: what makes a single point worth evaluating.
        strategy: what makes points worth evaluating together.
        key_batch: another key, for the other points.
        maximizer: how the criterion's best point is found.

    Returns:
        The candidates for each point, one for those that a strategy chose, and what the criterion's
        best one maximizes. In a small space there can be fewer points than asked for.
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
        references = jnp.full(len(posteriors.noise), beta)
        guide = AdditiveAcquisition(posteriors, references, union.components, AdditiveUCB())
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
    best = float(best_means(posteriors).mean())
    width, next_width = (
        _width(criterion, t, num_dims, best) for t in (num_observed, num_observed + size)
    )
    chosen = choose_batch(
        strategy,
        posteriors,
        data,
        points,
        size,
        key=key_strategy,
        width=width,
        next_width=None if callable(next_width) else next_width,
        criterion=ExpectedImprovement(best) if isinstance(criterion, LogEI) else None,
        first=0,
        pending=pending,
    )
    first = single.ranked if chosen[0] == 0 else [points[chosen[:1]]]
    return Proposal([*first, *points[chosen[1:], None]], single.acquisition)


def _width(criterion: Criterion, t: float, num_dims: int, best: float) -> Width:
    """How many deviations the bounds of a criterion are away from the mean after t observations."""
    if not isinstance(criterion, EST):
        beta = getattr(criterion, "beta", HalfLog())
        return math.sqrt(float(as_schedule(beta)(t, num_dims)))

    def width(ground: GroundSet) -> float:
        mean, deviation = jnp.asarray(ground.mean), jnp.asarray(ground.deviation)
        positive = jnp.maximum(deviation, 1e-9)
        maximum = ESTIMATORS[criterion.maximum](mean, positive, jnp.asarray(best))
        return EstimationWidth(float(maximum))(ground)

    return width


_conditioned = compiled("model")(condition)
