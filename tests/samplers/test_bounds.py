"""Chains that start where the density is zero find the bounds of a structure."""

from dataclasses import replace
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import pytest
from numpyro import handlers

from structbo.models import (
    ActiveBernoulli,
    AdditiveGP,
    Decomposition,
    EdgeBernoulli,
    cliques,
    pairs,
    subset,
)
from structbo.samplers import ActiveGibbs, EdgeFlips, EdgeGibbs, InformedEdges
from structbo.samplers.conditional import Conditional

NUM_DIMS, NUM_STEPS = 5, 60
RNG = np.random.default_rng(0)
DATA = RNG.random((6, NUM_DIMS)), RNG.normal(size=6)
FIXED = {"lengthscale": np.ones(NUM_DIMS), "outputscale": 1.0, "noise": 0.1}


def three_or_more(num_dims: int) -> Decomposition:
    active = numpyro.sample("active", ActiveBernoulli(num_dims, 0.3))
    return replace(subset(active), valid=active.sum() >= 3)


def one_or_two(num_dims: int) -> Decomposition:
    active = numpyro.sample("active", ActiveBernoulli(num_dims, 0.9))
    return replace(subset(active), valid=(active.sum() > 0) & (active.sum() < 3))


def connected(components, num_dims: int) -> Decomposition:
    """A graph with a path between any two dimensions."""
    Z = numpyro.sample("Z", EdgeBernoulli(num_dims, 0.3))
    steps = jnp.linalg.matrix_power(jnp.eye(num_dims) + Z, num_dims)
    return replace(components(Z), valid=(steps > 0).all())


@pytest.mark.parametrize("ones", [0, 1])
@pytest.mark.parametrize(
    ("block", "structure"),
    [
        (ActiveGibbs, three_or_more),
        (ActiveGibbs, one_or_two),
        (EdgeFlips, partial(connected, cliques)),
        (EdgeGibbs, partial(connected, cliques)),
        (InformedEdges, partial(connected, pairs)),
    ],
)
def test_bounds_that_need_few_or_many_ones_are_found(block, structure, ones: int):
    model = handlers.condition(AdditiveGP(structure), data=FIXED)
    (site,) = handlers.trace(handlers.seed(model, 0)).get_trace(*DATA).keys() & {"Z", "active"}
    all_ones = jnp.ones(NUM_DIMS, int) if site == "active" else 1 - jnp.eye(NUM_DIMS, dtype=int)
    start = ones * all_ones

    def step(value, key):
        conditional = Conditional(model, site, value, DATA, {})
        return block(model).update(key, conditional, value)[0], conditional.log_density(value)

    @jax.jit
    def run(key):
        return jax.lax.scan(step, start, jax.random.split(key, NUM_STEPS))

    for seed in range(3):
        _, log_density = run(jax.random.key(seed))
        assert np.isfinite(log_density[-1])
        inside = np.flatnonzero(np.isfinite(log_density))
        assert len(inside) == NUM_STEPS - inside[0], "no chain leaves the bounds again"
