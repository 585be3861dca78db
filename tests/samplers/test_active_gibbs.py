"""ActiveGibbs against enumerated posteriors.

The tests were run once against deliberate bugs. Total variation from the posterior, where a right
sampler's is below 0.01: accepting every proposal 0.53; without the prior 0.35; a swap that only
removes 0.29; a swap that takes the first member 0.20. A constant that is forgotten when the last
component goes, or has no weight, is found by the comparisons of moves.
"""

from functools import partial
from itertools import product

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
import pytest
from numpyro import handlers
from numpyro.infer import Gibbs
from numpyro.infer.util import log_density

from structbo.models import (
    ActiveBernoulli,
    AdditiveGP,
    EdgeBernoulli,
    Residual,
    active_set,
    active_sets,
    adjacency,
    pairs,
)
from structbo.samplers import ActiveGibbs, EdgeGibbs, Hamiltonian, InformedEdges, default_sampler
from structbo.samplers.conditional import Conditional
from structbo.samplers.edge_gains import flip_gains

NUM_DIMS = 5
ALL = jnp.array(list(product([0, 1], repeat=NUM_DIMS)))
PROBS = np.array([0.2, 0.3, 0.4, 0.6, 0.3])
FIXED = {
    "outputscale": jnp.array(1.0),
    "noise": jnp.array(0.3),
    "lengthscale": jnp.array([0.5, 0.4, 0.5, 0.6, 0.5]),
    "rho": jnp.array(0.2),
    "kappa": jnp.array(2.0),
    "relevance": jnp.array([1.0, 0.4, 2.0, 0.7, 1.0]),
}
CASES = {
    "subset": {},
    "residual": {"residual": Residual()},
    "relevance": {"relevance": dist.HalfNormal(1.0), "categorical": (3,)},
}


def active_model(options, probs=PROBS):
    """A model whose active set is the only unknown."""
    return handlers.condition(AdditiveGP(active_sets(probs), **options), data=FIXED)


def subset_model(X, y, mask, probs):
    """The same with arguments for all that tests vary, which so share one compiled program."""
    return active_model({}, probs)(X, y, mask)


SUBSETS = ActiveGibbs(subset_model, 2)
NUM_CHAINS, NUM_WARMUP, NUM_POINTS = 20, 50, 10


def alike(num_points: int) -> tuple[jax.Array, jax.Array]:
    """Two nearly equal columns, one of which explains the observations."""
    rng = np.random.default_rng(3)
    X = rng.random((num_points, NUM_DIMS))
    X[:, 1] = np.clip(X[:, 0] + 0.02 * rng.normal(size=num_points), 0.0, 1.0)
    y = np.sin(6 * X[:, 0]) + 0.3 * rng.normal(size=num_points)
    return jnp.array(X), jnp.array((y - y.mean()) / y.std())


@pytest.mark.parametrize(
    "options",
    [
        pytest.param(options, id=name, marks=pytest.mark.nightly if name == "subset" else [])
        for name, options in CASES.items()
    ],
)
def test_moves_between_all_active_sets(options, data):
    """From each of the 32 sets to each of them, with a padded row among the data."""
    X, y = data(7, NUM_DIMS)
    args = (X, y, jnp.arange(7) < 6)
    model = active_model(options)

    def from_each(active):
        conditional = Conditional(model, "active", active, args, {})
        assert conditional.is_incremental
        start = conditional.start(active)
        return jax.lax.map(lambda new: conditional.move(start, new).log_density, ALL)

    def density(active):
        return log_density(model, args, {}, {"active": active})[0]

    densities, moved = jax.jit(lambda: (jax.vmap(density)(ALL), jax.lax.map(from_each, ALL)))()
    assert np.isfinite(densities).all()
    np.testing.assert_allclose(moved, np.broadcast_to(densities, (32, 32)), rtol=1e-9)


@pytest.fixture(scope="module")
def subsets(effort, posterior_over, run_block):
    """Posterior of every subset, and draws, given data and the prior."""

    def posterior_and_draws(X, y, probs, start=(0,) * NUM_DIMS, has_data=True):
        args = (X, y, jnp.full(NUM_POINTS, has_data), jnp.asarray(probs))
        starts = jnp.tile(jnp.array(start), (NUM_CHAINS, 1))
        num_steps = NUM_WARMUP + int(5000 * effort)
        draws = run_block(SUBSETS, args, "active", starts, num_steps)[:, NUM_WARMUP:]
        return posterior_over(subset_model, args, "active", ALL), draws

    return posterior_and_draws


