"""Additive acquisitions against single-component posteriors, sample paths and brute force."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from acquisition_case import CATEGORICAL, GRID, LEVELS, NUM_DIMS, NUM_DRAWS, NUM_GRID, Case, one

from structbo.acquisition import AdditiveUCB, Components, HalfLog, Thompson
from structbo.maximizers import maximize_additive
from structbo.models import ConditionedGP


def test_the_additive_bound_counts_every_component_and_the_residual(case: Case) -> None:
    @jax.jit
    def bounds_and_residuals(posteriors: Any, points: Any) -> Any:
        bounds = AdditiveUCB().of(posteriors, case.search).by_draw(points)
        return bounds, jax.lax.map(lambda one: one.predict_residual(points), posteriors)

    bounds, residuals = bounds_and_residuals(case.posteriors, case.points[::101])
    means, variances = (np.asarray(moment) for moment in residuals)
    expected = means + np.sqrt(float(HalfLog()(7, NUM_DIMS)) * variances)
    for own, residual, values in zip(bounds, expected, case.values["ucb"], strict=True):
        components = sum(v[::101] for v in values.values())
        assert np.allclose(own, components + residual, atol=1e-4)


def test_a_thompson_sample_is_a_whole_sample_path(case: Case) -> None:
    @jax.jit
    def sums_and_paths(paths: Any, points: Any) -> Any:
        return jax.lax.map(lambda p: (Thompson().values(p, None, points), p(points)), paths)

    sums, paths = sums_and_paths(case.acquisitions["thompson"].draws, case.points[::101])
    assert np.ptp(paths) > 0.1
    assert np.allclose(sums, paths, atol=1e-5)


@pytest.mark.nightly
def test_a_thompson_sample_has_the_moments_of_the_posterior(case: Case) -> None:
    """Over many keys the moments are the mean over draws and the law of total variance."""
    points = jnp.asarray(case.points[::301])

    def sample(key: Any) -> Any:
        return Thompson(256).of(case.posteriors, case.search._replace(key=key))(points)

    keys = jax.random.split(jax.random.key(5), 1500)
    samples = np.asarray(jax.jit(lambda keys: jax.lax.map(sample, keys))(keys))
    predict = jax.jit(ConditionedGP.predict)
    moments = [predict(one(case, draw), points) for draw in range(NUM_DRAWS)]
    means, variances = (np.array(m) for m in zip(*moments, strict=True))
    variance = variances.mean(0) + means.var(0)
    error = np.sqrt(variance / len(keys))
    assert (np.abs(samples.mean(0) - means.mean(0)) < 4.0 * error).all()
    assert np.allclose(samples.var(0), variance, rtol=0.2)


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
    """Otherwise message passing would be recompiled for every posterior."""
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
