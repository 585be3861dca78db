"""The analysis of variance of a drawn function equals the one of its values on a product grid."""

import re
from itertools import combinations
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import numpyro.distributions as dist
import pytest
from grid_anova import grid_terms, grid_variances
from scipy.stats import qmc

from structbo.data import Data
from structbo.draws import condition
from structbo.models import (
    AdditiveGP,
    LevelCorrelations,
    Periodic,
    Residual,
    SamplePath,
    cliques,
    edges,
    matern32,
    pairs,
)
from structbo.posterior.anova import parts_of, term_variances
from structbo.posterior.quadrature import Quadrature

NUM_DIMS, NUM_POINTS, CATEGORY = 4, 9, 3
ROUNDING = 1e-5
"""Drawn functions of dimensions with other kernels solve nearly singular equations."""
TRIANGLE = np.array([[0, 1, 1, 0], [1, 0, 1, 1], [1, 1, 0, 0], [0, 1, 0, 0]])
STRETCH = {"rho": 0.6, "kappa": 1.5}
LEVELS = {"level_correlations_3": np.linalg.cholesky(0.5 * np.eye(3) + 0.5)[None]}
MODELS: dict[str, tuple[AdditiveGP, dict[str, Any]]] = {
    "cliques": (AdditiveGP(edges(0.5, cliques), matern32, categorical=(CATEGORY,)), {}),
    "pairs and residual": (
        AdditiveGP(edges(0.5, pairs), residual=Residual(), categorical=(CATEGORY,)),
        STRETCH,
    ),
    "common": (
        AdditiveGP(
            edges(0.5, pairs),
            residual=Residual(common=dist.Beta(1.0, 1.0)),
            categorical=(CATEGORY,),
        ),
        {**STRETCH, "common": 0.5},
    ),
    "own kernels": (
        AdditiveGP(
            edges(0.5, cliques),
            residual=Residual(),
            kernels={1: Periodic(), CATEGORY: LevelCorrelations(3)},
        ),
        {"period": np.array([0.8]), **STRETCH, **LEVELS},
    ),
}


def drawn(name: str) -> tuple[SamplePath, Quadrature, np.ndarray]:
    """A function from a posterior, nodes or levels of each dimension, and its values there."""
    model, sites = MODELS[name]
    rng = np.random.default_rng(0)
    X = rng.random((NUM_POINTS, NUM_DIMS))
    X[:, CATEGORY] = np.arange(NUM_POINTS) % 3 / 2
    draw = {"Z": TRIANGLE, "lengthscale": np.array([0.4, 0.7, 0.3, 1.2]), **sites}
    draw |= {"outputscale": 2.0, "noise": 0.01}
    draws = {site: jnp.asarray(value)[None] for site, value in draw.items()}
    data = Data(X, np.sin(9 * X[:, 0]) + X[:, 1] * X[:, 2], np.ones(NUM_POINTS, bool))
    quadrature = Quadrature.of([None, None, None, np.unique(X[:, CATEGORY])], 6)
    mesh = np.stack(np.meshgrid(*quadrature.nodes.T, indexing="ij"), -1)

    @jax.jit
    def values(points: jax.Array) -> tuple[SamplePath, jax.Array]:
        gp = jax.tree.map(lambda v: v[0], condition(model, draws, data))
        path = gp.sample_path(jax.random.key(0), 32)
        return path, path(points)

    path, found = values(mesh.reshape(-1, NUM_DIMS))
    return path, quadrature, np.asarray(found).reshape(mesh.shape[:-1])


@pytest.fixture(
    scope="module",
    params=[
        pytest.param("cliques", marks=pytest.mark.nightly),
        pytest.param("pairs and residual", marks=pytest.mark.nightly),
        "common",
        "own kernels",
    ],
)
def case(request: pytest.FixtureRequest) -> tuple[SamplePath, Quadrature, np.ndarray]:
    return drawn(request.param)


