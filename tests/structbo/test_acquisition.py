"""Acquisition functions against integrals, single-component posteriors and brute force."""

from itertools import product
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import norm

from structbo.acquisition import (
    AdditiveAcquisition,
    AdditiveUCB,
    Components,
    LogEI,
    ThompsonSample,
    half_log,
    log_improvement,
)
from structbo.inference import Data, condition
from structbo.maximizers import maximize_additive
from structbo.models import AdditiveGP, ConditionedGP, Residual, edges, matern52

NUM_DIMS, NUM_GRID, NUM_DRAWS = 4, 5, 3
CATEGORICAL = 3
LEVELS = [None, None, None, np.array([0.0, 0.5, 1.0])]
EDGES = [[(0, 1), (1, 2)], [(0, 1), (0, 3)], []]
"""Of the three draws: one edge is shared, and one draw has main effects alone."""
GRID = np.linspace(0.0, 1.0, NUM_GRID)
NUM_MEMBERS = NUM_DIMS + NUM_DIMS * (NUM_DIMS - 1) // 2

Values = dict[tuple[int, ...], np.ndarray]


class Case(NamedTuple):
    """Three draws of the posterior, and the acquisitions on them by component."""

    posteriors: ConditionedGP
    components: Components
    acquisitions: dict[str, AdditiveAcquisition]
    points: np.ndarray
    values: dict[str, list[Values]]
    """By acquisition and draw: the component with each scope, at all points of the grid."""


def edge_matrix(pairs: list[tuple[int, int]]) -> np.ndarray:
    matrix = np.zeros((NUM_DIMS, NUM_DIMS), int)
    for i, j in pairs:
        matrix[i, j] = matrix[j, i] = 1
    return matrix


@pytest.fixture(scope="module")
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
        paths = jax.vmap(lambda p, k: p.sample_path(k, 16))(
            posteriors, jax.random.split(jax.random.key(0), NUM_DRAWS)
        )

        def parts(item: Any) -> Any:
            posterior, path = item
            rows = jnp.arange(NUM_MEMBERS)
            moments = jax.lax.map(lambda c: posterior.predict_component(c, points), rows)
            return moments, jax.lax.map(lambda c: path.component(c, points), rows)

        return posteriors, paths, jax.lax.map(parts, (posteriors, paths))

    posteriors, paths, ((means, variances), samples) = everything(draws, points)
    members = np.asarray(posteriors.covariance.decomposition.members)
    components = Components.of(members)
    beta = half_log(7)

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
        components,
        {
            "ucb": AdditiveUCB(posteriors, components, beta),
            "thompson": ThompsonSample(paths, components),
        },
        points,
        {"ucb": by_scope(means + np.sqrt(beta * variances)), "thompson": by_scope(samples)},
    )


def reference_log_improvement(z: float) -> float:
    """``EI(z) = pdf(z) / z^2`` times the integral of ``u exp(-u - u^2 / (2 z^2))`` for z < 0."""
    if z > -0.5:
        return float(np.log(norm.pdf(z) + z * norm.cdf(z)))
    integral = quad(lambda u: u * np.exp(-u - 0.5 * (u / z) ** 2), 0.0, 60.0, epsabs=1e-13)[0]
    return float(norm.logpdf(z) - 2.0 * np.log(-z) + np.log(integral))


@pytest.mark.parametrize(
    "z", [-1e3, -100.0, -25.01, -24.99, -20.0, -5.0, -0.6, 0.0, 1.0, 8.0, 19.99, 20.01, 50.0]
)
def test_log_improvement_is_the_log_of_the_integral(z: float) -> None:
    found, expected = float(log_improvement(jnp.array(z))), reference_log_improvement(z)
    assert found == pytest.approx(expected, rel=0, abs=2e-6)


def test_log_improvement_increases_and_its_gradient_is_finite() -> None:
    z = jnp.concatenate([jnp.linspace(-1e3, -31.0, 50), jnp.linspace(-30.03, 50.0, 400)])
    values, gradients = jax.jit(jax.vmap(jax.value_and_grad(log_improvement)))(z)
    assert bool((jnp.diff(values) > 0).all())
    assert bool(jnp.isfinite(gradients).all())
    # The derivative of log EI is cdf / EI, about -z far to the left.
    expected = np.exp(norm.logcdf(z) - np.array([reference_log_improvement(v) for v in z]))
    assert np.allclose(gradients, expected, rtol=1e-4)


