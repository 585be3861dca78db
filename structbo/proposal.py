"""The next points: an acquisition maximized from the maxima of additive ones.

Message passing finds where the components agree that it is worth looking, globally; random points
and perturbations of the best observed points add what lies outside the components. The most
promising are moved along coordinates, and then by gradient.

An additive acquisition of which message passing sees everything needs none of that: message passing
alone maximizes it. What it cannot see are a residual, components of too many members, and
projections, whose components share no axes.
"""

from collections.abc import Callable, Sequence
from functools import lru_cache, partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from structbo.acquisition import (
    Acquisition,
    AdditiveAcquisition,
    AdditiveCriterion,
    AdditiveUCB,
    Components,
    Criterion,
    LogEI,
    Search,
)
from structbo.acquisition.additive import posterior_of
from structbo.batches import Lie
from structbo.candidates import perturbed
from structbo.inference import Data, Draws, condition
from structbo.maximizers import (
    Layout,
    Levels,
    coarse_to_fine,
    make_layout,
    maximize_additive,
    triangulate,
)
from structbo.maximizers.junction_tree import dependency_graph
from structbo.maximizers.polish import coordinate_ascent, gradient_ascent
from structbo.models import OuterBox

NUM_GRID = 17
NUM_ROUNDS = 2
MAX_WIDTH = 2
NUM_DRAW_STARTS = 3
NUM_RANDOM = 256
NUM_PARENTS = 4
NUM_COORDINATE_STARTS = 3
NUM_GRADIENT_STARTS = 8


def propose(
    model: Callable[..., Any],
    draws: Draws,
    data: Data,
    levels: Sequence[np.ndarray | None],
    num_points: int,
    seed: int,
    pending: np.ndarray,
    criterion: Criterion | None = None,
    lie: Lie | None = None,
    union: "Union | None" = None,
) -> "Proposal":
    """Maximizes a criterion, averaged over draws, point after point.

    Pending points, and points after the first, count as observed.

    Args:
        model: the NumPyro model.
        draws: posterior draws of its sites.
        data: padded observations.
        levels: per dimension, its legal coordinates, or None for a continuous one.
        num_points: how many points to propose.
        seed: of the random candidates.
        pending: points being evaluated, shape (p, D).
        criterion: what makes a point worth evaluating, by default the expected improvement.
        lie: the value that pending points and points after the first are taken to have, a function
            of the observed values; by default they have their posterior means, averaged over draws.
        union: what `structure_of` says of these draws, if it is known already.

    Returns:
        The candidates for each point, and what the first one maximizes.
    """
    criterion = LogEI() if criterion is None else criterion
    legal = Levels.of(levels)
    is_continuous = np.array([level is None for level in levels])
    union = structure_of(model, draws, data) if union is None else union
    num_observed = float(np.sum(data.mask))
    is_seen = isinstance(criterion, AdditiveCriterion) and union.is_everything
    search = _search(model, criterion, is_seen)
    if len(pending):
        data = _with_fantasies(model, draws, data, pending, lie)
    ranked: list[np.ndarray] = []
    acquisitions: list[Acquisition] = []
    for key in jax.random.split(jax.random.key(seed), num_points):
        if ranked:
            data = _with_fantasies(model, draws, data, ranked[-1][:1], lie)
        acquisition, starts = search(
            draws, data, union.components, union.layouts, legal, num_observed, key
        )
        acquisitions.append(acquisition)
        if is_seen:
            function = AdditiveAcquisition.of(acquisition, union.components)
            best = maximize_additive(function, levels=levels, start=np.asarray(starts[:1])).x
            ranked.append(np.concatenate([best[None], starts]))
            continue
        points, values = gradient_ascent(
            partial(_value_and_gradient, acquisition), np.array(starts), is_continuous
        )
        ranked.append(points[np.argsort(-values)])
    return Proposal(ranked, acquisitions[0])


class Proposal(NamedTuple):
    """What to evaluate next.

    Args:
        ranked: for each point its candidates in the unit cube, best first, shape (K, D).
        acquisition: what the first point maximizes.
    """

    ranked: list[np.ndarray]
    acquisition: Acquisition


