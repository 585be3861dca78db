"""Whatever structure a user writes, blocks evaluate their moves as the model itself does.

Models are put together at random from every shipped site, from what users do to a decomposition,
from hyper-parameters that depend on it, and from likelihoods. A walk of a block's own proposals,
each evaluated from the point before, must have the log densities that NumPyro gives to its values.
"""

import inspect
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
import pytest
import structure_registry
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpyro import handlers
from numpyro.infer.util import log_density

from structbo import samplers
from structbo.models import (
    ActiveBernoulli,
    AdditiveCovariance,
    AdditiveGP,
    CRPPartition,
    Decomposition,
    DirichletMultinomialPartition,
    EdgeBernoulli,
    MarginalGP,
    ProductResidual,
    Residual,
    UniformTree,
    active_sets,
    cliques,
    edges,
    fully_dependent,
    mixture,
    pairs,
    partitions,
    projected,
    squared_exponential,
)
from structbo.models.strengths import mean_strengths
from structbo.samplers import Metropolis
from structbo.samplers.conditional import Conditional

NUM_DIMS, NUM_POINTS, NUM_MOVES = 3, 5, 6
BLOCKS: dict[type, list[type[Metropolis]]] = {}
for kind in (value for value in vars(samplers).values() if inspect.isclass(value)):
    if issubclass(kind, Metropolis) and not inspect.isabstract(kind):
        BLOCKS.setdefault(kind.support, []).append(kind)


def graph(name: str = "Z") -> jax.Array:
    return numpyro.sample(name, EdgeBernoulli(NUM_DIMS, 0.4))


def active_pairs(num_dims: int) -> Decomposition:
    return pairs(graph(), numpyro.sample("active", ActiveBernoulli(num_dims, 0.6)))


def seated(num_dims: int) -> dist.Distribution:
    return CRPPartition(num_dims, numpyro.sample("concentration", dist.Gamma(2.0, 2.0)))


FAMILIES = {"edges": edges(0.4), "blocks": partitions(), "all": fully_dependent()}
STRUCTURES = {
    "pairs": edges(dist.Beta(1.0, 2.0)),
    "few pairs": edges(0.5, partial(pairs, capacity=1)),
    "cliques": edges(0.5, cliques),
    "small cliques": edges(0.4, partial(cliques, max_size=2)),
    "few cliques": edges(0.4, partial(cliques, capacity=2)),
    "forests": edges(0.4, cliques, max_width=1),
    "two graphs": lambda num_dims: pairs(graph() | graph("other")),
    "table": lambda num_dims: Decomposition.of(
        graph().astype(bool) | jnp.eye(num_dims, dtype=bool)
    ),
    "active pairs": active_pairs,
    "active set": active_sets(0.5),
    "blocks": partitions(),
    "small blocks": partitions(max_size=2),
    "restaurant": partitions(seated),
    "groups": partitions(partial(DirichletMultinomialPartition, num_groups=2)),
    "mixture": mixture(FAMILIES),
    "graph over a tree": lambda num_dims: pairs(
        graph() | numpyro.sample("tree", UniformTree(num_dims))
    ),
}
DIRECTIONS = jnp.array([[1.0, 0.2, 0.1], [-0.3, 1.0, 0.4], [0.1, -0.2, 1.0]])


def size(decomposition: Decomposition) -> jax.Array:
    return decomposition.members.sum()


def other_weights(d: Decomposition) -> Decomposition:
    members = d.members.sum(1)
    return replace(d, weights=jnp.where(members == 2, 0.3, jnp.where(members == 1, 1.0, 0.1)))


CHANGES: dict[str, Callable[[Decomposition], Decomposition]] = {
    "other weights": other_weights,
    "fewer members": lambda d: replace(d, members=d.members.at[:, 0].set(False)),
    "own table": lambda d: Decomposition.of(d.members.at[:, 0].set(False)),
    "own bound": lambda d: replace(d, valid=d.valid & (size(d) <= 5)),
    "largest size": lambda d: replace(d, max_size=2),
    "copied": lambda d: jax.tree.map(lambda leaf: leaf, d),
    "directions": lambda d: projected(d, DIRECTIONS),
    "directions of the site": lambda d: projected(d, DIRECTIONS * (1.0 + 0.1 * size(d))),
}
HYPER_PARAMETERS: dict[str, Callable[[jax.Array], dict[str, jax.Array]]] = {
    "variance": lambda s: {"outputscale": 0.3 + 0.1 * s},
    "lengthscale": lambda s: {"lengthscale": jnp.array([0.3, 0.4, 0.5]) * (1.0 + 0.1 * s)},
    "strengths": lambda s: {
        "strengths": mean_strengths(jnp.array([1.0, 2.0, 0.5]).at[0].add(0.1 * s))
    },
    "residual": lambda s: {"residual": ProductResidual(0.05 * s / (1.0 + s), jnp.array(2.0))},
    "fixed residual": lambda s: {"residual": ProductResidual(jnp.array(0.2), jnp.array(2.0))},
}


