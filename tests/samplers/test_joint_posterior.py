"""The default sampler of each family where lengthscales are learned too, against enumeration.

Lengthscales take two values, so that all pairs of a structure and a vector of lengthscales can be
listed. The tests compare frequencies of structures and, separately, of lengthscales.
"""

from itertools import product

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpyro import handlers
from numpyro.infer.util import log_density

from structbo.models import AdditiveGP, FiniteUniform, active_sets, cliques, edges, partitions
from structbo.samplers import default_sampler

LEVELS = [0.2, 0.8]
FAMILIES = {
    "partitions": ("labels", 5, partitions()),
    "active sets": ("active", 5, active_sets(0.4)),
    "forests": ("Z", 4, edges(0.5, cliques, max_width=1)),
    "treewidth 2": ("Z", 4, edges(0.5, cliques, max_width=2)),
}


@pytest.mark.nightly
@pytest.mark.parametrize(
    "family",
    [
        pytest.param("partitions", marks=pytest.mark.nightly),
        "active sets",
        pytest.param("forests", marks=pytest.mark.nightly),
        pytest.param("treewidth 2", marks=pytest.mark.nightly),
    ],
)
def test_structures_and_lengthscales(
    family, effort, data, all_graphs, all_partitions, check_frequencies
):
    site, num_dims, structure = FAMILIES[family]
    args = data(8, num_dims)
    scalars = {"outputscale": jnp.array(1.0), "noise": jnp.array(0.1)}
    gp = AdditiveGP(structure, lengthscale=FiniteUniform(LEVELS))
    model = handlers.condition(gp, data=scalars)
    structures = {
        "labels": lambda: jnp.array(all_partitions(num_dims)),
        "active": lambda: jnp.array(list(product([0, 1], repeat=num_dims))),
        "Z": lambda: all_graphs(num_dims),
    }[site]()
    lengthscales = jnp.array(list(product(LEVELS, repeat=num_dims)))

    def density(value, lengthscale):
        return log_density(model, args, {}, {site: value, "lengthscale": lengthscale})[0]

    every = jax.vmap(jax.vmap(density, in_axes=(None, 0)), in_axes=(0, None))
    joint = np.asarray(jax.jit(every)(structures, lengthscales))
    joint = np.exp(joint - joint.max())
    joint /= joint.sum()
    marginals = {site: joint.sum(1), "lengthscale": joint.sum(0)}
    # Neither marginal is that at fixed values of the other.
    given = joint / joint.sum(0)
    assert 0.5 * np.abs(given - joint.sum(1)[:, None]).sum(0).max() > 0.1

    kernel = default_sampler(model, num_dims=num_dims)

    def chain(key):
        def step(state, _):
            state = kernel.sample(state, args, {})
            return state, state.z

        state = kernel.init(key, 0, None, args, {})
        return jax.lax.scan(step, state, length=50 + int(800 * effort))[1]

    keys = jax.random.split(jax.random.key(0), 20)
    draws = jax.jit(lambda: jax.lax.map(chain, keys))()
    check_frequencies(draws[site][:, 50:], structures, marginals[site], 0.03)
    check_frequencies(draws["lengthscale"][:, 50:], lengthscales, marginals["lengthscale"], 0.03)
