"""The next points: a joint acquisition maximized from the maxima of additive ones.

Message passing finds where the components agree that it is worth looking, globally; random points
and perturbations of the best observed points add what lies outside the components. The most
promising are moved along coordinates, and then by gradient.
"""

from collections.abc import Callable, Sequence
from functools import lru_cache, partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from structbo.acquisition import AdditiveUCB, Components, LogEI, half_log
from structbo.candidates import perturbed
from structbo.inference import Data, Draws, condition
from structbo.maximizers import Layout, Levels, coarse_to_fine, make_layout, triangulate
from structbo.maximizers.junction_tree import dependency_graph
from structbo.maximizers.polish import coordinate_ascent, gradient_ascent
from structbo.models import ConditionedGP, OuterBox

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
) -> list[np.ndarray]:
    """Maximizes the expected improvement, averaged over draws, point after point.

    Pending points, and points after the first, count as observed at their posterior means.

    Args:
        model: the NumPyro model.
        draws: posterior draws of its sites.
        data: padded observations.
        levels: per dimension, its legal coordinates, or None for a continuous one.
        num_points: how many points to propose.
        seed: of the random candidates.
        pending: points being evaluated, shape (p, D).

    Returns:
        For each point its candidates in the unit cube, best first, shape (K, D).
    """
    legal = Levels.of(levels)
    is_continuous = np.array([level is None for level in levels])
    # Larger components than a clique of the junction tree count in the joint acquisition alone.
    members = np.asarray(_members(model)(draws, data.x[:1]))
    components = Components.of(members, max_size=MAX_WIDTH + 1)
    layouts = _layouts(components, members.shape[2])
    beta = half_log(float(np.sum(data.mask)))
    if len(pending):
        data = _with_fantasies(model, draws, data, pending)
    ranked: list[np.ndarray] = []
    for key in jax.random.split(jax.random.key(seed), num_points):
        if ranked:
            data = _with_fantasies(model, draws, data, ranked[-1][:1])
        acquisition, starts = _starts(model)(draws, data, components, layouts, legal, beta, key)
        points, values = gradient_ascent(
            partial(_value_and_gradient, acquisition), np.array(starts), is_continuous
        )
        ranked.append(points[np.argsort(-values)])
    return ranked


@lru_cache(maxsize=16)
def _members(model: Callable[..., Any]) -> Callable[..., Array]:
    """The components of all draws, bool, shape (S, C, D)."""

    @jax.jit
    def members(draws: Draws, x: Array) -> Array:
        one = Data(x, jnp.zeros(1), jnp.ones(1, bool))
        return condition(model, draws, one).covariance.decomposition.members

    return members


def _layouts(components: Components, num_dims: int) -> tuple[Layout, Layout]:
    """Junction trees of the union of all draws, and of the first few draws, stacked."""

    def layout(present: Callable[[np.ndarray], Any]) -> Layout:
        scopes = tuple(
            np.where(present(np.asarray(rows))[:, None], group, -1)
            for group, rows in zip(components.groups, components.rows, strict=True)
        )
        tree = triangulate(dependency_graph(scopes, num_dims), max_width=MAX_WIDTH)
        return make_layout(tree, scopes, num_grid=NUM_GRID, width=MAX_WIDTH)

    union = layout(lambda rows: (rows >= 0).any(0))
    num_draws = min(NUM_DRAW_STARTS, len(components.rows[0]))
    single = [layout(partial(_has_component, draw)) for draw in range(num_draws)]
    return union, jax.tree.map(lambda *leaves: np.stack(leaves), *single)


def _has_component(draw: int, rows: np.ndarray) -> np.ndarray:
    return rows[draw] >= 0