def test_log_ei_is_the_log_of_the_mean_improvement(case: Case) -> None:
    """Averaged over draws, each with its own best posterior mean as incumbent."""
    acquisition = LogEI.of(case.posteriors)
    points = case.points[::31]
    normal = np.linspace(-9.0, 9.0, 9001)
    density = norm.pdf(normal) * (normal[1] - normal[0])
    predict, improvements = jax.jit(lambda posterior, x: posterior.predict(x)), []
    for draw in range(NUM_DRAWS):
        posterior = jax.tree.map(lambda leaf, draw=draw: leaf[draw], case.posteriors)
        both = jnp.concatenate([posterior.x[:7], points])
        mean, variance = (np.asarray(moment) for moment in predict(posterior, both))
        incumbent, mean, variance = mean[:7].max(), mean[7:], variance[7:]
        assert np.isclose(acquisition.incumbent[draw], incumbent)
        gaps = mean[:, None] + np.sqrt(variance)[:, None] * normal - incumbent
        improvements.append(np.maximum(gaps, 0.0) @ density)
    expected = np.mean(improvements, axis=0)
    assert expected.min() > 1e-4
    assert np.allclose(np.exp(jax.jit(LogEI.__call__)(acquisition, points)), expected, rtol=1e-3)


def test_components_are_the_union_of_those_of_all_draws(case: Case) -> None:
    found = {}
    for group, rows in zip(case.components.groups, case.components.rows, strict=True):
        for scope, row in zip(group.tolist(), rows.T.tolist(), strict=True):
            if min(scope) >= 0:
                found[tuple(scope)] = row
            else:
                assert row == [-1] * NUM_DRAWS
    expected = {(i,): [i, i, i] for i in range(NUM_DIMS)}
    expected |= {(0, 1): [4, 4, -1], (1, 2): [5, -1, -1], (0, 3): [-1, 5, -1]}
    assert found == expected


def test_unions_of_components_come_in_few_shapes() -> None:
    """Else message passing would be compiled anew for every posterior."""
    num_dims, rng, shapes = 20, np.random.default_rng(0), set()
    for num_edges in range(0, 191, 5):
        members = np.zeros((2, 190, num_dims), bool)
        upper = np.stack(np.triu_indices(num_dims, 1), 1)
        for draw in range(2):
            for row, scope in enumerate(rng.permutation(upper)[:num_edges]):
                members[draw, row, scope] = True
        shapes.add(tuple(group.shape for group in Components.of(members).groups))
    assert len(shapes) <= 3


@pytest.mark.parametrize("name", ["ucb", "thompson"])
def test_tables_are_means_over_draws_of_components(case: Case, name: str) -> None:
    acquisition = case.acquisitions[name]
    tables = jax.jit(acquisition.tables)(jnp.asarray([GRID] * NUM_DIMS))
    seen = set()
    for group, table in zip(acquisition.scopes, tables, strict=True):
        for scope, own in zip(group.tolist(), table, strict=True):
            if min(scope) < 0:
                assert not own.any()
                continue
            seen.add(tuple(scope))
            others = [d for d in range(NUM_DIMS) if d not in scope]
            rows = (case.points[:, others] == 0.0).all(1)
            total = sum(v.get(tuple(scope), np.zeros(len(rows))) for v in case.values[name])
            expected = total[rows].reshape([NUM_GRID] * len(scope)) / NUM_DRAWS
            assert np.allclose(own, expected, atol=2e-6)
    assert seen == {scope for values in case.values[name] for scope in values}


@pytest.mark.parametrize("name", ["ucb", "thompson"])
def test_additive_acquisitions_are_sums_of_their_components(case: Case, name: str) -> None:
    rows = np.random.default_rng(1).choice(len(case.points), 20)
    expected = sum(v[rows] for values in case.values[name] for v in values.values()) / NUM_DRAWS
    assert np.allclose(case.acquisitions[name](jnp.asarray(case.points[rows])), expected, atol=1e-5)


@pytest.mark.parametrize("name", ["ucb", "thompson"])
def test_the_mean_over_draws_is_maximized_exactly_on_the_grid(case: Case, name: str) -> None:
    """The draws have different graphs; brute force visits all legal grid points."""
    legal = np.isin(case.points[:, CATEGORICAL], LEVELS[CATEGORICAL])
    total = sum(v for values in case.values[name] for v in values.values()) / NUM_DRAWS
    best = np.argmax(np.where(legal, total, -np.inf))
    found = maximize_additive(
        case.acquisitions[name], levels=LEVELS, num_grid=NUM_GRID, num_rounds=1
    )
    assert found.exact
    assert np.isclose(found.value, total[best], atol=1e-5)
    assert np.allclose(found.x, case.points[best])
    own_best = [np.argmax(np.where(legal, sum(v.values()), -np.inf)) for v in case.values[name]]
    assert len({*own_best, best}) > 1, "the draws should disagree, or this shows nothing"
