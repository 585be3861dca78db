"""Covariances and moments on lines along one dimension equal the ones at the same points."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import numpyro.distributions as dist
import pytest
from structure_registry import NUM_DIMS, STRUCTURES

from structbo.models import (
    AdditiveGP,
    LevelCorrelations,
    MarginalGP,
    Periodic,
    Residual,
    cliques,
    edges,
    matern52,
)
from structbo.models.likelihood import likelihood_site
from structbo.models.prototype import prior_trace

NUM_LINES, NUM_ON_LINE = 3, 5
MODELS = {name: AdditiveGP(make()) for name, make in STRUCTURES.items()} | {
    "residual": AdditiveGP(edges(0.7), matern52, residual=Residual()),
    "common": AdditiveGP(
        edges(0.7), residual=Residual(common=dist.Beta(2.0, 1.0)), kernels={2: LevelCorrelations(3)}
    ),
    "common and categorical": AdditiveGP(
        edges(0.7), residual=Residual(common=dist.Beta(2.0, 1.0)), categorical=(1,)
    ),
    "relevance": AdditiveGP(edges(0.7, cliques), relevance=dist.LogNormal(0.0, 1.0)),
    "categorical": AdditiveGP(edges(0.7), residual=Residual(), categorical=(1,)),
    "own kernels": AdditiveGP(
        edges(0.7), residual=Residual(), kernels={0: Periodic(), 2: LevelCorrelations(3)}
    ),
}
RNG = np.random.default_rng(0)
LEVELS = np.array([0.0, 0.5, 1.0])
DATA = RNG.random((9, NUM_DIMS))
DATA[:, 1:] = RNG.choice(LEVELS, (9, 2))


def lines(dim: int) -> np.ndarray:
    """Points that differ in one coordinate from the first of their line."""
    points = np.repeat(DATA[:NUM_LINES, None], NUM_ON_LINE, axis=1)
    steps = RNG.random((NUM_LINES, NUM_ON_LINE - 1))
    points[:, 1:, dim] = np.round(2 * steps) / 2 if dim else steps
    return points


@pytest.mark.parametrize("name", MODELS)
def test_a_line_is_its_points(name: str) -> None:
    trace = prior_trace(MODELS[name], NUM_DIMS)
    likelihood: MarginalGP = trace[likelihood_site(trace)]["fn"]
    mask = jnp.arange(len(DATA)) < 7

    @jax.jit
    def both(data: jax.Array, x: jax.Array, dim: jax.Array) -> tuple[Any, Any]:
        gp = MarginalGP(likelihood.covariance, data, jnp.array(0.1), mask).condition(data[:, 0])
        points = x.reshape(-1, NUM_DIMS)
        by_points = gp.covariance(points, data), *gp.predict(points)
        return by_points, (gp.covariance.on_lines(x, dim, data), *gp.predict_on_lines(x, dim))

    with jax.enable_x64(True):
        for dim in range(NUM_DIMS):
            by_points, on_lines = both(DATA, lines(dim), dim)
            for expected, found in zip(by_points, on_lines, strict=True):
                assert found.shape == (NUM_LINES, NUM_ON_LINE, *expected.shape[1:])
                np.testing.assert_allclose(found.reshape(expected.shape), expected, atol=1e-12)
                assert np.ptp(expected) > 0.0