class Union(NamedTuple):
    """The components of some draws, as message passing sees them.

    Args:
        components: those of all draws that a clique of the junction tree can hold.
        layouts: the junction tree of all of them, and of those of each draw, stacked.
        is_projected: whether they are components of projections, which share no axes.
        is_everything: whether there is nothing else: no projection, no residual, and no component
            of more members. Those count in the whole acquisition alone.
    """

    components: Components
    layouts: tuple[Layout, Layout]
    is_projected: bool
    is_everything: bool


def structure_of(model: Callable[..., Any], draws: Draws, data: Data) -> Union:
    """The components of all draws together; arguments are those of `propose`."""
    stacked, (residual, projection) = _members(model)(draws, data.x[:1])
    members = np.asarray(stacked)
    components = Components.of(members, max_size=MAX_WIDTH + 1)
    is_wide = members.sum(2).max() > MAX_WIDTH + 1
    return Union(
        components,
        _layouts(components, members.shape[2]),
        is_projected=projection is not None,
        is_everything=residual is None and projection is None and not is_wide,
    )


@lru_cache(maxsize=16)
def _members(model: Callable[..., Any]) -> Callable[..., tuple[Array, tuple[Any, Any]]]:
    """The components of all draws, bool, shape (S, C, D); residual and projection, if any."""

    @jax.jit
    def members(draws: Draws, x: Array) -> tuple[Array, tuple[Any, Any]]:
        one = Data(x, jnp.zeros(1), jnp.ones(1, bool))
        covariance = condition(model, draws, one).covariance
        decomposition = covariance.decomposition
        return decomposition.members, (covariance.rho, decomposition.projection)

    return members


def _layouts(components: Components, num_dims: int) -> tuple[Layout, Layout]:
    """Junction trees of the union of all draws, and of each draw, stacked."""

    def layout(present: Callable[[np.ndarray], Any]) -> Layout:
        scopes = tuple(
            np.where(present(np.asarray(rows))[:, None], group, -1)
            for group, rows in zip(components.groups, components.rows, strict=True)
        )
        tree = triangulate(dependency_graph(scopes, num_dims), max_width=MAX_WIDTH)
        return make_layout(tree, scopes, num_grid=NUM_GRID, width=MAX_WIDTH)

    union = layout(lambda rows: (rows >= 0).any(0))
    single = [layout(partial(_has_component, draw)) for draw in range(len(components.rows[0]))]
    return union, jax.tree.map(lambda *leaves: np.stack(leaves), *single)


def _has_component(draw: int, rows: np.ndarray) -> np.ndarray:
    return rows[draw] >= 0


@lru_cache(maxsize=16)
def _search(
    model: Callable[..., Any], criterion: Criterion, is_seen: bool
) -> Callable[..., tuple[Acquisition, Array]]:
    """The compiled search for points from which a gradient is worth following.

    Where message passing sees everything, its maxima, best first.
    """

    @jax.jit
    def starts(
        draws: Draws,
        data: Data,
        components: Components,
        layouts: tuple[Layout, Layout],
        levels: Levels,
        num_observed: Array,
        key: Array,
    ) -> tuple[Acquisition, Array]:
        key_random, key_parents, key_line = jax.random.split(key, 3)
        posteriors = condition(model, draws, data)
        top = jax.lax.top_k(jnp.where(data.mask, data.y, -jnp.inf), NUM_PARENTS)[1]
        parents = jnp.asarray(data.x)[top]
        spread = levels.even(jax.random.uniform(key_random, (NUM_RANDOM, data.x.shape[1])))
        children = jax.vmap(levels.nearest)(perturbed(key_parents, parents, NUM_RANDOM))

        union, single = layouts
        search = Search(
            levels=levels,
            candidates=jnp.concatenate([spread, children, parents]),
            best=parents[0],
            num_observed=num_observed,
            components=components,
            layouts=single,
            key=jax.random.fold_in(key, 3),
        )
        is_projected = posteriors.covariance.decomposition.projection is not None
        is_guide = isinstance(criterion, AdditiveCriterion) and not is_projected
        guide = (criterion if is_guide else AdditiveUCB()).of(posteriors, search)
        num_starts = len(guide.which) if is_seen else NUM_DRAW_STARTS
        global_maxima = _message_passing_maxima(guide, search, union, num_starts)
        # What is known of the function's maximum depends on how far up the candidates reach.
        search = search._replace(candidates=jnp.concatenate([global_maxima, search.candidates]))
        acquisition = guide if is_guide else criterion.of(posteriors, search)
        if is_seen:
            values = AdditiveAcquisition.of(acquisition, components)(global_maxima)
            return acquisition, global_maxima[jnp.argsort(-values)]
        order = jnp.argsort(-acquisition(search.candidates))
        ranked = search.candidates[order[:NUM_GRADIENT_STARTS]]
        moved = coordinate_ascent(
            acquisition, ranked[:NUM_COORDINATE_STARTS], levels, key_line, NUM_GRID
        )
        return acquisition, jnp.concatenate([moved, ranked])

    return starts


