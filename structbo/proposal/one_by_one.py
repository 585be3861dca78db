"""The next points, one after the other: each counts those before it as observed."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from structbo.acquisition import (
    Acquisition,
    AdditiveAcquisition,
    AdditiveCriterion,
    Criterion,
    LogEI,
)
from structbo.batches import Lie
from structbo.data import Data
from structbo.draws import Draws, condition
from structbo.maximizers import Maximizer, MultiStart
from structbo.models import Model
from structbo.models.compilation import compiled
from structbo.proposal.search import search_starts
from structbo.proposal.union import UnionGraph, structure_of
from structbo.space import Levels


def propose(
    model: Model,
    draws: Draws,
    data: Data,
    levels: Sequence[np.ndarray | None],
    num_points: int,
    key: Array,
    pending: np.ndarray,
    criterion: Criterion = LogEI(),
    lie: Lie | None = None,
    *,
    maximizer: Maximizer = MultiStart(),
    union: UnionGraph | None = None,
) -> "Proposal":
    """Maximizes a criterion, averaged over draws, point after point.

    Pending points, and points after the first, count as observed.

    Args:
        model: the NumPyro model.
        draws: posterior draws of its sites.
        data: padded observations.
        levels: per dimension, its legal coordinates, or None for a continuous one.
        num_points: how many points to propose.
        key: a JAX random key.
        pending: points being evaluated, shape (p, D).
        criterion: how points are judged, by default by the expected improvement.
        lie: the value that pending points and points after the first are taken to have, a function
            of the observed values; by default they have their posterior means, averaged over draws.
        maximizer: finds the points where the criterion is largest.
        union: the result of `structure_of` for these draws, if it is known already.

    Returns:
        The candidates for each point, and what the first one maximizes.
    """
    legal = Levels.of(levels)
    union = structure_of(model, draws, data) if union is None else union
    num_observed = float(np.sum(data.mask))
    is_additive = isinstance(criterion, AdditiveCriterion) and union.is_everything
    search = partial(search_starts, model, maximizer, is_additive, criterion)
    if len(pending):
        data = _with_fantasies(model, draws, data, pending, lie)
    ranked: list[np.ndarray] = []
    acquisitions: list[Acquisition] = []
    for key_point in jax.random.split(key, num_points):
        if ranked:
            data = _with_fantasies(model, draws, data, ranked[-1][:1], lie)
        acquisition, state = search(
            draws, data, union.components, union.layouts, legal, num_observed, key_point
        )
        acquisition = replace(acquisition, criterion=criterion)
        acquisitions.append(acquisition)
        components = union.components
        function = AdditiveAcquisition.of(acquisition, components) if is_additive else acquisition
        ranked.append(np.asarray(maximizer(function, state)))
    return Proposal(ranked, acquisitions[0])


class Proposal(NamedTuple):
    """The points to evaluate next.

    Args:
        ranked: for each point its candidates in the unit cube, best first, shape (K, D).
        acquisition: what the first point maximizes.
    """

    ranked: list[np.ndarray]
    acquisition: Acquisition


def _with_fantasies(
    model: Model, draws: Draws, data: Data, points: np.ndarray, lie: Lie | None
) -> Data:
    """The data with more observations, at their posterior means or with the value of a lie."""
    rows = np.asarray(data.mask)
    x, y = np.asarray(data.x)[rows], np.asarray(data.y)[rows]
    if lie is None:
        padded = Data.padded(points, np.zeros(len(points)))
        values = np.asarray(_mean(model, draws, data, jnp.asarray(padded.x)))[: len(points)]
    else:
        values = np.full(len(points), lie(y))
    return Data.padded(np.concatenate([x, points]), np.concatenate([y, values]))


@compiled("model")
def _mean(model: Model, draws: Draws, data: Data, x: Array) -> Array:
    """The posterior mean at points, averaged over draws."""
    return jax.lax.map(lambda p: p.predict(x)[0], condition(model, draws, data)).mean(0)