class Doubled(MarginalGP):
    """A likelihood of the user's own, which computes something else from the same parts."""

    def log_prob(self, value):
        return 2.0 * super().log_prob(value)


def observe(kind: str, covariance: AdditiveCovariance, X, y, mask) -> None:
    s = size(covariance.decomposition)
    noise = 0.1 + 0.02 * s if kind == "noise" else jnp.array(0.1)
    known_noise = {
        "known noise": 0.1 * jnp.arange(len(X)),
        "known noise and inducing points": 0.1 * jnp.arange(len(X)),
        "known noise of the site": 0.02 * s * jnp.arange(len(X)),
    }.get(kind)
    num_inducing = 3 if "inducing" in kind else None
    likelihood = Doubled if kind == "own class" else MarginalGP
    gp = likelihood(covariance, X, noise, mask, known_noise, num_inducing)
    if kind == "penalty":
        numpyro.factor("penalty", -0.3 * s)
    if kind == "two outputs":
        numpyro.sample("y2", MarginalGP(covariance, X, noise), obs=y[::-1])
    if kind == "shifted":
        y = y - 0.1 * s
    scale = {"scaled": 0.5, "scaled by the site": 1.0 / (1.0 + s)}.get(kind, 1.0)
    with handlers.scale(scale=scale):
        numpyro.sample("y", gp, obs=y)


LIKELIHOODS = (
    "plain",
    "noise",
    "known noise",
    "known noise of the site",
    "inducing points",
    "known noise and inducing points",
    "own class",
    "penalty",
    "two outputs",
    "shifted",
    "scaled",
    "scaled by the site",
)


def own_model(structure, changes, hyper_parameters, likelihood: str):
    """A model in the user's own words."""

    def model(X, y, mask):
        decomposition = structure(NUM_DIMS)
        for change in changes:
            decomposition = CHANGES[change](decomposition)
        values = {
            "lengthscale": jnp.array([0.3, 0.4, 0.5]),
            "outputscale": jnp.array(1.0),
            "strengths": None,
            "residual": None,
        }
        for name in hyper_parameters:
            values |= HYPER_PARAMETERS[name](size(decomposition))
        covariance = AdditiveCovariance(decomposition, **values, kernel=squared_exponential)
        observe(likelihood, covariance, X, y, mask)

    return model


def shipped_model(structure, changes):
    """`AdditiveGP` with all that it offers."""

    def changed(num_dims: int) -> Decomposition:
        decomposition = structure(num_dims)
        for change in changes:
            decomposition = CHANGES[change](decomposition)
        return decomposition

    projects = any("directions" in change for change in changes)
    return AdditiveGP(
        changed,
        relevance=dist.HalfNormal(1.0),
        residual=Residual(),
        categorical=() if projects else (1,),
    )


class Recipe(NamedTuple):
    """What a model is put together from; without a likelihood, by `AdditiveGP`."""

    structure: str
    changes: tuple[str, ...] = ()
    hyper_parameters: tuple[str, ...] = ()
    likelihood: str | None = None

    @property
    def model(self):
        structure = STRUCTURES[self.structure]
        if self.likelihood is None:
            return shipped_model(structure, self.changes)
        return own_model(structure, self.changes, self.hyper_parameters, self.likelihood)


def some_of(names) -> st.SearchStrategy[tuple[str, ...]]:
    return st.lists(st.sampled_from(sorted(names)), max_size=2, unique=True).map(tuple)


recipes = st.builds(
    Recipe,
    st.sampled_from(sorted(STRUCTURES)),
    some_of(CHANGES),
    some_of(HYPER_PARAMETERS),
    st.sampled_from([None, *LIKELIHOODS]),
)
# Combinations that failed once, and one of every other kind.
RECIPES = [
    Recipe("pairs", ("other weights",)),
    Recipe("few pairs", (), ("strengths",), "plain"),
    Recipe("cliques", ("other weights", "own bound")),
    Recipe("active set", ("directions of the site",)),
    Recipe("small cliques", ("directions",), ("variance",), "plain"),
    Recipe("active pairs", ("fewer members",), (), "shifted"),
    Recipe("few cliques", (), ("fixed residual",), "own class"),
    Recipe("mixture", ("largest size",), (), "scaled"),
    Recipe("pairs", (), (), "scaled by the site"),
    Recipe("pairs", ("copied",), (), "known noise"),
    Recipe("small blocks", (), (), "known noise of the site"),
    Recipe("small blocks", ("own table",), ("strengths",), "penalty"),
    Recipe("pairs", ("other weights",), ("fixed residual",), "inducing points"),
    Recipe("blocks", (), (), "known noise and inducing points"),
]