def _message_passing_maxima(
    guide: Acquisition, search: Search, union: Layout, num_draws: int
) -> Array:
    """Maxima of an additive acquisition averaged over draws, and of its first few draws'.

    Draws that have projections share no axes: each is maximized over its own outer box.
    """

    def of_draw(index: Array) -> Array:
        draw, reference, which = jax.tree.map(
            lambda leaf: jnp.asarray(leaf)[index], (guide.draws, guide.references, guide.which)
        )
        layout = jax.tree.map(lambda leaf: jnp.asarray(leaf)[which], search.layouts)
        box = None if is_shared else OuterBox(draw.covariance.decomposition.projection)
        draw, reference = jax.tree.map(
            lambda leaf: leaf[None], (draw if box is None else draw.in_outer_box(), reference)
        )
        own = Acquisition(draw, reference, which[None], guide.criterion)
        function = AdditiveAcquisition.of(own, search.components)
        if box is None:
            return coarse_to_fine(function, layout, search.levels, search.best, NUM_ROUNDS)[0]
        start = box.to_unit(search.best)
        continuous = Levels.of([None] * len(start))
        u, _ = coarse_to_fine(function, layout, continuous, start, NUM_ROUNDS)
        return search.levels.nearest(box.from_unit(u)[0])

    posteriors = posterior_of(guide.draws)
    is_shared = posteriors.covariance.decomposition.projection is None
    own_best = jax.lax.map(of_draw, jnp.arange(min(num_draws, len(guide.which))))
    if not is_shared:
        return own_best
    function = AdditiveAcquisition.of(guide, search.components)
    best, _ = coarse_to_fine(function, union, search.levels, search.best, NUM_ROUNDS)
    return jnp.concatenate([best[None], own_best])


@jax.jit
def _value_and_gradient(acquisition: Acquisition, x: Array | np.ndarray) -> tuple[Array, Array]:
    def total(x: Array) -> tuple[Array, Array]:
        values = acquisition(x)
        return values.sum(), values

    (_, values), gradients = jax.value_and_grad(total, has_aux=True)(jnp.asarray(x))
    return values, gradients


def _with_fantasies(
    model: Callable[..., Any], draws: Draws, data: Data, points: np.ndarray, lie: Lie | None
) -> Data:
    """The data with more observations, at their posterior means or with the value of a lie."""
    rows = np.asarray(data.mask)
    x, y = np.asarray(data.x)[rows], np.asarray(data.y)[rows]
    if lie is None:
        padded = Data.padded(points, np.zeros(len(points)))
        values = np.asarray(_mean(model)(draws, data, padded.x))[: len(points)]
    else:
        values = np.full(len(points), lie(y))
    return Data.padded(np.concatenate([x, points]), np.concatenate([y, values]))


@lru_cache(maxsize=16)
def _mean(model: Callable[..., Any]) -> Callable[..., Array]:
    """The posterior mean at points, averaged over draws."""

    @jax.jit
    def mean(draws: Draws, data: Data, x: Array) -> Array:
        return jax.lax.map(lambda p: p.predict(x)[0], condition(model, draws, data)).mean(0)

    return mean