@pytest.mark.parametrize("case", ["data", pytest.param("alike", marks=pytest.mark.nightly)])
def test_frequencies_of_active_sets(case, data, subsets, check_frequencies):
    X, y = alike(NUM_POINTS) if case == "alike" else data(NUM_POINTS, NUM_DIMS)
    posterior, draws = subsets(X, y, PROBS)
    check_is_informative(posterior)
    check_frequencies(draws, ALL, posterior)


@pytest.mark.nightly
def test_frequencies_of_active_sets_with_relevance(
    effort, data, posterior_over, run_block, check_frequencies
):
    model, args = active_model(CASES["relevance"]), data(12, NUM_DIMS)
    posterior = posterior_over(model, args, "active", ALL)
    check_is_informative(posterior)
    starts = jnp.zeros((NUM_CHAINS, NUM_DIMS), int)
    num_steps = NUM_WARMUP + int(5000 * effort)
    draws = run_block(ActiveGibbs(model, 4), args, "active", starts, num_steps)[:, NUM_WARMUP:]
    check_frequencies(draws, ALL, posterior)


def check_is_informative(posterior):
    """Neither flat nor a point, and not the prior."""
    assert 0.02 < posterior.max() < 0.9
    prior = np.exp(ActiveBernoulli(NUM_DIMS, PROBS).log_prob(ALL))
    assert 0.5 * np.abs(posterior - prior).sum() > 0.2


def test_swaps_exchange_variables_that_explain_the_same(subsets):
    """One of two nearly equal columns is active, and the active one alternates.

    Swaps alone change it in 15 / 32 of p q / (p + q) steps: each of two moves is a swap with
    probability 1 / 2, with the other column in one of four, and taken with odds p to q.
    """
    one, other = np.eye(NUM_DIMS, dtype=int)[:2]
    posterior, draws = subsets(*alike(NUM_POINTS), np.full(NUM_DIMS, 0.02), one)
    each = [posterior[(single == ALL).all(1)][0] for single in (one, other)]
    assert min(each) > 0.1 and sum(each) > 0.8
    is_first = (np.asarray(draws) == one).all(2)
    changes = (is_first[:, 1:] != is_first[:, :-1]).mean()
    by_swaps = 15 / 32 * each[0] * each[1] / sum(each)
    assert 0.9 * by_swaps < changes < 2.0 * by_swaps
    assert abs(is_first.mean() - each[0]) < 0.1


def test_without_data_the_prior_comes_back(subsets, check_frequencies):
    """All rows are padding; and a variable that is certain or impossible stays so."""
    probs = np.array([0.0, 1.0, 0.1, 0.5, 0.8])
    nothing = jnp.zeros((NUM_POINTS, NUM_DIMS)), jnp.zeros(NUM_POINTS)
    posterior, draws = subsets(*nothing, probs, (0, 1, 0, 0, 0), has_data=False)
    prior = np.exp(ActiveBernoulli(NUM_DIMS, probs).log_prob(ALL))
    np.testing.assert_allclose(posterior, prior, atol=1e-12)
    check_frequencies(draws, ALL, prior)


@pytest.mark.nightly
def test_one_dimension(effort, data, posterior_over, run_block, check_frequencies):
    few = FIXED | {"lengthscale": FIXED["lengthscale"][:1]}
    model = handlers.condition(AdditiveGP(active_sets(0.4)), data=few)
    X, y = data(10, 3)
    args = (X[:, :1], y)
    every = jnp.array([[0], [1]])
    num_steps = 50 + int(2000 * effort)
    draws = run_block(ActiveGibbs(model), args, "active", jnp.ones((20, 1), int), num_steps)
    posterior = posterior_over(model, args, "active", every)
    check_frequencies(draws[:, 50:], every, posterior)


def sparse_graph(num_dims):
    active = numpyro.sample("active", ActiveBernoulli(num_dims, 0.5))
    Z = numpyro.sample("Z", EdgeBernoulli(num_dims, 0.4))
    return pairs(Z, active)


