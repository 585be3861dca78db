"""No random key is used twice."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import numpyro.distributions as dist
import pytest
from numpyro import handlers
from recorded_keys import Use, recorded_key, recording, reused

from structbo import recipes
from structbo.acquisition.registry import CRITERIA
from structbo.batches import Hallucination
from structbo.batches.registry import BATCH_STRATEGIES
from structbo.data import Data
from structbo.draws import Posteriors, maximum_likelihood
from structbo.maximizers import MultiStart
from structbo.models import (
    AdditiveGP,
    FiniteUniform,
    active_sets,
    component_lengthscale,
    edges,
    main_effects,
    mixture,
    partitions,
    random_tree,
)
from structbo.optimizer import Engine
from structbo.posterior import Posterior
from structbo.proposal import Situation, propose
from structbo.samplers import (
    ActiveGibbs,
    EdgeFlips,
    EdgeGibbs,
    FamilyGibbs,
    GridGibbs,
    InformedEdges,
    ParallelTempering,
    PartitionGibbs,
    PartitionMoves,
    PriorDraws,
    SplitMerge,
    default_sampler,
)
from structbo.space import Levels, Space

NUM_DIMS = 3
X = np.random.default_rng(0).random((6, NUM_DIMS))
Y = np.sin(6.0 * X[:, 0]) + X[:, 1] * X[:, 2]
SPACE = Space({name: (0.0, 1.0) for name in "abc"})


@pytest.fixture
def uses(monkeypatch):
    with recording(monkeypatch) as recorded:
        yield recorded


def assert_no_key_serves_twice(uses: list[Use]) -> None:
    jax.effects_barrier()
    assert any(use.kind == "drawn" for use in uses)
    assert reused(uses) == {}


@pytest.mark.parametrize(
    ("misuse", "found"),
    [
        (lambda key: [jax.random.normal(key) for _ in range(2)], [{"drawn": 2}]),
        (lambda key: jax.random.split(jax.random.fold_in(key, 1)), []),
        (
            lambda key: (jax.random.fold_in(key, 1), jax.random.split(key)),
            [{"folded": 1, "split": 1}],
        ),
        (lambda key: (jax.random.split(key), jax.random.split(key)), []),
        (
            lambda key: jax.lax.fori_loop(0, 3, lambda i, _: jax.random.uniform(key), 0.0),
            [{"drawn": 3}],
        ),
        (lambda key: jax.lax.map(jax.random.uniform, jax.random.split(key, 3)), []),
    ],
    ids=["drawn twice", "fold, split", "folded and split", "same split", "in a loop", "one by one"],
)
def test_misuse_is_seen_in_compiled_code(misuse, found, uses):
    jax.jit(misuse)(recorded_key(0))
    jax.effects_barrier()
    assert [dict(counts) for counts in reused(uses).values()] == found


NO_EDGES = {"Z": jnp.zeros((NUM_DIMS, NUM_DIMS), int)}
SINGLES = {"labels": jnp.arange(NUM_DIMS)}
HYPER_PARAMETERS = {"lengthscale": jnp.full(NUM_DIMS, 0.5), "outputscale": 1.0, "noise": 0.1}
BLOCKS = {
    EdgeFlips: (edges(), NO_EDGES),
    EdgeGibbs: (edges(), NO_EDGES),
    InformedEdges: (edges(), NO_EDGES),
    PartitionGibbs: (partitions(), SINGLES),
    PartitionMoves: (partitions(), SINGLES),
    SplitMerge: (partitions(), SINGLES),
    ActiveGibbs: (active_sets(), {"active": jnp.ones(NUM_DIMS, int)}),
    GridGibbs: (main_effects(), {"lengthscale": HYPER_PARAMETERS["lengthscale"]}),
    PriorDraws: (random_tree(), {"Z": jnp.eye(NUM_DIMS, k=1, dtype=int)}),
    FamilyGibbs: (
        mixture({"graph": edges(), "groups": partitions()}),
        {"family": jnp.array(0), "graph.Z": NO_EDGES["Z"], "groups.labels": SINGLES["labels"]},
    ),
}
"""Structures with the sites that a block samples, and their start values."""


@pytest.mark.parametrize(
    "block",
    [
        block if block is ActiveGibbs else pytest.param(block, marks=pytest.mark.nightly)
        for block in BLOCKS
    ],
)
def test_steps_of_a_block(block, uses):
    structure, start = BLOCKS[block]
    given = {name: value for name, value in HYPER_PARAMETERS.items() if name not in start}
    lengthscale = (
        FiniteUniform([0.2, 0.5, 1.0]) if "lengthscale" in start else component_lengthscale
    )
    kernel = block(handlers.condition(AdditiveGP(structure, lengthscale=lengthscale), given))
    step = jax.jit(lambda state: kernel.sample(state, (X, Y), {}))
    state = kernel.init(recorded_key(1), 0, start, (X, Y), {})
    for _ in range(2):
        state = step(state)
    assert_no_key_serves_twice(uses)


@pytest.mark.nightly
@pytest.mark.parametrize("sampler", [default_sampler, ParallelTempering])
def test_steps_of_a_sampler(sampler, uses):
    """Only steps are recorded, not NumPyro's initialization of a kernel."""
    kernel, call = sampler(AdditiveGP(edges(dist.Beta(1.0, 4.0)))), ((X, Y), {})
    state = jax.jit(lambda key: kernel.init(key, 2, None, *call))(recorded_key(1))
    step = jax.jit(lambda state: kernel.sample(state, *call))
    jax.effects_barrier()
    uses.clear()
    for _ in range(2):
        state = step(state)
    assert_no_key_serves_twice(uses)


