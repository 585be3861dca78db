"""Losses of entropy against quadrature, sampled maxima against brute force."""

from dataclasses import replace
from itertools import combinations, product
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from acquisition_case import LEVELS, NUM_DIMS, NUM_DRAWS, NUM_MEMBERS, Case, evaluate
from scipy.stats import norm

from structbo.acquisition import MES, AdditiveMES
from structbo.models import ConditionedGP


def truncated_entropy_loss(mean: float, deviation: float, maximum: float) -> float:
    """Entropy of a normal minus entropy of the normal truncated at a maximum, by quadrature."""
    grid = np.linspace(mean - 12.0 * deviation, min(maximum, mean + 12.0 * deviation), 20001)
    density = norm.pdf(grid, mean, deviation) / norm.cdf(maximum, mean, deviation)
    integrand = -density * np.log(np.maximum(density, 1e-300))
    cut = np.trapezoid(integrand, grid)
    return float(0.5 * np.log(2.0 * np.pi * np.e * deviation**2) - cut)


@pytest.mark.parametrize("maxima", [pytest.param("sampled", marks=pytest.mark.nightly), "gumbel"])
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


@pytest.mark.nightly
def test_maxima_of_components_are_those_of_sample_paths(case: Case, acquire: Any) -> None:
    """The reference is brute force over fine grids of pairs, or candidates for the residual."""
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


@pytest.mark.nightly
def test_sampled_maxima_are_those_of_sample_paths_on_the_grid(case: Case) -> None:
    """Without a residual, the maximum of a function is over all grid points."""

    def without_residual(gp: ConditionedGP) -> ConditionedGP:
        return replace(gp, covariance=replace(gp.covariance, residual=None))

    posteriors = jax.vmap(without_residual)(case.posteriors)
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
