"""The search for one point: an acquisition, maximized from the maxima of additive ones.

Message passing finds global maxima of additive acquisitions. Together with random points and
perturbations of the best observed points, they are the candidates that the maximizer starts from.

Message passing ignores the residual, components with too many members, and projections, whose
components share no axes. It ignores constraints too: its maxima are moved to feasible points.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jaxtyping import Float, Int, Key

from structbo.acquisition import (
    Acquisition,
    AdditiveAcquisition,
    AdditiveCriterion,
    AdditiveUCB,
    Criterion,
)
from structbo.acquisition.additive_criterion import posterior_of
from structbo.data import Data
from structbo.draws import Posteriors
from structbo.maximizers import (
    Components,
    Imputed,
    Layout,
    Maximizer,
    Search,
    at_places,
    coarse_to_fine,
    maxima_on_same_grids,
    ranked,
)
from structbo.models import ConditionedGP, OuterBox
from structbo.models.foundation.accelerator import map_draws
from structbo.models.foundation.compilation import compiled
from structbo.proposal.candidates import best_observed, perturbed
from structbo.space import Levels

NUM_ROUNDS = 2
NUM_DRAW_STARTS = 3
NUM_RANDOM = 256


@dataclass(frozen=True)
class Situation:
    """The posterior of the function, the legal coordinates and the pending points.

    Args:
        posteriors: posteriors of the draws, given the observations.
        levels: the legal coordinates.
        pending: points being evaluated.
    """

    posteriors: Posteriors
    levels: Levels
    pending: Float[np.ndarray, "p D"]

    @property
    def num_observed(self) -> float:
        """The number of observations, without pending points."""
        return float(np.sum(self.posteriors.data.mask))


class Task(NamedTuple):
    """The arguments of the compiled search.

    Args:
        processes: the posteriors of the draws, stacked along the first axis.
        data: the observations, and points that count as observed.
        components: the components of all draws.
        layouts: the junction tree of all components, and the trees of single draws, stacked.
        levels: the legal coordinates.
        num_observed: how many observations there are.
        key: a JAX random key.
    """

    processes: ConditionedGP
    data: Data
    components: Components
    layouts: tuple[Layout, Layout]
    levels: Levels
    num_observed: Float[Array, ""] | float
    key: Key[Array, ""]


def best_points(
    situation: Situation,
    posteriors: Posteriors,
    key: Key[Array, ""],
    criterion: Criterion,
    maximizer: Maximizer,
) -> tuple[Float[np.ndarray, "K D"], Acquisition]:
    """The points that maximize a criterion, averaged over draws.

    Args:
        situation: the posterior, legal coordinates and pending points.
        posteriors: posteriors given the observations and points that count as observed.
        key: a JAX random key.
        criterion: how points are judged.
        maximizer: finds the points.

    Returns:
        Points of the unit cube, and the acquisition. The maximizer's points come first, the best of
        them before others, and then the candidates in the same order. They are next if all maxima
        are evaluated already, as in a corner of the cube or a finite space.
    """
    is_additive = _is_additive(situation, criterion)
    task = task_of(situation, posteriors, key)
    acquisition, search = search_starts(maximizer, is_additive, criterion, task)
    acquisition = replace(acquisition, criterion=criterion)
    function = _maximized(acquisition, search, is_additive)
    return np.concatenate([maximizer(function, search), search.candidates]), acquisition


def prepared_search(
    situation: Situation, criterion: Criterion, maximizer: Maximizer
) -> Iterator[None]:
    """Compiles the programs of `best_points`, one per iteration.

    Args:
        situation: arrays of the shapes to come, with arbitrary values.
        criterion: the acquisition criterion.
        maximizer: finds the points.
    """
    is_additive = _is_additive(situation, criterion)
    task = task_of(situation, situation.posteriors, jax.random.key(0))
    acquisition, search = search_starts.prepare(maximizer, is_additive, criterion, task)
    yield
    acquisition = replace(acquisition, criterion=criterion)
    maximizer.prepare(_maximized(acquisition, search, is_additive), search)
    yield


def _is_additive(situation: Situation, criterion: Criterion) -> bool:
    """Whether message passing can maximize the criterion as it is."""
    levels = situation.levels
    is_free = levels.half_spaces is None and levels.conditions is None
    is_of_terms = isinstance(criterion, AdditiveCriterion)
    return is_of_terms and situation.posteriors.is_everything and is_free


def task_of(situation: Situation, posteriors: Posteriors, key: Key[Array, ""]) -> Task:
    """The arguments of a search; posteriors may count more points as observed than situation."""
    return Task(
        processes=posteriors.processes,
        data=posteriors.data,
        components=posteriors.components,
        layouts=posteriors.layouts,
        levels=situation.levels,
        num_observed=situation.num_observed,
        key=key,
    )


@compiled("maximizer", "is_additive")
def search_starts(
    maximizer: Maximizer, is_additive: bool, criterion: Criterion, task: Task
) -> tuple[Acquisition, Search]:
    """The acquisition of a criterion, and the state of the search for the maximizer.

    Args:
        maximizer: the maximizer whose starts are computed.
        is_additive: whether message passing can maximize the criterion as it is.
        criterion: how points are judged.
        task: the arguments of the search.

    Returns:
        The acquisition, and the search with maxima and starts.
    """
    keys = jax.random.split(task.key, 5)
    key_random, key_parents, key_starts, key_criterion, key_maximizer = keys
    posteriors, data, levels = task.processes, task.data, task.levels
    parents = best_observed(data)
    spread = levels.even(jax.random.uniform(key_random, (NUM_RANDOM, data.x.shape[1])))
    children = jax.vmap(levels.nearest)(perturbed(key_parents, parents, NUM_RANDOM))

    union, single = task.layouts
    search = Search(
        levels=levels,
        candidates=jnp.concatenate([spread, children, parents]),
        best=parents[0],
        num_observed=task.num_observed,
        components=task.components,
        layouts=single,
        key=key_criterion,
    )
    is_projected = posteriors.covariance.decomposition.projection is not None
    is_guide = isinstance(criterion, AdditiveCriterion) and not is_projected
    guide = (criterion if is_guide else AdditiveUCB()).of(posteriors, search)
    num_starts = len(guide.which) if is_additive else NUM_DRAW_STARTS
    global_maxima = _message_passing_maxima(guide, search, union, num_starts)
    # Estimates of the maximum of the function depend on the best candidates.
    search = search._replace(candidates=jnp.concatenate([global_maxima, search.candidates]))
    acquisition = guide if is_guide else criterion.of(posteriors, search)
    search = search._replace(maxima=global_maxima, key=key_starts)
    function = _maximized(acquisition, search, is_additive)
    search = search._replace(candidates=ranked(function, search.candidates))
    starts = maximizer.starts(function, search)
    return acquisition, search._replace(starts=starts, key=key_maximizer)


def _maximized(
    acquisition: Acquisition, search: Search, is_additive: bool
) -> Acquisition | AdditiveAcquisition | Imputed:
    """The function for the maximizer: additive if message passing can maximize it directly."""
    if is_additive:
        return AdditiveAcquisition.of(acquisition, search.components)
    if search.levels.conditions is not None:
        return Imputed(acquisition, search.levels)
    return acquisition


def _message_passing_maxima(
    guide: Acquisition, search: Search, union: Layout, num_draws: int
) -> Float[Array, "k D"]:
    """Maxima of an additive acquisition, averaged over draws and of the first few draws alone."""
    num_draws = min(num_draws, len(guide.which))
    if posterior_of(guide.draws).covariance.decomposition.projection is not None:
        return _maxima_of_projections(guide, search, num_draws)
    function = AdditiveAcquisition.of(guide, search.components)
    first = jnp.asarray(guide.which[:num_draws])
    layouts = jax.tree.map(
        lambda one, single: jnp.concatenate([jnp.asarray(one)[None], jnp.asarray(single)[first]]),
        union,
        search.layouts,
    )

    def tables(
        grids: Float[Array, "D G"], places: Int[Array, "K D G"]
    ) -> tuple[Float[Array, " K _F *_grid"], ...]:
        by_draw = function.tables_by_draw(grids)
        each = tuple(jnp.concatenate([t.mean(0)[None], t[:num_draws]]) for t in by_draw)
        scopes = tuple(map(jnp.asarray, search.components.groups))
        return map_draws(lambda item: at_places(item[0], scopes, item[1]), (each, places))

    num_rounds = jnp.where((search.levels.counts > union.num_grid).any(), 2, 1)
    points, _ = maxima_on_same_grids(tables, layouts, search.levels, search.best, num_rounds)
    return jax.vmap(search.levels.nearest)(points)


def _maxima_of_projections(
    guide: Acquisition, search: Search, num_draws: int
) -> Float[Array, "{num_draws} D"]:
    """Maxima of the first few draws, each over its outer box, since draws share no axes."""

    def of_draw(index: Int[Array, ""]) -> Float[Array, " D"]:
        draw, context, which = jax.tree.map(
            lambda leaf: jnp.asarray(leaf)[index], (guide.draws, guide.contexts, guide.which)
        )
        layout = jax.tree.map(lambda leaf: jnp.asarray(leaf)[which], search.layouts)
        box = OuterBox(draw.covariance.decomposition.projection)
        draw, context = jax.tree.map(lambda leaf: leaf[None], (draw.in_outer_box(), context))
        own = Acquisition(draw, context, which[None], guide.criterion)
        function = AdditiveAcquisition.of(own, search.components)
        start = box.to_unit(search.best)
        continuous = Levels.of([None] * len(start))
        u, _ = coarse_to_fine(function, layout, continuous, start, NUM_ROUNDS)
        return search.levels.nearest(box.from_unit(u)[0])

    return map_draws(of_draw, jnp.arange(num_draws))