def draws(number: int) -> dict[str, Any]:
    rng = np.random.default_rng(1)
    upper = np.triu(rng.random((number, NUM_DIMS, NUM_DIMS)) < 0.5, 1)
    return {
        "Z": (upper | np.swapaxes(upper, 1, 2)).astype(np.int32),
        "lengthscale": rng.uniform(0.3, 1.0, (number, NUM_DIMS)),
        "outputscale": rng.uniform(0.5, 1.5, number),
        "noise": rng.uniform(0.01, 0.1, number),
    }


@pytest.mark.nightly
def test_export_to_arviz(uses):
    values = {name: value[None] for name, value in draws(3).items()}
    Posterior(AdditiveGP(), X, Y, values).to_arviz(num_prior_draws=4)
    assert_no_key_serves_twice(uses)


def test_functions_of_importances(uses):
    values = {name: value[None] for name, value in draws(3).items()}
    Posterior(AdditiveGP(), X, Y, values).importances()
    assert_no_key_serves_twice(uses)


def test_starts_of_the_evidence(uses):
    model = AdditiveGP(main_effects(), noise=dist.LogNormal(-4.2, 1.0))  # of no other test
    maximum_likelihood(model, X, Y, {}, num_starts=3)
    assert_no_key_serves_twice(uses)


NONE = np.empty((0, NUM_DIMS))


def situation() -> Situation:
    given = jax.tree.map(jnp.asarray, draws(2)), Data.padded(X, Y)
    posteriors = Posteriors.of(AdditiveGP(), *given)
    return Situation(posteriors, Levels.of([None] * NUM_DIMS), NONE)


@pytest.mark.nightly
@pytest.mark.parametrize("criterion", CRITERIA)
def test_search_by_a_criterion(criterion, uses):
    how = CRITERIA[criterion], Hallucination(), MultiStart()
    propose(situation(), 2, recorded_key(2), *how)
    assert_no_key_serves_twice(uses)


@pytest.mark.nightly
@pytest.mark.parametrize("name", BATCH_STRATEGIES)
def test_batch_of_a_strategy(name, uses):
    strategy = BATCH_STRATEGIES[name]
    if isinstance(strategy, Hallucination):
        pytest.skip("points one by one are those of the criteria above")
    propose(situation(), 3, recorded_key(2), CRITERIA["ucb"], strategy, MultiStart())
    assert_no_key_serves_twice(uses)


@pytest.mark.nightly
@pytest.mark.parametrize("recipe", [recipes.add_gp_ucb, recipes.rembo])
def test_points_of_a_recipe(recipe, uses):
    """Fitted models, random directions and the search have separate seeds."""
    optimizer = recipe(SPACE, "minimize", seed=3, num_initial=4)
    for _ in range(6):
        trial = optimizer.ask()
        optimizer.tell(trial, sum(trial.params.values()))
    assert_no_key_serves_twice(uses)


@pytest.mark.nightly
def test_search_of_an_engine(uses):
    """The first step, in which NumPyro initializes kernels, is not recorded."""
    engine = Engine(SPACE, num_initial=4, seed=3, batch="thompson")
    engine.propose(X, Y, NONE, 2)
    jax.effects_barrier()
    uses.clear()
    engine.propose(X[:-1], Y[:-1], NONE, 2)
    assert_no_key_serves_twice(uses)
