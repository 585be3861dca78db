"""FamilyGibbs against the enumerated posterior over all families and all structures inside them.

The draws of a long run, 18,000 and more, are correlated over a few steps; quick runs have a quarter
of them.

The tests were run once against deliberate bugs. Total variation with a bound of 0.02, as for long
runs: increments of a path down in the order of a path up 0.026; structures taken from the wrong end
of a path 0.08. Without the families' prior their probabilities are wrong by 0.15 to 0.20. Quick
runs, whose bound is 0.04, find all but the first.
"""

from functools import partial
from itertools import product

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import pytest
from numpyro import handlers
from numpyro.infer import Gibbs
from numpyro.infer.util import log_density

from structbo.models import (
    AdditiveGP,
    EdgeBernoulli,
    UniformPartition,
    active_sets,
    edges,
    fully_dependent,
    main_effects,
    mixture,
    pairs,
    partitions,
)
from structbo.samplers import ActiveGibbs, EdgeGibbs, FamilyGibbs
from structbo.samplers.family_gibbs import family_sites
from structbo.samplers.registry import BLOCKS

NUM_DIMS, NUM_STEPS, NUM_WARMUP = 3, 900, 100
FIXED = {
    "outputscale": jnp.array(1.0),
    "noise": jnp.array(0.1),
    "lengthscale": jnp.array([0.3, 0.4, 0.5]),
}


def related(num_dims: int):
    """Edges inside the blocks of a random partition are likelier than between them."""
    labels = numpyro.sample("labels", UniformPartition(num_dims))
    probs = jnp.where(labels[:, None] == labels, 0.7, 0.2)
    return pairs(numpyro.sample("Z", EdgeBernoulli(num_dims, probs)))


FAMILIES = {
    "four": (
        {
            "main effects": main_effects(),
            "edges": edges(0.3),
            "partition": partitions(),
            "fully dependent": fully_dependent(),
        },
        [0.2, 0.4, 0.3, 0.1],
        {1: ["edges.Z"], 2: ["partition.labels"]},
    ),
    "three": (
        {"edges": edges(0.3), "active": active_sets(0.4), "fully dependent": fully_dependent()},
        [0.5, 0.3, 0.2],
        {0: ["edges.Z"], 1: ["active.active"]},
    ),
    "related edges": (
        {"related": related, "fully dependent": fully_dependent()},
        [0.7, 0.3],
        {0: ["related.labels", "related.Z"]},
    ),
}


# Programs with few moves run fast in many chains; programs of partitions compile slowly.
ONE_MOVE = {block.support: partial(block, num_moves=1) for block in (EdgeGibbs, ActiveGibbs)}


@pytest.fixture(
    scope="module",
    params=[
        ("three", ONE_MOVE, 60, 8),
        pytest.param(("four", BLOCKS, 20, 12), marks=pytest.mark.nightly),
        pytest.param(("related edges", BLOCKS, 20, 12), marks=pytest.mark.nightly),
    ],
    ids=lambda param: param[0],
)
def problem(request, effort, data, all_graphs, all_partitions):
    """A model, data, a sampler compiled for any data, and all values of the sites."""
    name, blocks, num_chains, num_points = request.param
    families, probs, owned = FAMILIES[name]
    model = handlers.condition(AdditiveGP(mixture(families, probs)), data=FIXED)
    block = FamilyGibbs(model, num_temperatures=2, blocks=blocks)
    kernel = Gibbs([(block, partial(family_sites, blocks=blocks))])

    @jax.jit
    def sample(X, y, mask):
        def chain(key):
            state = kernel.init(key, 0, None, (X, y), {"mask": mask})

            def step(state, _):
                state = kernel.sample(state, (X, y), {"mask": mask})
                return state, (state.z, state.block_states[0].info["acceptance_rate_FamilyGibbs"])

            return jax.lax.scan(step, state, None, length=NUM_WARMUP + int(NUM_STEPS * effort))[1]

        return jax.vmap(chain)(jax.random.split(jax.random.key(0), num_chains))

    support = {
        "Z": all_graphs(NUM_DIMS),
        "labels": all_partitions(NUM_DIMS),
        "active": np.array(list(product([0, 1], repeat=NUM_DIMS))),
    }
    sites = [site for names in owned.values() for site in names]
    rows = product(range(len(families)), *[support[s.rpartition(".")[2]] for s in sites])
    columns = [jnp.array(np.stack(c)) for c in zip(*rows, strict=True)]
    points = data(num_points, NUM_DIMS)
    return model, points, sample, dict(zip(["family", *sites], columns, strict=True)), owned


def flattened(values, sites):
    """The values of some sites side by side, shape (S, width)."""
    family = np.asarray(values["family"]).ravel()
    parts = [np.asarray(values[s]).reshape(len(family), -1) for s in sites]
    return np.concatenate([family[:, None], *parts], axis=1)


def chosen(values, owned):
    """The flattened values, with sites of families that are not chosen set to -1."""
    family = np.asarray(values["family"]).ravel()
    parts = [flattened(values, names) for names in owned.values()]
    masked = [
        np.where((family == k)[:, None], part, -1) for k, part in zip(owned, parts, strict=True)
    ]
    return np.concatenate([family[:, None], *masked], axis=1)


@pytest.mark.parametrize(
    "is_flat",
    [
        pytest.param(True, id="flat likelihood", marks=pytest.mark.nightly),
        pytest.param(False, id="likelihood"),
    ],
)
def test_frequencies(problem, is_flat, effort, total_variation):
    model, (X, y), sample, values, owned = problem
    args = (X, y, jnp.full(len(y), not is_flat))
    density = jax.jit(jax.vmap(lambda v: log_density(model, args, {}, v)[0]))
    posterior = np.asarray(jax.nn.softmax(density(values)))
    families = np.bincount(np.asarray(values["family"]), posterior)
    if not is_flat:
        assert 0.05 < families.max() < 0.8
    draws, moved = sample(*args)
    draws = {s: np.asarray(v[:, NUM_WARMUP:]).reshape(-1, *v.shape[2:]) for s, v in draws.items()}
    frequencies = np.bincount(draws["family"], minlength=len(families)) / len(draws["family"])
    np.testing.assert_allclose(frequencies, families, atol=0.015 / np.sqrt(effort))
    together = chosen(draws, owned), chosen(values, owned)
    states, code = np.unique(together[1], axis=0, return_inverse=True)
    marginal = np.bincount(code.ravel(), posterior)
    assert total_variation(together[0], states, marginal) < 0.02 / np.sqrt(effort)
    sites = [site for names in owned.values() for site in names]
    everything = flattened(draws, sites), flattened(values, sites)
    assert total_variation(*everything, posterior) < 0.04 / np.sqrt(effort)
    assert 0.05 < moved.mean() < 1.0
