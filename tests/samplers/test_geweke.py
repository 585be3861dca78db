"""Getting it right (Geweke 2004): the composed samplers leave the joint distribution invariant.

A successive-conditional simulator is a Gibbs sampler of parameters *and observations*: the blocks
under test move the parameters given y, one more block draws y given the parameters. Whatever the
number of observations, its stationary distribution is the prior, from which independent draws are
at hand. Chains start there and are independent, so the means of all chains give a standard error
without an estimate of autocorrelation. Long runs of 100 chains see errors of a mean by 0.12 of its
standard deviation, quick ones of 25 by 0.25.
"""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
import pytest
from numpyro import handlers
from numpyro.infer import CustomGibbs, Gibbs
from numpyro.infer.gibbs import GibbsState, latent_sample_sites

from structbo.models import (
    AdditiveGP,
    Decomposition,
    NearIdentity,
    active_sets,
    cliques,
    edges,
    partitions,
    projected,
)
from structbo.posterior import Structures
from structbo.samplers import EdgeGibbs, RestrictedSplitMerge, default_sampler

NUM_POINTS = 5
NUM_CHAINS, NUM_STEPS, NUM_PRIOR_DRAWS = 100, 100, 10_000
PRIORS = {
    "lengthscale": dist.LogNormal(-1.0, 0.3),
    "outputscale": dist.LogNormal(0.5, 0.3),
    "noise": dist.LogNormal(-2.0, 0.3),
}
"""Light-tailed, so that a few observations say something about the structure."""

Values = dict[str, jax.Array]


def directions(num_dims: int) -> Decomposition:
    """A sum of functions of one direction each."""
    W = numpyro.sample("W", NearIdentity(num_dims))
    return projected(Decomposition.of(jnp.eye(num_dims, dtype=bool)), W)


FAMILIES = {
    "pairs": (edges(0.4), 3, None),
    "edges": (edges(0.4, cliques), 3, None),
    "edges, EdgeGibbs": (edges(0.4, cliques), 3, EdgeGibbs),
    "forests": (edges(0.6, cliques, max_width=1), 3, None),
    "partitions": (partitions(), 3, None),
    "partitions, RestrictedSplitMerge": (partitions(), 3, RestrictedSplitMerge),
    "active sets": (active_sets(0.4), 3, None),
    "directions": (directions, 2, None),
}
"""A structure, its number of dimensions, and a block in place of the default one."""


def simulator(model: AdditiveGP, points: jax.Array, block: Callable | None) -> Gibbs:
    """The blocks of the default sampler, and one that draws y given the parameters."""

    def draw_y(rng_key, gibbs_sites, hmc_sites):
        return {"y": handlers.seed(handlers.substitute(model, data=hmc_sites), rng_key)(points)}

    composed = default_sampler(model, num_dims=points.shape[1])
    blocks = [(kernel.wrap_model(lambda _: model), sites) for kernel, sites in composed.blocks]
    if block is not None:
        blocks[0] = (block(model), blocks[0][1])
    return Gibbs([*blocks, (CustomGibbs(draw_y), ["y"])])


def quantities(model: AdditiveGP, points: jax.Array, values: Values) -> jax.Array:
    """Continuous sites, logarithms of the positive ones, and what the components are."""
    substituted = handlers.substitute(handlers.seed(model, 0), data=values)
    likelihood = handlers.trace(substituted).get_trace(points, values["y"])["y"]["fn"]
    found = Structures.of(likelihood.covariance)
    parts = [jnp.log(values[name]) for name in PRIORS]
    parts += [values["W"]] if "W" in values else []
    parts += [found.together, found.active, found.num_components]
    return jnp.concatenate([jnp.ravel(part).astype(float) for part in parts])


def started_at(values: Values, state: GibbsState) -> GibbsState:
    """The state with other values: `Hamiltonian` starts from the most probable of several."""

    def placed(part: Any) -> Any:
        return part._replace(z={name: values[name].astype(z.dtype) for name, z in part.z.items()})

    return placed(state)._replace(block_states=tuple(map(placed, state.block_states)))


def check_invariance(model: AdditiveGP, points: jax.Array, kernel: Gibbs, num_chains: int) -> None:
    def prior(key: jax.Array) -> Values:
        trace = handlers.trace(handlers.seed(model, key)).get_trace(points)
        return {name: trace[name]["value"] for name in latent_sample_sites(trace)}

    keys = jax.random.split(jax.random.key(1), NUM_PRIOR_DRAWS)
    draws = jax.jit(lambda: jax.lax.map(lambda k: quantities(model, points, prior(k)), keys))()
    location, scale = draws.mean(0), draws.std(0)
    (varies,) = np.nonzero(np.asarray(scale) > 1e-9)

    def moments(found: jax.Array) -> jax.Array:
        standard = ((found - location) / scale)[..., varies]
        return jnp.concatenate([standard, standard**2], -1)

    def chain(key: jax.Array) -> jax.Array:
        key_prior, key_kernel = jax.random.split(key)
        start = prior(key_prior)
        state = started_at(start, kernel.init(key_kernel, 0, start, (points,), {}))
        constrain = kernel.get_constrain_fn((points,), {})

        def step(state, _):
            state = kernel.sample(state, (points,), {})
            return state, moments(quantities(model, points, constrain(state.z)))

        return jax.lax.scan(step, state, length=NUM_STEPS)[1].mean(0)

    keys = jax.random.split(jax.random.key(0), num_chains)
    means = np.asarray(jax.jit(lambda: jax.lax.map(chain, keys))())
    expected = np.asarray(moments(draws))
    spread = means.std(0, ddof=1)
    error = np.sqrt(spread**2 / num_chains + expected.var(0) / NUM_PRIOR_DRAWS)
    z = (means.mean(0) - expected.mean(0)) / error
    assert np.abs(z).max() < 4
    # A sampler that never moves is invariant too: chains must forget where they started.
    assert spread[: len(varies)].max() < 0.5


# What these blocks draw is compared with enumerated posteriors in the other tests of samplers.
LONG = {*FAMILIES} - {"edges"}


@pytest.mark.nightly
@pytest.mark.parametrize(
    "family",
    [
        pytest.param(family, marks=[pytest.mark.nightly] if family in LONG else [])
        for family in FAMILIES
    ],
)
def test_prior_is_invariant(family, effort):
    structure, num_dims, block = FAMILIES[family]
    model = AdditiveGP(structure, **PRIORS)
    points = jnp.array(np.random.default_rng(5).random((NUM_POINTS, num_dims)))
    check_invariance(model, points, simulator(model, points, block), int(NUM_CHAINS * effort))
