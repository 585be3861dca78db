"""Structures that are made of others: the default sampler moves all their sites."""

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
import pytest
from numpyro.infer import MCMC
from numpyro.infer.gibbs import prototype_trace
from numpyro.infer.util import log_density

from structbo.models import (
    ActiveBernoulli,
    AdditiveGP,
    EdgeBernoulli,
    NearIdentity,
    UniformPartition,
    active_sets,
    blocks,
    edges,
    fully_dependent,
    main_effects,
    mixture,
    pairs,
    partitions,
    projected,
)
from structbo.samplers import (
    ActiveGibbs,
    FamilyGibbs,
    Hamiltonian,
    InformedEdges,
    PartitionMoves,
    default_sampler,
)

NUM_DIMS, NUM_SWEEPS = 3, 20


def edges_of_active(num_dims):
    active = numpyro.sample("active", ActiveBernoulli(num_dims, 0.6))
    return pairs(numpyro.sample("Z", EdgeBernoulli(num_dims, 0.4)), active)


def projected_partition(num_dims):
    W = numpyro.sample("W", NearIdentity(num_dims))
    return projected(blocks(numpyro.sample("labels", UniformPartition(num_dims))), W)


def projected_edges(num_dims):
    W = numpyro.sample("W", NearIdentity(num_dims))
    return projected(edges(0.4)(num_dims), W)


def block_model(num_dims):
    """Edges inside the blocks of a random partition are likelier than between them."""
    labels = numpyro.sample("labels", UniformPartition(num_dims))
    inside = numpyro.sample("inside", dist.Beta(4.0, 2.0))
    probs = jnp.where(labels[:, None] == labels, inside, 0.1)
    return pairs(numpyro.sample("Z", EdgeBernoulli(num_dims, probs)))


def domain_graph(num_dims):
    """A graph from the domain says where edges are likely, and is learned how far to trust it."""
    known = jnp.eye(num_dims, k=1) + jnp.eye(num_dims, k=-1)
    trust = numpyro.sample("trust", dist.Uniform(0.5, 1.0))
    probs = jnp.where(known == 1, trust, 1.0 - trust)
    return pairs(numpyro.sample("Z", EdgeBernoulli(num_dims, probs)))


FAMILIES = {
    "edges": edges(dist.Beta(1.0, 4.0)),
    "active": active_sets(0.5),
    "partition": partitions(),
    "fully dependent": fully_dependent(),
}
COMPOSITIONS = {
    "edges of active": (edges_of_active, [InformedEdges, ActiveGibbs, Hamiltonian]),
    "projected partition": (projected_partition, [PartitionMoves, Hamiltonian]),
    "projected edges": (projected_edges, [InformedEdges, Hamiltonian]),
    "block model": (block_model, [InformedEdges, PartitionMoves, Hamiltonian]),
    "domain graph": (domain_graph, [InformedEdges, Hamiltonian]),
    "mixture": (mixture(FAMILIES), [FamilyGibbs, Hamiltonian]),
    "mixture beside edges": (
        lambda D: (edges()(D), mixture(FAMILIES)(D))[1],
        [InformedEdges, FamilyGibbs, Hamiltonian],
    ),
}


# Slow to compile, and put together from the same parts as the others.
SLOW = {"projected edges", "projected partition", "domain graph", "mixture beside edges"}


@pytest.mark.parametrize(
    ("structure", "kinds"),
    [
        pytest.param(*row, id=name, marks=pytest.mark.nightly if name in SLOW else [])
        for name, row in COMPOSITIONS.items()
    ],
)
def test_blocks(structure, kinds):
    kernel = default_sampler(AdditiveGP(structure), num_dims=NUM_DIMS)
    assert [type(block) for block, _ in kernel.blocks] == kinds


def test_two_mixtures_are_too_many():
    inner = mixture({"main effects": main_effects(), "fully dependent": fully_dependent()})
    outer = mixture({"inner": inner, "fully dependent": fully_dependent()})
    with pytest.raises(ValueError, match=r"one mixture.*'family', 'inner\.family'.* in one"):
        default_sampler(lambda X, y=None: outer(X.shape[1]))


@pytest.mark.parametrize(
    "structure",
    [
        pytest.param(structure, id=name, marks=pytest.mark.nightly)
        for name, (structure, _) in COMPOSITIONS.items()
    ],
)
def test_draws_stay_in_the_support_and_move(structure, data):
    model, args = AdditiveGP(structure), data(8, NUM_DIMS)
    mcmc = MCMC(
        default_sampler(model, num_dims=NUM_DIMS),
        num_warmup=0,
        num_samples=NUM_SWEEPS,
        progress_bar=False,
    )
    mcmc.run(jax.random.key(0), *args)
    draws = mcmc.get_samples()
    trace = prototype_trace(model, jax.random.key(0), args, None)
    for name, values in draws.items():
        inside = [trace[name]["fn"].support(value).all() for value in values]
        assert all(inside), name
        assert len(np.unique(np.asarray(values).reshape(NUM_SWEEPS, -1), axis=0)) > 1, name
    density = jax.jit(lambda draw: log_density(model, args, {}, draw)[0])
    assert all(
        np.isfinite(density(jax.tree.map(lambda v, k=k: v[k], draws))) for k in range(NUM_SWEEPS)
    )
