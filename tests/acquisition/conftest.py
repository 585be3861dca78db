"""The acquisitions on three draws of a posterior, and their parts."""

from collections.abc import Callable
from functools import cache
from itertools import product
from types import SimpleNamespace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from acquisition_case import (
    CATEGORICAL,
    EDGES,
    GRID,
    LEVELS,
    NUM_DIMS,
    NUM_DRAWS,
    NUM_GRID,
    NUM_MEMBERS,
    Case,
    Values,
    edge_matrix,
    observations,
    one,
)

from structbo.acquisition import (
    Acquisition,
    AdditiveAcquisition,
    AdditiveUCB,
    Components,
    Criterion,
    HalfLog,
    Search,
    Thompson,
)
from structbo.data import Data
from structbo.draws import condition
from structbo.maximizers import Layout, dependency_graph, make_layout, triangulate
from structbo.models import AdditiveGP, ConditionedGP, Residual, edges, matern52
from structbo.models.gp import SamplePath
from structbo.space import Levels


def thompson_sample(posterior: ConditionedGP, key: jax.Array) -> SamplePath:
    """A sample of Thompson's criterion from a posterior with a single draw."""
    alone: Any = jax.tree.map(lambda leaf: leaf[None], posterior)
    sample = Thompson(16).of(alone, SimpleNamespace(key=key))  # type: ignore[arg-type]
    return jax.tree.map(lambda leaf: leaf[0], sample.draws)


def draws_of_sites() -> dict[str, jax.Array]:
    lengthscale = np.random.default_rng(1).uniform(0.2, 1.0, (NUM_DRAWS, NUM_DIMS))
    return {
        "Z": jnp.array([edge_matrix(pairs) for pairs in EDGES]),
        "lengthscale": jnp.array(lengthscale),
        "outputscale": jnp.array([0.5, 1.0, 2.0]),
        "noise": jnp.array([0.01, 0.05, 0.2]),
        "rho": jnp.array([0.1, 0.4, 0.7]),
        "kappa": jnp.array([1.0, 2.0, 4.0]),
    }


@jax.jit
def by_component(draws: Any, data: Data, points: Any) -> Any:
    """Posteriors, sample paths, and the moments and samples of every component at points."""
    model = AdditiveGP(edges(), matern52, residual=Residual(), categorical=(CATEGORICAL,))
    posteriors = condition(model, draws, data)
    paths = jax.vmap(thompson_sample)(posteriors, jax.random.split(jax.random.key(0), NUM_DRAWS))

    def parts(item: Any) -> Any:
        posterior, path = item
        rows = jnp.arange(NUM_MEMBERS)
        moments = jax.lax.map(lambda c: posterior.predict_component(c, points), rows)
        return moments, jax.lax.map(lambda c: path.component(c, points), rows)

    return posteriors, paths, jax.lax.map(parts, (posteriors, paths))


def by_scope(members: np.ndarray, values: np.ndarray) -> list[Values]:
    """For every draw, the values of its components by their members."""
    return [
        {tuple(np.flatnonzero(row).tolist()): np.asarray(v) for row, v in items if row.any()}
        for items in (zip(*of_draw, strict=True) for of_draw in zip(members, values, strict=True))
    ]


def layouts_of(components: Components) -> Layout:
    """The junction trees of all draws, stacked."""

    def layout(draw: int) -> Layout:
        groups = zip(components.groups, components.rows, strict=True)
        scopes = tuple(np.where(rows[draw][:, None] >= 0, group, -1) for group, rows in groups)
        tree = triangulate(dependency_graph(scopes, NUM_DIMS))
        return make_layout(tree, scopes, num_grid=NUM_GRID, width=2)

    return jax.tree.map(lambda *leaves: np.stack(leaves), *map(layout, range(NUM_DRAWS)))


@pytest.fixture(scope="session")
def case() -> Case:
    data, points = observations(), np.array(list(product(*[GRID] * NUM_DIMS)))
    results = by_component(draws_of_sites(), data, points)
    posteriors, paths, ((means, variances), samples) = results
    members = np.asarray(posteriors.covariance.decomposition.members)
    components = Components.of(members)
    legal = np.isin(points[:, CATEGORICAL], LEVELS[CATEGORICAL])
    search = Search(
        Levels.of(LEVELS, categorical=(CATEGORICAL,)),
        jnp.asarray(points[legal]),
        jnp.asarray(data.x[0]),
        7.0,
        components,
        layouts_of(components),
        jax.random.key(1),
    )
    beta = float(HalfLog()(7, NUM_DIMS))
    acquisitions = {
        "ucb": AdditiveUCB().of(posteriors, search),
        "thompson": Acquisition(paths, None, np.arange(NUM_DRAWS), Thompson()),
    }
    values = {"ucb": means + np.sqrt(beta * variances), "thompson": samples}
    return Case(
        posteriors,
        search,
        {name: AdditiveAcquisition.of(one, components) for name, one in acquisitions.items()},
        points,
        {name: by_scope(members, of_name) for name, of_name in values.items()},
    )


@pytest.fixture(scope="session")
def moments(case: Case) -> Any:
    """Mean and deviation of every draw at some points and at the observed points."""
    points = case.points[::31]
    predict = jax.jit(lambda posterior, x: posterior.predict(x))

    def both(x: Any) -> list[np.ndarray]:
        by_draw = [predict(one(case, draw), x) for draw in range(NUM_DRAWS)]
        means, variances = (np.array(m) for m in zip(*by_draw, strict=True))
        return [means, np.sqrt(variances)]

    return points, *both(points), *both(np.asarray(case.posteriors.x)[0, :7])


@pytest.fixture(scope="session")
def acquire(case: Case) -> Callable[[Criterion], Acquisition]:
    """The acquisition of a criterion, compiled once."""
    return cache(lambda criterion: jax.jit(criterion.of)(case.posteriors, case.search))