def test_variances_are_those_on_the_grid(case: Any):
    """Up to pairs they agree to rounding; beyond, at thousands of points, to a few percent."""
    path, quadrature, values = case
    expected = grid_variances(values, quadrature.weights)
    uniforms = qmc.Sobol(NUM_DIMS, seed=0).random(4096)
    triples = np.array([*combinations(range(NUM_DIMS), 3)])
    found = jax.jit(term_variances)(path, quadrature, uniforms, triples)
    np.testing.assert_allclose(
        found.first_order, [expected[(d,)] for d in range(NUM_DIMS)], ROUNDING
    )
    for i, j in zip(*np.triu_indices(NUM_DIMS, 1), strict=True):
        np.testing.assert_allclose(found.pairs[i, j], expected[i, j], ROUNDING, 1e-12)
        assert found.pairs[j, i] == found.pairs[i, j]
    higher = {dims: variance for dims, variance in expected.items() if len(dims) > 2}
    assert sum(higher.values()) > 0.003 * values.var()
    np.testing.assert_allclose(found.higher_order, sum(higher.values()), rtol=0.05)
    of_three = [expected[tuple(triple)] for triple in triples.tolist()]
    np.testing.assert_allclose(found.triples, of_three, rtol=0.1, atol=1e-12)
    for d in range(NUM_DIMS):
        with_dim = sum(variance for dims, variance in higher.items() if d in dims)
        np.testing.assert_allclose(found.higher_order_with[d], with_dim, rtol=0.06, atol=1e-12)


def test_no_factorization_is_batched(case: Any):
    """Two batches at a time deadlock on two cores."""
    path, quadrature, _ = case
    program = str(jax.make_jaxpr(term_variances)(path, quadrature, np.zeros((8, NUM_DIMS))))
    shapes = re.findall(r"f64\[([\d,]+)\] = (?:cholesky|triangular_solve)", program)
    assert bool(shapes) == bool(path.own_functions)
    assert all(shape.count(",") == 1 for shape in shapes)


def test_terms_beyond_pairs_are_those_on_the_grid(case: Any):
    """At every node, the sum of all higher terms and the sums with each dimension agree."""
    path, quadrature, values = case
    terms = grid_terms(values, quadrature.weights)
    places = np.indices(values.shape).reshape(NUM_DIMS, -1).T

    @jax.jit
    def higher(path: SamplePath, places: Any) -> Any:
        return [part.higher_order(places) for part in parts_of(path, quadrature)]

    found = higher(path, places)
    everything, with_dim = (sum(part) for part in zip(*found, strict=True))

    def expected(d: int | None) -> np.ndarray:
        chosen = [t for dims, t in terms.items() if len(dims) > 2 and (d is None or d in dims)]
        return np.broadcast_to(sum(chosen), values.shape).ravel()

    np.testing.assert_allclose(everything, expected(None), atol=ROUNDING)
    for d in range(NUM_DIMS):
        np.testing.assert_allclose(with_dim[d], expected(d), atol=ROUNDING)


@pytest.mark.nightly
def test_quadrature_is_fine_enough():
    """Doubling the nodes changes no share of a pair by more than a thousandth, lengthscale 0.1."""
    model = AdditiveGP(edges(0.5, pairs))
    rng = np.random.default_rng(1)
    draw = {"Z": TRIANGLE, "lengthscale": np.full(4, 0.1), "outputscale": 1.0, "noise": 0.01}
    draws = {site: jnp.asarray(value)[None] for site, value in draw.items()}
    data = Data(rng.random((30, 4)), rng.standard_normal(30), np.ones(30, bool))
    gp = jax.tree.map(lambda v: v[0], condition(model, draws, data))
    path, uniforms = gp.sample_path(jax.random.key(0), 64), jnp.zeros((8, 4))
    coarse, fine = (
        term_variances(path, Quadrature.of([None] * NUM_DIMS, q), uniforms) for q in (24, 48)
    )
    scale = fine.first_order.sum() + np.triu(fine.pairs).sum()
    np.testing.assert_allclose(coarse.first_order / scale, fine.first_order / scale, atol=1e-3)
    np.testing.assert_allclose(coarse.pairs / scale, fine.pairs / scale, atol=1e-3)
