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
from structbo.maximizers import dependency_graph, make_layout, triangulate
from structbo.models import AdditiveGP, ConditionedGP, Residual, edges, matern52
from structbo.models.gp import SamplePath
from structbo.space import Levels


def thompson_sample(posterior: ConditionedGP, key: jax.Array) -> SamplePath:
    """A sample of Thompson's criterion from a posterior with a single draw."""
    alone: Any = jax.tree.map(lambda leaf: leaf[None], posterior)
    sample = Thompson(16).of(alone, SimpleNamespace(key=key))  # type: ignore[arg-type]
    return jax.tree.map(lambda leaf: leaf[0], sample.draws)


@pytest.fixture(scope="session")
def case() -> Case:
    rng = np.random.default_rng(0)
    model = AdditiveGP(edges(), matern52, residual=Residual(), categorical=(CATEGORICAL,))
    x = rng.random((9, NUM_DIMS))
    x[:, CATEGORICAL] = rng.choice(LEVELS[CATEGORICAL], 9)
    data = Data(x, rng.normal(size=9), np.arange(9) < 7)
    draws = {
        "Z": jnp.array([edge_matrix(pairs) for pairs in EDGES]),
        "lengthscale": jnp.array(rng.uniform(0.2, 1.0, (NUM_DRAWS, NUM_DIMS))),
        "outputscale": jnp.array([0.5, 1.0, 2.0]),
        "noise": jnp.array([0.01, 0.05, 0.2]),
        "rho": jnp.array([0.1, 0.4, 0.7]),
        "kappa": jnp.array([1.0, 2.0, 4.0]),
    }
    points = np.array(list(product(*[GRID] * NUM_DIMS)))

    @jax.jit
    def everything(draws: Any, points: Any) -> Any:
        posteriors = condition(model, draws, data)
        keys = jax.random.split(jax.random.key(0), NUM_DRAWS)
        paths = jax.vmap(thompson_sample)(posteriors, keys)

        def parts(item: Any) -> Any:
            posterior, path = item
            rows = jnp.arange(NUM_MEMBERS)
            moments = jax.lax.map(lambda c: posterior.predict_component(c, points), rows)
            return moments, jax.lax.map(lambda c: path.component(c, points), rows)

        return posteriors, paths, jax.lax.map(parts, (posteriors, paths))

    posteriors, paths, ((means, variances), samples) = everything(draws, points)
    members = np.asarray(posteriors.covariance.decomposition.members)
    components = Components.of(members)
    layouts = [
        make_layout(
            triangulate(dependency_graph(scopes, NUM_DIMS)), scopes, num_grid=NUM_GRID, width=2
        )
        for draw in range(NUM_DRAWS)
        for scopes in [
            tuple(
                np.where(rows[draw][:, None] >= 0, group, -1)
                for group, rows in zip(components.groups, components.rows, strict=True)
            )
        ]
    ]
    levels = Levels.of(LEVELS)
    legal = np.isin(points[:, CATEGORICAL], LEVELS[CATEGORICAL])
    search = Search(
        levels,
        jnp.asarray(points[legal]),
        jnp.asarray(x[0]),
        7.0,
        components,
        jax.tree.map(lambda *leaves: np.stack(leaves), *layouts),
        jax.random.key(1),
    )
    beta = float(HalfLog()(7, NUM_DIMS))
    which = np.arange(NUM_DRAWS)
    ucb = AdditiveUCB().of(posteriors, search)
    thompson = Acquisition(paths, None, which, Thompson())

    def by_scope(values: np.ndarray) -> list[Values]:
        return [
            {
                tuple(np.flatnonzero(row).tolist()): np.asarray(value)
                for row, value in zip(members[draw], values[draw], strict=True)
                if row.any()
            }
            for draw in range(NUM_DRAWS)
        ]

    return Case(
        posteriors,
        search,
        {
            "ucb": AdditiveAcquisition.of(ucb, components),
            "thompson": AdditiveAcquisition.of(thompson, components),
        },
        points,
        {"ucb": by_scope(means + np.sqrt(beta * variances)), "thompson": by_scope(samples)},
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
