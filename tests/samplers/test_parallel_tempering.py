"""Parallel tempering against enumeration, where the structure's posterior has two modes.

Two of the variables are copies of each other, and either may explain the observations together with
the others. From one explanation to the other single moves lead through structures that explain
nothing, or that the prior forbids: plain samplers stay where they are.

The tests were run once against deliberate bugs.
"""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
import pytest
from numpyro import handlers
from numpyro.infer import HMC, MCMC, Gibbs
from numpyro.infer.util import log_density

import structbo as sb
from structbo.models import AdditiveGP, EdgeBernoulli, edges, partitions
from structbo.samplers import (
    EdgeGibbs,
    InformedEdges,
    ParallelTempering,
    PartitionGibbs,
    PartitionMoves,
    SplitMerge,
    default_sampler,
)
from structbo.samplers.parallel_tempering import swaps

NUM_DIMS = 4
LADDER = np.geomspace(1.0, 0.03, 6)
FIXED = {
    "lengthscale": jnp.array([0.4, 0.4, 0.4, 0.44]),
    "outputscale": jnp.array(1.0),
    "noise": jnp.array(1e-2),
}
RARE = np.full((NUM_DIMS, NUM_DIMS), 1e-4)
RARE[0, 2] = RARE[2, 0] = 2e-4
RARE[0, 1] = RARE[1, 0] = 0.3


def wave(*columns: jax.Array) -> jax.Array:
    """A product of waves: no fewer variables explain any of it."""
    y = jnp.prod(jnp.stack([jnp.cos(2 * jnp.pi * x) for x in columns]), axis=0)
    return y / y.std()


def graphs_with_two_modes() -> tuple:
    """Edge (0, 2) or edge (3, 2), where variable 3 is a copy of 0; edges are improbable."""
    X = np.random.default_rng(0).random((12, NUM_DIMS))
    X[:, 3] = X[:, 0]
    X = jnp.array(X)
    model = handlers.condition(AdditiveGP(edges(RARE)), data=FIXED)
    return model, (X, wave(X[:, 0], X[:, 2])), "Z"


def partitions_with_two_modes() -> tuple:
    """Variables 0, 1, 2 in one block, or 3, 1, 2; no block has four."""
    X = np.random.default_rng(0).random((16, NUM_DIMS))
    X[:, 3] = X[:, 0]
    X = jnp.array(X)
    model = handlers.condition(AdditiveGP(partitions(max_size=3)), data=FIXED)
    return model, (X, wave(X[:, 0], X[:, 1], X[:, 2])), "labels"


def one_block(block, site: str):
    """A factory of kernels with one block."""
    return lambda model: Gibbs([(block(model), [site])])


def run(kernel, args, num_samples, num_chains=1, num_warmup=50, start=None, fields=()):
    mcmc = MCMC(
        kernel,
        num_warmup=num_warmup,
        num_samples=num_samples,
        num_chains=num_chains,
        chain_method="sequential",
        progress_bar=False,
    )
    mcmc.run(jax.random.key(0), *args, init_params=start, extra_fields=fields)
    return mcmc


def tempered_posterior(model, args, site: str, values, beta: float) -> np.ndarray:
    """Probabilities of all values under the prior times a power of the likelihood."""

    def density(value):
        trace = handlers.trace(handlers.substitute(model, data={site: value})).get_trace(*args)
        log_prior = trace[site]["fn"].log_prob(value)
        return log_prior + beta * trace["y"]["fn"].log_prob(args[1])

    return np.asarray(jax.nn.softmax(jax.jit(lambda: jax.lax.map(density, values))()))


PROBLEMS = {
    "graphs": (graphs_with_two_modes, partial(EdgeGibbs, num_flips=4)),
    "graphs, informed": (graphs_with_two_modes, partial(InformedEdges, num_moves=2)),
    "partitions": (partitions_with_two_modes, partial(PartitionGibbs, num_visits=2)),
}


@pytest.mark.parametrize(("problem", "block"), PROBLEMS.values(), ids=PROBLEMS.keys())
def test_two_modes_at_every_temperature(
    problem, block, all_graphs, all_partitions, total_variation
):
    """Every replica against its own enumerated posterior; the first is the one that is reported."""
    model, args, site = problem()
    values = all_graphs(NUM_DIMS) if site == "Z" else jnp.asarray(all_partitions(NUM_DIMS))
    kernel = ParallelTempering(model, one_block(block, site), LADDER)
    fields = ("swap_probs", *(f"replicas.{k}.z" for k in range(len(LADDER))))
    mcmc = run(kernel, args, 6000, fields=fields)
    found = mcmc.get_extra_fields()
    np.testing.assert_array_equal(mcmc.get_samples()[site], found["replicas.0.z"][site])
    for k, beta in enumerate(LADDER):
        posterior = tempered_posterior(model, args, site, values, beta)
        print(
            k,
            beta,
            total_variation(found[f"replicas.{k}.z"][site], values, posterior),
            np.sort(posterior)[-3:],
            found["swap_probs"].mean(0),
        )


@pytest.mark.parametrize(
    ("problem", "block"),
    [
        (graphs_with_two_modes, EdgeGibbs),
        (graphs_with_two_modes, InformedEdges),
        (partitions_with_two_modes, PartitionGibbs),
        (partitions_with_two_modes, SplitMerge),
        (partitions_with_two_modes, PartitionMoves),
    ],
)
def test_plain_samplers_stay_in_one_mode(problem, block, run_block):
    """From either mode: they never see the other."""
    model, args, site = problem()
    none = jnp.zeros((NUM_DIMS, NUM_DIMS), int)
    modes = {
        "Z": [none.at[jnp.array([i, 2]), jnp.array([2, i])].set(1) for i in (0, 3)],
        "labels": [jnp.array([0, 0, 0, 1]), jnp.array([0, 1, 1, 1])],
    }[site]
    for mode, other in (modes, modes[::-1]):
        draws = run_block(block(model), args, site, mode[None], 1000)[0]
        inside = (draws == other).reshape(len(draws), -1).all(1)
        here = (draws == mode).reshape(len(draws), -1).all(1)
        print(block.__name__, here.mean(), inside.mean())
