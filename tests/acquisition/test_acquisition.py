"""Acquisition functions against integrals, single-component posteriors and brute force."""

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from itertools import combinations, product
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.stats import norm

from structbo.acquisition import (
    EST,
    MES,
    UCB,
    Acquisition,
    AdditiveAcquisition,
    AdditiveCriterion,
    AdditiveMES,
    AdditiveUCB,
    Components,
    Criterion,
    HalfLog,
    LogEI,
    LogPI,
    Search,
    Thompson,
    expected_maximum,
)
from structbo.data import Data
from structbo.draws import condition
from structbo.maximizers import dependency_graph, make_layout, maximize_additive, triangulate
from structbo.models import AdditiveGP, ConditionedGP, Residual, edges, matern52
from structbo.space import Levels

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
    search: Search
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


SLOW = [
    *(LogEI(), LogPI(), EST(), MES(maxima="gumbel"), MES(), AdditiveMES(), Thompson()),
]


def one(case: Case, draw: int) -> ConditionedGP:
    return jax.tree.map(lambda leaf: leaf[draw], case.posteriors)


@pytest.fixture(scope="module")
def moments(case: Case) -> Any:
    """Mean and deviation of every draw at some points, and at the observed ones."""
    points = jnp.asarray(case.points[::31])
    predict = jax.jit(lambda posterior, x: posterior.predict(x))

    def both(x: Any) -> list[np.ndarray]:
        by_draw = [predict(one(case, draw), x) for draw in range(NUM_DRAWS)]
        means, variances = (np.array(m) for m in zip(*by_draw, strict=True))
        return [means, np.sqrt(variances)]

    return points, *both(points), *both(case.posteriors.x[0, :7])


@pytest.fixture(scope="module")
def acquire(case: Case) -> Callable[[Criterion], Acquisition]:
    """The acquisition of a criterion, compiled once."""
    return cache(lambda criterion: jax.jit(criterion.of)(case.posteriors, case.search))


evaluate = jax.jit(Acquisition.__call__)


def test_joint_criteria_are_means_over_draws_of_closed_forms(acquire: Any, moments: Any) -> None:
    """Each draw with its own incumbent: the best posterior mean at an observed point."""
    points, mean, deviation, observed, _ = moments
    best = observed.max(1)[:, None]
    for beta in (0.0, 4.0):
        expected = (mean + np.sqrt(beta) * deviation).mean(0)
        assert np.allclose(evaluate(acquire(UCB(beta)), points), expected, atol=1e-6)
    practice = (mean + np.sqrt(0.5 * np.log(14.0)) * deviation).mean(0)
    assert np.allclose(evaluate(acquire(UCB()), points), practice, atol=1e-6)
    expected = norm.sf((best + 0.1 - mean) / deviation).mean(0)
    assert np.allclose(np.exp(evaluate(acquire(LogPI(margin=0.1)), points)), expected, rtol=1e-4)


@pytest.mark.parametrize("maximum", ["approximate", "numerical"])
def test_est_is_a_ucb_that_touches_the_estimated_maximum(
    case: Case, moments: Any, maximum: Any
) -> None:
    """Its value is minus the least sqrt(beta) at which the bound of a draw reaches the estimate."""
    points, mean, deviation, observed, _ = moments
    acquisition = EST(maximum).of(case.posteriors, case.search)
    assert (np.asarray(acquisition.contexts) > observed.max(1)).all()
    by_draw = np.asarray(acquisition.by_draw(points))
    estimate = np.asarray(acquisition.contexts)[:, None]
    assert np.allclose(mean - by_draw * deviation, estimate, atol=1e-4)
    assert np.allclose(acquisition(points), by_draw.mean(0))


def test_the_estimated_maximum_of_est_is_that_of_independent_candidates(case: Case) -> None:
    estimates = EST("numerical").of(case.posteriors, case.search).contexts
    best = LogEI().of(case.posteriors, case.search).contexts
    for draw in range(NUM_DRAWS):
        mean, variance = one(case, draw).predict(case.search.candidates)
        expected = expected_maximum(mean, jnp.sqrt(variance + 1e-12), best[draw])
        assert float(estimates[draw]) == pytest.approx(float(expected), abs=1e-9)


def truncated_entropy_loss(mean: float, deviation: float, maximum: float) -> float:
    """Entropy of a normal minus that of the normal cut off at a maximum, by quadrature."""
    grid = np.linspace(mean - 12.0 * deviation, min(maximum, mean + 12.0 * deviation), 20001)
    density = norm.pdf(grid, mean, deviation) / norm.cdf(maximum, mean, deviation)
    integrand = -density * np.log(np.maximum(density, 1e-300))
    cut = np.trapezoid(integrand, grid)
    return float(0.5 * np.log(2.0 * np.pi * np.e * deviation**2) - cut)


