"""What holds for every structure of the registry."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpyro import handlers
from structure_registry import NUM_DIMS, STRUCTURES

from structbo.models import AdditiveGP, Decomposition
from structbo.models.decomposition import Structure
from structbo.models.gram import component_product

NUM_DRAWS = 40


class Drawn(NamedTuple):
    """Decompositions, values of the sites, log densities of all sites together."""

    decompositions: Decomposition
    values: dict[str, jax.Array]
    log_densities: jax.Array


@pytest.fixture(scope="module", params=STRUCTURES)
def structure(request: pytest.FixtureRequest) -> Structure:
    return STRUCTURES[request.param]()


@pytest.fixture(scope="module")
def drawn(structure: Structure) -> Drawn:
    def draw(key: jax.Array) -> Drawn:
        with handlers.seed(rng_seed=key), handlers.trace() as trace:
            decomposition = structure(NUM_DIMS)
        sites = {name: site for name, site in trace.items() if site["type"] == "sample"}
        values = {name: site["value"] for name, site in sites.items()}
        densities = [site["fn"].log_prob(site["value"]).sum() for site in sites.values()]
        return Drawn(decomposition, values, sum(densities, jnp.array(0.0)))

    keys = jax.random.split(jax.random.key(0), NUM_DRAWS)
    return jax.jit(lambda keys: jax.lax.map(draw, keys))(keys)


def test_draws_are_components_inside_all_bounds(drawn: Drawn):
    decompositions = drawn.decompositions
    members, weights = np.asarray(decompositions.members), np.asarray(decompositions.weights)
    assert members.dtype == bool and members.shape[::2] == (NUM_DRAWS, NUM_DIMS)
    assert weights.shape == members.shape[:2]
    is_component = jax.vmap(lambda d: d.is_component)(decompositions)
    assert is_component.any(1).all()
    assert (weights[is_component] > 0.0).all() and np.isfinite(weights[is_component]).all()
    assert jax.vmap(lambda d: d.is_inside)(decompositions).all()


def test_draws_vary_and_have_a_density(drawn: Drawn):
    assert np.isfinite(drawn.log_densities).all()
    for name, values in drawn.values.items():
        assert len(np.unique(np.asarray(values).reshape(NUM_DRAWS, -1), axis=0)) > 1, name


def test_changes_between_draws_give_what_recomputation_gives(structure: Structure):
    """Of Gram matrices, which add up over components; by its flip rule where there is one."""
    factors = jnp.array(np.random.default_rng(0).random((NUM_DIMS, 3, 3)))
    nothing = jnp.zeros((3, 3))

    def visit(gram: jax.Array, sign: jax.Array, members: jax.Array, weight: jax.Array) -> jax.Array:
        return gram + sign * weight * component_product(factors, members)

    def moved_and_recomputed(key: jax.Array) -> tuple[jax.Array, jax.Array]:
        old, new = (handlers.seed(structure, own)(NUM_DIMS) for own in jax.random.split(key))
        return old.fold_changes(new, visit, old.fold(visit, nothing)), new.fold(visit, nothing)

    keys = jax.random.split(jax.random.key(0), NUM_DRAWS)
    moved, recomputed = jax.jit(lambda keys: jax.lax.map(moved_and_recomputed, keys))(keys)
    np.testing.assert_allclose(moved, recomputed, atol=1e-9)


def test_components_share_the_variance(structure: Structure):
    """The prior variance is the outputscale everywhere, however many components there are."""
    X = jnp.array(np.random.default_rng(0).random((4, NUM_DIMS)))

    @jax.jit
    def variances(key: jax.Array) -> tuple[jax.Array, jax.Array]:
        trace = handlers.trace(handlers.seed(AdditiveGP(structure), key)).get_trace(X)
        covariance = trace["y"]["fn"].covariance
        return jnp.diagonal(covariance(X, X)), covariance.outputscale

    for seed in range(5):
        found, outputscale = variances(jax.random.key(seed))
        np.testing.assert_allclose(found, outputscale, rtol=1e-9)