def test_edges_of_inactive_variables_gain_their_prior_alone(data):
    """And so the gain of their flips is exact."""
    args = data(8, 3)
    fixed = FIXED | {"lengthscale": FIXED["lengthscale"][:3], "active": jnp.array([1, 0, 1])}
    model = handlers.condition(AdditiveGP(sparse_graph), data=fixed)
    Z = np.array([[0, 1, 0], [1, 0, 0], [0, 0, 0]])
    rows, columns = np.array([0, 1]), np.array([1, 2])
    others = np.stack([Z, Z])
    others[[0, 1], rows, columns] = others[[0, 1], columns, rows] = 1 - Z[rows, columns]

    @jax.jit
    def gains_and_changes(Z, others):
        conditional = Conditional(model, "Z", Z, args, {})
        start = conditional.start(Z, with_solution=True)
        moved = jax.lax.map(lambda other: conditional.move(start, other).log_density, others)
        return flip_gains(conditional, start), moved - start.log_density

    gains, changes = gains_and_changes(jnp.array(Z), jnp.array(others))
    np.testing.assert_allclose(gains[::2], changes, rtol=1e-9)
    assert abs(gains[1] - np.log(0.4 / 0.6)) > 1e-3


@pytest.mark.nightly
@pytest.mark.parametrize(
    "edge_block", [EdgeGibbs, pytest.param(InformedEdges, marks=pytest.mark.nightly)]
)
def test_edges_within_an_active_set_jointly(
    edge_block, effort, data, all_graphs, check_frequencies
):
    """All 64 pairs of an edge matrix and an active set of three variables."""
    args = data(12, 3)
    fixed = FIXED | {"lengthscale": FIXED["lengthscale"][:3], "noise": jnp.array(1.0)}
    model = handlers.condition(AdditiveGP(sparse_graph), data=fixed)
    active = jnp.array(list(product([0, 1], repeat=3)))
    graphs = all_graphs(3)
    both = {
        "Z": jnp.repeat(graphs, len(active), 0),
        "active": jnp.tile(active, (len(graphs), 1)),
    }
    density = jax.jit(jax.vmap(lambda values: log_density(model, args, {}, values)[0]))
    posterior = np.asarray(jax.nn.softmax(density(both)))
    assert 0.02 < posterior.max() < 0.9
    assert posterior[(both["active"] == 0).all(1)].sum() > 0.02  # the constant takes part

    kernel = Gibbs([(edge_block(model, 3), ["Z"]), (ActiveGibbs(model, 3), ["active"])])
    start = {"Z": graphs[0], "active": active[0]}

    def chain(key):
        def step(state, _):
            state = kernel.sample(state, args, {})
            return state, jnp.concatenate([state.z["Z"].ravel(), state.z["active"]])

        state = kernel.init(key, 0, start, args, {})
        return jax.lax.scan(step, state, length=50 + int(5000 * effort))[1]

    draws = jax.jit(jax.vmap(chain))(jax.random.split(jax.random.key(0), 20))[:, 50:]
    values = jnp.concatenate([both["Z"].reshape(64, 9), both["active"]], axis=1)
    check_frequencies(draws, values, posterior)


@pytest.mark.parametrize(
    "prior", [pytest.param(0.5, marks=pytest.mark.nightly), dist.Beta(1, 9)], ids=["known", "Beta"]
)
def test_default_sampler_picks_it(prior):
    kernel = default_sampler(AdditiveGP(active_sets(prior)))
    assert [type(block) for block, _ in kernel.blocks] == [ActiveGibbs, Hamiltonian]


@pytest.mark.nightly
def test_default_sampler_runs(data):
    model = AdditiveGP(sparse_graph)
    args = data(8, 3)
    kernel = default_sampler(model, num_dims=3)
    state = kernel.init(jax.random.key(0), 5, None, args, {})

    def step(state, _):
        state = kernel.sample(state, args, {})
        return state, state.z

    _, draws = jax.jit(partial(jax.lax.scan, step, length=40))(state, None)
    assert active_set(draws["active"]).all()
    assert adjacency(draws["Z"]).all()
    assert len(np.unique(draws["active"], axis=0)) > 1
    assert all(np.isfinite(draw).all() for draw in draws.values())
