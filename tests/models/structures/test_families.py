"""Mixtures give the decomposition of the chosen family, whatever the others draw."""

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import pytest
from numpyro import handlers

from structbo.models import (
    FamilyCategorical,
    cliques,
    edges,
    fully_dependent,
    main_effects,
    mixture,
    partitions,
    projected,
)

FAMILIES = {
    "main effects": main_effects(),
    "edges": edges(0.5),
    "cliques": edges(0.5, components=lambda Z: cliques(Z, max_size=2)),
    "partition": partitions(),
    "fully dependent": fully_dependent(),
}


def components(decomposition) -> list[tuple[tuple[bool, ...], float]]:
    rows = zip(decomposition.members.tolist(), decomposition.weights.tolist(), strict=True)
    return sorted((tuple(row), weight) for row, weight in rows if any(row))


@pytest.mark.parametrize("family", range(len(FAMILIES)), ids=FAMILIES)
def test_the_chosen_family_gives_the_components(family):
    """Alone and in the mixture, from the same values of its sites."""
    name, alone = list(FAMILIES.items())[family]
    structure = handlers.condition(mixture(FAMILIES), data={"family": jnp.array(family)})
    for seed in range(5):
        run = handlers.trace(handlers.seed(structure, seed))
        with handlers.trace() as trace:
            chosen = run(4)
        values = {s.removeprefix(f"{name}."): v["value"] for s, v in trace.items()}
        own = handlers.substitute(handlers.seed(alone, 0), data=values)(4)
        assert components(chosen) == components(own)
        assert chosen.members.shape == (10, 4)
        assert bool(chosen.is_inside) == bool(own.is_inside)


def test_sites_carry_the_names_of_their_families():
    with handlers.seed(rng_seed=0), handlers.trace() as trace:
        mixture(FAMILIES)(3)
    assert list(trace) == ["family", "edges.Z", "cliques.Z", "partition.labels"]


def test_families_are_drawn_with_their_probabilities():
    probs = np.array([0.5, 0.3, 0.2])
    prior = FamilyCategorical(("a", "b", "c"), probs)
    draws = prior.sample(jax.random.key(0), (20000,))
    assert prior.support(draws).all()
    assert not prior.support(jnp.array([-1, 3, 0.5])).any()
    np.testing.assert_allclose(np.bincount(draws) / 20000, probs, atol=0.015)
    np.testing.assert_allclose(jnp.exp(prior.log_prob(jnp.arange(3))), probs)
    leaves, tree = jax.tree.flatten(prior)
    assert jax.tree.unflatten(tree, leaves).names == ("a", "b", "c")


def test_projected_families_are_refused_and_a_projected_mixture_is_not():
    both = {"a": main_effects(), "b": lambda D: projected(main_effects()(D), jnp.eye(D))}
    with numpyro.handlers.seed(rng_seed=0):
        with pytest.raises(ValueError, match=r"family 'b' is projected.* the mixture returns"):
            mixture(both)(3)
        W = jnp.ones((5, 3))
        assert projected(mixture(FAMILIES)(3), W).projection.shape == (5, 3)


@pytest.mark.parametrize(
    ("names", "probs", "message"),
    [
        (("a",), None, "at least two different"),
        (("a", "a"), None, "at least two different"),
        (("a", "b.c"), None, "without '.'"),
        (("a", "b"), [1.0], "one number for each"),
        (("a", "b"), [0.5, 0.6], "add up to 1"),
        (("a", "b"), [-0.5, 1.5], "add up to 1"),
    ],
)
def test_bad_families(names, probs, message):
    with pytest.raises(ValueError, match=message):
        FamilyCategorical(names, probs)
