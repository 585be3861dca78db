"""Common properties of all registered structures."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpyro import handlers
from structure_registry import NUM_DIMS, STRUCTURES

from structbo.models import AdditiveGP, Decomposition
from structbo.models.components import component_product
from structbo.models.decomposition import Structure

NUM_DRAWS = 40
LIKE_ANOTHER = (
    "edges()",
    "edges(0.2, max_width=1)",
    "edges(array(3, 3))",
    "partitions(max_size=2)",
    "main_effects()",
    "fully_dependent()",
    "projections(NearIdentity, main_effects())",
)
"""Structures with the same components as another row; other tests cover their differences."""


class Drawn(NamedTuple):
    """Decompositions, values of the sites, joint log densities, and bounds."""

    decompositions: Decomposition
    values: dict[str, jax.Array]
    log_densities: jax.Array
    is_component: jax.Array
    is_inside: jax.Array


class Used(NamedTuple):
    """Gram matrices by updates between draws and by recomputation, and variances."""

    moved: jax.Array
    recomputed: jax.Array
    variances: jax.Array
    outputscales: jax.Array


@pytest.fixture(
    scope="module",
    params=[
        pytest.param(name, marks=[pytest.mark.nightly] * (name in LIKE_ANOTHER))
        for name in STRUCTURES
    ],
)
def facts(request: pytest.FixtureRequest) -> tuple[Drawn, Used]:
    """One program per structure, because compilation dominates the time."""
    structure: Structure = STRUCTURES[request.param]()
    rng = np.random.default_rng(0)
    factors, X = rng.random((NUM_DIMS, 3, 3)), rng.random((4, NUM_DIMS))
    nothing = np.zeros((3, 3))

    def draw(key: jax.Array) -> Drawn:
        with handlers.seed(rng_seed=key), handlers.trace() as trace:
            decomposition = structure(NUM_DIMS)
        sites = {name: site for name, site in trace.items() if site["type"] == "sample"}
        values = {name: site["value"] for name, site in sites.items()}
        densities = [site["fn"].log_prob(site["value"]).sum() for site in sites.values()]
        density = sum(densities, jnp.array(0.0))
        bounds = decomposition.is_component, decomposition.is_inside
        return Drawn(decomposition, values, density, *bounds)

    def visit(gram: jax.Array, sign: jax.Array, members: jax.Array, weight: jax.Array) -> jax.Array:
        return gram + sign * weight * component_product(jnp.array(factors), members)

    def use(values: tuple[dict[str, jax.Array], dict[str, jax.Array]], key: jax.Array) -> Used:
        old, new = (handlers.substitute(structure, data=own)(NUM_DIMS) for own in values)
        moved = old.fold_changes(new, visit, old.fold(visit, nothing))
        model = AdditiveGP(lambda num_dims: new)
        trace = handlers.trace(handlers.seed(model, key)).get_trace(jnp.array(X))
        covariance = trace["y"]["fn"].covariance
        variances = jnp.diagonal(covariance(jnp.array(X), jnp.array(X)))
        return Used(moved, new.fold(visit, nothing), variances, covariance.outputscale)

    @jax.jit
    def everything(keys: jax.Array) -> tuple[Drawn, Used]:
        drawn = jax.lax.map(draw, keys)
        following = jax.tree.map(lambda leaf: jnp.roll(leaf, 1, 0), drawn.values)
        pairs = (drawn.values, following)
        return drawn, jax.lax.map(lambda item: use(*item), (pairs, keys))

    found = everything(jax.random.split(jax.random.key(0), NUM_DRAWS))
    return jax.tree.map(np.asarray, found)


def test_draws_are_components_inside_all_bounds(facts: tuple[Drawn, Used]):
    drawn, _ = facts
    members, weights = drawn.decompositions.members, drawn.decompositions.weights
    assert members.dtype == bool and members.shape[::2] == (NUM_DRAWS, NUM_DIMS)
    assert weights.shape == members.shape[:2]
    assert drawn.is_component.any(1).all()
    assert (weights[drawn.is_component] > 0.0).all()
    assert np.isfinite(weights[drawn.is_component]).all()
    assert drawn.is_inside.all()


def test_draws_vary_and_have_a_density(facts: tuple[Drawn, Used]):
    drawn, _ = facts
    assert np.isfinite(drawn.log_densities).all()
    for name, values in drawn.values.items():
        assert len(np.unique(values.reshape(NUM_DRAWS, -1), axis=0)) > 1, name


def test_changes_between_draws_give_what_recomputation_gives(facts: tuple[Drawn, Used]):
    """Gram matrices are sums over components; a structure with a flip rule uses it."""
    _, used = facts
    np.testing.assert_allclose(used.moved, used.recomputed, atol=1e-9)


def test_components_share_the_variance(facts: tuple[Drawn, Used]):
    """The prior variance is the outputscale everywhere, for any number of components."""
    _, used = facts
    outputscales = np.broadcast_to(used.outputscales[:, None], used.variances.shape)
    np.testing.assert_allclose(used.variances, outputscales, rtol=1e-9)