def check(model, seed: int, num_blocks: int) -> None:
    """Walks of blocks over every site of their support, evaluated both ways."""
    rng = np.random.default_rng(seed)
    X = jnp.array(np.round(rng.random((NUM_POINTS, NUM_DIMS)), 1))
    args = (X, jnp.array(rng.normal(size=NUM_POINTS)), jnp.arange(NUM_POINTS) < NUM_POINTS - 1)
    trace = handlers.trace(handlers.seed(model, seed)).get_trace(*args)
    latent = {n: s for n, s in trace.items() if s["type"] == "sample" and not s["is_observed"]}
    values = {name: site["value"] for name, site in latent.items()}

    def walk(block: Metropolis, site: str, value, keys):
        conditional = Conditional(block.model, site, value, args, {})

        def step(point, key):
            new, _ = block.propose(key, conditional, point)
            return new, (new.value, new.log_density)

        start = block.start(conditional, value)
        _, (moved, found) = jax.lax.scan(step, start, keys)
        moved = jnp.concatenate([value[None], moved])
        found = jnp.concatenate([start.log_density[None], found])
        own = jax.lax.map(lambda v: log_density(block.model, args, {}, {site: v})[0], moved)
        return found, own

    for name, site in latent.items():
        others = {other: value for other, value in values.items() if other != name}
        blocks = BLOCKS.get(type(site["fn"].support), ())
        for block in np.roll(blocks, seed)[:num_blocks]:
            own_block = block(handlers.condition(model, data=others))
            keys = jax.random.split(jax.random.key(seed), NUM_MOVES)
            found, expected = jax.jit(partial(walk, own_block, name))(values[name], keys)
            np.testing.assert_allclose(found, expected, rtol=1e-8, err_msg=f"{block} {name}")


# They differ from another recipe in what blocks are told, hardly in what they must find out.
SLOW = {"cliques", "few cliques", "active pairs", "mixture", "small blocks"}


@pytest.mark.parametrize(
    "recipe",
    [
        pytest.param(
            recipe,
            id=f"{recipe.structure}, {recipe.changes}",
            marks=pytest.mark.nightly if recipe.structure in SLOW else [],
        )
        for recipe in RECIPES
    ],
)
def test_moves_have_the_density_of_the_model(recipe: Recipe):
    """One block of every site; each compiles a program."""
    check(recipe.model, seed=0, num_blocks=1)


@pytest.mark.nightly
@pytest.mark.parametrize("num_inducing", [None, 3])
@pytest.mark.parametrize("call", structure_registry.STRUCTURES)
def test_moves_of_every_structure_have_the_density_of_the_model(
    call: str, num_inducing: int | None
):
    structure = structure_registry.STRUCTURES[call]()
    model = AdditiveGP(structure, residual=Residual(), num_inducing=num_inducing)
    check(model, seed=0, num_blocks=3)


@pytest.mark.nightly
@given(recipe=recipes, seed=st.integers(0, 10_000))
@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
def test_moves_have_the_density_of_any_model(recipe: Recipe, seed: int):
    check(recipe.model, seed, num_blocks=3)


def known(model, site: str, value, args) -> tuple[bool, bool]:
    """Whether moves are incremental, and whether flips change pairs only, by tracing."""
    found = []

    def build(value):
        conditional = Conditional(model, site, value, args, {})
        found.append((conditional.is_incremental, conditional.flips_pairs))

    jax.eval_shape(build, value)
    return found[0]


EDGES = edges(0.3)


@pytest.mark.parametrize("structure", [EDGES, edges(0.3, cliques), active_pairs, partitions()])
def test_shipped_structures_keep_their_speed(structure):
    """Their moves touch only what changes, and graphs never list their tables."""
    model = AdditiveGP(structure, residual=Residual())
    trace = handlers.trace(handlers.seed(model, 0)).get_trace(jnp.zeros((4, NUM_DIMS)))
    values = {n: s["value"] for n, s in trace.items() if s["type"] == "sample" and n != "y"}
    for name in ("Z", "active", "labels"):
        if name not in values:
            continue
        others = {other: value for other, value in values.items() if other != name}
        fixed = handlers.condition(model, data=others)
        args = (jnp.zeros((4, NUM_DIMS)), jnp.zeros(4))
        is_incremental, flips_pairs = known(fixed, name, values[name], args)
        assert is_incremental
        assert flips_pairs == (structure in (EDGES, active_pairs))
