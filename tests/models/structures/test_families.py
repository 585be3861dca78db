"""Mixtures give the decomposition of the chosen family, independently of the others."""

from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpyro import handlers

from structbo.models import (
    Decomposition,
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


def components(members: np.ndarray, weights: np.ndarray) -> list[tuple[tuple[bool, ...], float]]:
    rows = zip(members.tolist(), weights.tolist(), strict=True)
    return sorted((tuple(row), weight) for row, weight in rows if any(row))


class Tables(NamedTuple):
    """Components of decompositions, and whether they satisfy the bounds."""

    members: jax.Array
    weights: jax.Array
    is_inside: jax.Array

    @classmethod
    def of(cls, decomposition: Decomposition) -> "Tables":
        return cls(decomposition.members, decomposition.weights, decomposition.is_inside)


@jax.jit
@partial(jax.vmap, in_axes=(None, 0))
def drawn(family: jax.Array, key: jax.Array) -> tuple[Tables, dict[str, jax.Array]]:
    """The decompositions of the mixture with this family chosen, and the values of all sites."""
    structure = handlers.condition(mixture(FAMILIES), data={"family": family})
    with handlers.seed(rng_seed=key), handlers.trace() as trace:
        chosen = structure(4)
    return Tables.of(chosen), {name: site["value"] for name, site in trace.items()}


@pytest.mark.parametrize("family", range(len(FAMILIES)), ids=FAMILIES)
def test_the_chosen_family_gives_the_components(family):
    """The family alone and in the mixture agree for the same values of its sites."""
    name, alone = list(FAMILIES.items())[family]
    num_draws = 5
    chosen, values = drawn(family, jax.random.split(jax.random.key(0), num_draws))
    assert chosen.members.shape == (num_draws, 10, 4)

    def own(k: int) -> Tables:
        prefix = f"{name}."
        mine = {s.removeprefix(prefix): v[k] for s, v in values.items() if s.startswith(prefix)}
        return Tables.of(handlers.substitute(alone, data=mine)(4))

    owns = jax.jit(lambda: jax.lax.map(own, jnp.arange(num_draws)))()
    for one, two in zip(zip(*chosen, strict=True), zip(*owns, strict=True), strict=True):
        assert components(*map(np.asarray, one[:2])) == components(*map(np.asarray, two[:2]))
        assert bool(one[2]) == bool(two[2])


def test_sites_carry_the_names_of_their_families():
    def run(key: jax.Array) -> None:
        with handlers.seed(rng_seed=key), handlers.trace() as trace:
            mixture(FAMILIES)(3)
        assert list(trace) == ["family", "edges.Z", "cliques.Z", "partition.labels"]

    jax.eval_shape(run, jax.random.key(0))


def test_families_are_drawn_with_their_probabilities():
    probs = np.array([0.5, 0.3, 0.2])
    prior = FamilyCategorical(("a", "b", "c"), probs)

    @jax.jit
    def run(key):
        draws = prior.sample(key, (20000,))
        outside = prior.support(jnp.array([-1, 3, 0.5]))
        return draws, prior.support(draws), outside, prior.log_prob(jnp.arange(3))

    draws, is_inside, outside, density = run(jax.random.key(0))
    assert is_inside.all()
    assert not outside.any()
    np.testing.assert_allclose(np.bincount(draws) / 20000, probs, atol=0.015)
    np.testing.assert_allclose(np.exp(density), probs)
    leaves, tree = jax.tree.flatten(prior)
    assert jax.tree.unflatten(tree, leaves).names == ("a", "b", "c")


def test_projected_families_are_refused_and_a_projected_mixture_is_not():
    both = {"a": main_effects(), "b": lambda D: projected(main_effects()(D), jnp.eye(D))}

    def run(structure, key: jax.Array) -> Decomposition:
        return handlers.seed(structure, key)(3)

    with pytest.raises(ValueError, match=r"family 'b' is projected.* the mixture returns"):
        jax.eval_shape(partial(run, mixture(both)), jax.random.key(0))
    outside = lambda num_dims: projected(mixture(FAMILIES)(num_dims), np.ones((5, 3)))  # noqa: E731
    found = jax.eval_shape(partial(run, outside), jax.random.key(0))
    assert found.projection.shape == (5, 3)


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