@lru_cache(maxsize=16)
def _starts(model: Callable[..., Any]) -> Callable[..., tuple[LogEI, Array]]:
    """The compiled search for points from which a gradient is worth following."""

    @jax.jit
    def starts(
        draws: Draws,
        data: Data,
        components: Components,
        layouts: tuple[Layout, Layout],
        levels: Levels,
        beta: Array,
        key: Array,
    ) -> tuple[LogEI, Array]:
        key_random, key_parents, key_line = jax.random.split(key, 3)
        posteriors = condition(model, draws, data)
        acquisition = LogEI.of(posteriors)
        top = jax.lax.top_k(jnp.where(data.mask, data.y, -jnp.inf), NUM_PARENTS)[1]
        parents = jnp.asarray(data.x)[top]

        global_maxima = _message_passing_maxima(
            posteriors, components, beta, layouts, levels, parents[0]
        )
        spread = jax.random.uniform(key_random, (NUM_RANDOM, data.x.shape[1]))
        children = perturbed(key_parents, parents, NUM_RANDOM)
        random = jax.vmap(levels.nearest)(jnp.concatenate([spread, children]))
        candidates = jnp.concatenate([global_maxima, random, parents])
        values = acquisition(candidates)
        ranked = candidates[jnp.argsort(-values)[:NUM_GRADIENT_STARTS]]
        moved = coordinate_ascent(
            acquisition, ranked[:NUM_COORDINATE_STARTS], levels, key_line, NUM_GRID
        )
        return acquisition, jnp.concatenate([moved, ranked])

    return starts


def _message_passing_maxima(
    posteriors: ConditionedGP,
    components: Components,
    beta: Array,
    layouts: tuple[Layout, Layout],
    levels: Levels,
    start: Array,
) -> Array:
    """Maxima of the acquisition marginalized over draws, and of the first few draws'.

    Draws that have projections share no axes: each is maximized over its own outer box.
    """
    union, single = layouts
    projections = posteriors.covariance.decomposition.projection

    def of_draw(item: tuple[Array, Layout]) -> Array:
        draw, layout = item
        posterior = jax.tree.map(lambda leaf: jnp.asarray(leaf)[draw], posteriors)
        boxed = jax.tree.map(lambda leaf: leaf[None], posterior.in_outer_box())
        rows = tuple(jnp.asarray(rows)[draw][None] for rows in components.rows)
        own = AdditiveUCB(boxed, Components(components.groups, rows), beta)
        if projections is None:
            return coarse_to_fine(own, layout, levels, start, NUM_ROUNDS)[0]
        box = OuterBox(projections[draw])
        u_start = box.to_unit(start)
        continuous = Levels.of([None] * len(u_start))
        u, _ = coarse_to_fine(own, layout, continuous, u_start, NUM_ROUNDS)
        return levels.nearest(box.from_unit(u)[0])

    num_draws = jax.tree.leaves(single)[0].shape[0]
    own_best = jax.lax.map(of_draw, (jnp.arange(num_draws), single))
    if projections is not None:
        return own_best
    function = AdditiveUCB(posteriors, components, beta)
    best, _ = coarse_to_fine(function, union, levels, start, NUM_ROUNDS)
    return jnp.concatenate([best[None], own_best])


@jax.jit
def _value_and_gradient(acquisition: LogEI, x: Array | np.ndarray) -> tuple[Array, Array]:
    def total(x: Array) -> tuple[Array, Array]:
        values = acquisition(x)
        return values.sum(), values

    (_, values), gradients = jax.value_and_grad(total, has_aux=True)(jnp.asarray(x))
    return values, gradients


def _with_fantasies(
    model: Callable[..., Any], draws: Draws, data: Data, points: np.ndarray
) -> Data:
    """The data with more observations, at their posterior means."""
    rows = np.asarray(data.mask)
    x, y = np.asarray(data.x)[rows], np.asarray(data.y)[rows]
    padded = Data.padded(points, np.zeros(len(points)))
    means = np.asarray(_mean(model)(draws, data, padded.x))[: len(points)]
    return Data.padded(np.concatenate([x, points]), np.concatenate([y, means]))


@lru_cache(maxsize=16)
def _mean(model: Callable[..., Any]) -> Callable[..., Array]:
    """The posterior mean at points, averaged over draws."""

    @jax.jit
    def mean(draws: Draws, data: Data, x: Array) -> Array:
        return jax.lax.map(lambda p: p.predict(x)[0], condition(model, draws, data)).mean(0)

    return mean