@pytest.mark.parametrize("maxima", ["sampled", "gumbel"])
def test_mes_is_the_mean_loss_of_entropy(acquire: Any, moments: Any, maxima: Any) -> None:
    points, mean, deviation, _, _ = moments
    acquisition = acquire(MES(2, maxima))
    sampled = np.asarray(acquisition.contexts)
    assert sampled.shape == (NUM_DRAWS, 2)
    expected = np.mean(
        [
            [
                [
                    truncated_entropy_loss(m, s, y)
                    for m, s in zip(mean[d], deviation[d], strict=True)
                ]
                for y in sampled[d]
            ]
            for d in range(NUM_DRAWS)
        ],
        axis=(0, 1),
    )
    assert np.allclose(evaluate(acquisition, points), expected, atol=2e-3)


def test_additive_mes_is_the_sum_over_components_of_losses_of_entropy(
    case: Case, acquire: Any
) -> None:
    points = jnp.asarray(case.points[::101])
    acquisition = acquire(AdditiveMES(2))
    maxima = np.asarray(acquisition.contexts)

    @jax.jit
    def parts(posteriors: Any) -> Any:
        rows = jnp.arange(NUM_MEMBERS)

        def of_draw(posterior: Any) -> Any:
            components = jax.lax.map(lambda row: posterior.predict_component(row, points), rows)
            residual = posterior.predict_residual(points)
            return jax.tree.map(lambda c, r: jnp.append(c, r[None], 0), components, residual)

        return jax.lax.map(of_draw, posteriors)

    means, variances = (np.asarray(moment) for moment in parts(case.posteriors))
    expected = np.zeros(len(points))
    for draw, members in enumerate(case.posteriors.covariance.decomposition.members):
        for row in [*np.flatnonzero(members.any(1)).tolist(), -1]:
            for maximum in maxima[draw, :, row]:
                pairs = zip(means[draw, row], np.sqrt(variances[draw, row]), strict=True)
                expected += [truncated_entropy_loss(m, s, maximum) for m, s in pairs]
    found = evaluate(acquisition, points)
    assert np.allclose(found, expected / (2 * NUM_DRAWS), atol=5e-3)


def test_maxima_of_components_are_those_of_sample_paths(case: Case, acquire: Any) -> None:
    """Brute force over candidates and fine grids of all pairs; of the residual, over candidates."""
    fine = np.linspace(0.0, 1.0, 25)
    grids = [fine if level is None else level for level in LEVELS]
    meshes = []
    for i, j in combinations(range(NUM_DIMS), 2):
        mesh = np.zeros((len(grids[i]) * len(grids[j]), NUM_DIMS))
        mesh[:, [i, j]] = list(product(grids[i], grids[j]))
        meshes.append(mesh)
    points = jnp.concatenate([case.search.candidates, *meshes])

    @jax.jit
    def brute_force(posteriors: Any) -> Any:
        def of_path(posterior: Any, key: Any) -> Any:
            path = posterior.sample_path(jax.random.split(key)[0], 256)
            rows = jnp.arange(NUM_MEMBERS)
            maxima = jax.lax.map(lambda row: path.component(row, points).max(), rows)
            return jnp.append(maxima, path.residual(case.search.candidates).max())

        keys = jax.random.split(case.search.key, (NUM_DRAWS, 2))
        return jax.lax.map(
            lambda item: jax.lax.map(lambda key: of_path(item[0], key), item[1]),
            (posteriors, keys),
        )

    found = np.asarray(acquire(AdditiveMES(2)).contexts)
    expected = np.asarray(brute_force(case.posteriors))
    for draw, members in enumerate(case.posteriors.covariance.decomposition.members):
        rows = [*np.flatnonzero(members.any(1)).tolist(), -1]
        assert np.allclose(found[draw][:, rows], expected[draw][:, rows], atol=1e-4)


def test_additive_criteria_count_every_component_and_the_residual(case: Case, acquire: Any) -> None:
    points = jnp.asarray(case.points[::101])
    for name, criterion in (("ucb", AdditiveUCB()), ("thompson", Thompson())):
        acquisition = acquire(criterion)
        values = np.asarray(jax.jit(Acquisition.by_draw)(acquisition, points))
        for own, draw in zip(values, np.asarray(acquisition.which).tolist(), strict=True):
            posterior = one(case, draw)
            if name == "thompson":
                path = jax.tree.map(lambda leaf: leaf[0], acquisition.draws)
                assert np.allclose(own, path(points), atol=1e-5)
                continue
            mean, variance = posterior.predict_residual(points)
            components = sum(v[::101] for v in case.values["ucb"][draw].values())
            beta = float(HalfLog()(7, NUM_DIMS))
            assert np.allclose(own, components + mean + np.sqrt(beta * variance), atol=1e-4)


