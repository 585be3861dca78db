"""Structures whose weights, directions or hyper-parameters depend on what is sampled.

Each was wrong once, silently: the moves of a block took for granted that only the set of components
changes. The posterior over all values is enumerated from the model's own log density.
"""

from dataclasses import replace
from functools import partial
from itertools import product

import jax.numpy as jnp
import numpyro
import pytest
from numpyro import handlers

from structbo.models import (
    ActiveBernoulli,
    AdditiveCovariance,
    AdditiveGP,
    Decomposition,
    EdgeBernoulli,
    MarginalGP,
    cliques,
    pairs,
    projected,
    squared_exponential,
)
from structbo.samplers import ActiveGibbs, EdgeGibbs, InformedEdges

LENGTHSCALE = jnp.array([0.3, 0.4, 0.5, 0.6])


def weighted(num_dims: int, components) -> Decomposition:
    """Pairs or cliques that the user weighs otherwise than their sizes do."""
    decomposition = components(numpyro.sample("Z", EdgeBernoulli(num_dims, 0.4)))
    size = decomposition.members.sum(1)
    weights = jnp.where(size == 2, 0.3, jnp.where(size == 1, 1.0, 0.0 + 0.1 * (size > 2)))
    return replace(decomposition, weights=weights)


@pytest.mark.parametrize(
    ("block", "num_moves"),
    [
        pytest.param(EdgeGibbs, 6, id="EdgeGibbs", marks=pytest.mark.nightly),
        pytest.param(InformedEdges, 2, id="InformedEdges"),
    ],
)
@pytest.mark.parametrize("components", [pairs, pytest.param(cliques, marks=pytest.mark.nightly)])
def test_replaced_weights(
    block,
    num_moves,
    components,
    effort,
    data,
    all_graphs,
    posterior_over,
    run_block,
    check_frequencies,
):
    fixed = {"lengthscale": LENGTHSCALE, "outputscale": 1.0, "noise": 0.1}
    model = handlers.condition(AdditiveGP(partial(weighted, components=components)), data=fixed)
    graphs, args = all_graphs(4), data(8, 4)
    posterior = posterior_over(model, args, "Z", graphs)
    assert 0.02 < posterior.max() < 0.9
    starts = jnp.zeros((20, 4, 4), int)
    draws = run_block(block(model, num_moves), args, "Z", starts, 50 + int(3000 * effort))[:, 50:]
    check_frequencies(draws, graphs, posterior, 0.02)


@pytest.mark.nightly
def test_directions_that_depend_on_an_active_set(
    effort, data, posterior_over, run_block, check_frequencies
):
    W = jnp.array([[1.0, 0.2], [0.3, 1.0], [0.5, -0.6]])

    def structure(num_dims: int) -> Decomposition:
        active = numpyro.sample("active", ActiveBernoulli(num_dims, 0.5))
        return projected(Decomposition.of(jnp.eye(2, dtype=bool)), W * active[:, None])

    fixed = {"lengthscale": LENGTHSCALE[:2], "outputscale": 1.0, "noise": 0.5}
    model = handlers.condition(AdditiveGP(structure), data=fixed)
    sets, args = jnp.array(list(product([0, 1], repeat=3))), data(8, 3)
    posterior = posterior_over(model, args, "active", sets)
    assert 0.2 < posterior.max() < 0.95
    draws = run_block(
        ActiveGibbs(model), args, "active", jnp.ones((20, 3), int), 50 + int(2000 * effort)
    )[:, 50:]
    check_frequencies(draws, sets, posterior)


@pytest.mark.parametrize(
    "block", [EdgeGibbs, pytest.param(InformedEdges, marks=pytest.mark.nightly)]
)
def test_a_variance_that_depends_on_the_graph(
    block, effort, data, all_graphs, posterior_over, run_block, check_frequencies
):
    def model(X, y=None, mask=None):
        Z = numpyro.sample("Z", EdgeBernoulli(3, 0.4))
        covariance = AdditiveCovariance(
            decomposition=pairs(Z),
            lengthscale=LENGTHSCALE[:3],
            outputscale=0.3 + 0.3 * Z.sum() / 2,
            strengths=None,
            residual=None,
            kernel=squared_exponential,
        )
        return numpyro.sample("y", MarginalGP(covariance, X, jnp.array(0.1)), obs=y)

    graphs, args = all_graphs(3), data(8, 3)
    posterior = posterior_over(model, args, "Z", graphs)
    assert 0.15 < posterior.max() < 0.9
    starts = jnp.zeros((20, 3, 3), int)
    draws = run_block(block(model, num_moves=2), args, "Z", starts, 50 + int(3000 * effort))[:, 50:]
    check_frequencies(draws, graphs, posterior)