@pytest.mark.nightly
def test_a_thompson_sample_has_the_moments_of_the_posterior(case: Case) -> None:
    """Of a random draw: over many keys, the mean over draws and the law of total variance."""
    points = jnp.asarray(case.points[::301])

    def sample(key: Any) -> Any:
        return Thompson(256).of(case.posteriors, case.search._replace(key=key))(points)

    keys = jax.random.split(jax.random.key(5), 1500)
    samples = np.asarray(jax.jit(lambda keys: jax.lax.map(sample, keys))(keys))
    moments = [one(case, draw).predict(points) for draw in range(NUM_DRAWS)]
    means, variances = (np.array(m) for m in zip(*moments, strict=True))
    variance = variances.mean(0) + means.var(0)
    error = np.sqrt(variance / len(keys))
    assert (np.abs(samples.mean(0) - means.mean(0)) < 4.0 * error).all()
    assert np.allclose(samples.var(0), variance, rtol=0.2)


@pytest.mark.nightly
def test_sampled_maxima_are_those_of_sample_paths_on_the_grid(case: Case) -> None:
    """No residual: a draw's components are all of it, and its maximum that of all grid points."""
    covariance = replace(case.posteriors.covariance, rho=None, kappa=None)
    posteriors = replace(case.posteriors, covariance=covariance)
    few = case.search._replace(candidates=case.search.candidates[:1])
    maxima = np.asarray(jax.jit(MES(2).of)(posteriors, few).contexts)

    @jax.jit
    def on_grid(posteriors: Any) -> Any:
        keys = jax.random.split(case.search.key, (NUM_DRAWS, 2))

        def of_draw(item: Any) -> Any:
            posterior, keys = item
            return jax.lax.map(
                lambda key: posterior.sample_path(key, 256)(case.search.candidates).max(),
                jax.vmap(lambda key: jax.random.split(key)[0])(keys),
            )

        return jax.lax.map(of_draw, (posteriors, keys))

    excess = maxima - np.asarray(on_grid(posteriors))
    assert excess.min() > -1e-5, "message passing is exact on its grid, which is that of the case"
    assert excess.max() < 1.0


@pytest.mark.parametrize(
    "criterion",
    [
        *(UCB(), AdditiveUCB()),
        *(pytest.param(criterion, marks=pytest.mark.nightly) for criterion in SLOW),
    ],
    ids=repr,
)
def test_values_and_gradients_are_finite_everywhere(case: Case, criterion: Criterion) -> None:
    """At observed points too, where deviations all but vanish."""
    points = jnp.concatenate([case.points[::97], case.posteriors.x[0, :7]])

    @jax.jit
    def both(posteriors: Any, search: Any) -> Any:
        acquisition = criterion.of(posteriors, search)
        gradient = jax.grad(lambda x: acquisition(x).sum())(points)
        return acquisition(points), gradient, acquisition.standard_error(points)

    values, gradients, errors = both(case.posteriors, case.search)
    assert np.isfinite(values).all() and np.isfinite(gradients).all()
    assert np.ptp(values) > 0.0
    assert (np.asarray(errors) > 0.0).all()
    assert np.isfinite(errors).all() != isinstance(criterion, Thompson)
    assert isinstance(criterion, AdditiveCriterion) == hasattr(criterion, "on_grid")


def test_the_standard_error_is_that_of_the_mean_over_draws(case: Case, moments: Any) -> None:
    points, mean, _, _, _ = moments
    errors = UCB(0.0).of(case.posteriors, case.search).standard_error(points)
    assert np.allclose(errors, mean.std(0, ddof=1) / np.sqrt(NUM_DRAWS), atol=1e-6)
    acquisition = LogPI().of(case.posteriors, case.search)
    probability = np.exp(np.asarray(acquisition.by_draw(points)))
    relative = probability.std(0, ddof=1) / np.sqrt(NUM_DRAWS) / probability.mean(0)
    assert np.allclose(acquisition.standard_error(points), relative, rtol=1e-6)


def test_log_ei_is_the_log_of_the_mean_improvement(case: Case) -> None:
    """Averaged over draws, each with its own best posterior mean as incumbent."""
    acquisition = LogEI().of(case.posteriors, case.search)
    points = case.points[::31]
    normal = np.linspace(-9.0, 9.0, 9001)
    density = norm.pdf(normal) * (normal[1] - normal[0])
    predict, improvements = jax.jit(lambda posterior, x: posterior.predict(x)), []
    for draw in range(NUM_DRAWS):
        posterior = jax.tree.map(lambda leaf, draw=draw: leaf[draw], case.posteriors)
        both = jnp.concatenate([posterior.x[:7], points])
        mean, variance = (np.asarray(moment) for moment in predict(posterior, both))
        incumbent, mean, variance = mean[:7].max(), mean[7:], variance[7:]
        assert np.isclose(acquisition.contexts[draw], incumbent)
        gaps = mean[:, None] + np.sqrt(variance)[:, None] * normal - incumbent
        improvements.append(np.maximum(gaps, 0.0) @ density)
    expected = np.mean(improvements, axis=0)
    assert expected.min() > 1e-4
    assert np.allclose(
        np.exp(jax.jit(Acquisition.__call__)(acquisition, points)), expected, rtol=1e-3
    )


def test_components_are_the_union_of_those_of_all_draws(case: Case) -> None:
    found = {}
    for group, rows in zip(case.search.components.groups, case.search.components.rows, strict=True):
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
