"""Active sets as random variables, and the components that follow from them."""

from dataclasses import replace
from functools import partial
from itertools import product

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
import pytest
from numpyro import handlers
from numpyro.infer import Predictive

from structbo.models import (
    ActiveBernoulli,
    AdditiveGP,
    MarginalGP,
    Residual,
    active_set,
    active_sets,
    pairs,
    sparse_axis_aligned,
    subset,
)
from structbo.models.components import component_product

NUM_DIMS = 4
PROBS = np.array([0.05, 0.3, 0.5, 0.9])
ALL = jnp.array(list(product([0, 1], repeat=NUM_DIMS)))
NONE = jnp.zeros(NUM_DIMS, int)

each_probability = pytest.mark.parametrize("probs", [0.3, PROBS], ids=["number", "vector"])


@each_probability
def test_frequencies(probs):
    num_draws = 20_000
    draws = ActiveBernoulli(NUM_DIMS, probs).sample(jax.random.key(0), (num_draws,))
    assert draws.shape == (num_draws, NUM_DIMS)
    assert active_set(draws).all()
    each = np.broadcast_to(probs, NUM_DIMS)
    assert (np.abs(draws.mean(0) - each) < 4 * np.sqrt(each * (1 - each) / num_draws)).all()
    correlation = np.corrcoef(np.asarray(draws).T) - np.eye(NUM_DIMS)
    assert np.abs(correlation).max() < 4.5 / np.sqrt(num_draws)


@each_probability
def test_log_prob_is_the_product_over_variables(probs):
    prior = ActiveBernoulli(NUM_DIMS, probs)
    expected = np.log(np.where(np.asarray(ALL) == 1, probs, 1 - np.asarray(probs))).sum(1)
    np.testing.assert_allclose(prior.log_prob(ALL), expected, rtol=1e-12)
    np.testing.assert_allclose(prior.log_prob(ALL[3]), expected[3], rtol=1e-12)


def test_probabilities_sum_to_one_also_with_certain_variables():
    for probs in (0.2, jnp.array([0.0, 1.0, 0.4, 0.7])):
        density = jnp.exp(ActiveBernoulli(NUM_DIMS, probs).log_prob(ALL))
        np.testing.assert_allclose(density.sum(), 1.0, rtol=1e-12)


@pytest.mark.parametrize(
    ("vector", "is_inside"), [([0, 1], True), ([0, 2], False), ([0.5, 0.0], False)]
)
def test_support(vector, is_inside):
    assert bool(active_set(jnp.array(vector))) == is_inside
    assert active_set.is_discrete
    assert active_set.event_dim == 1


@pytest.mark.parametrize(
    ("probs", "message"),
    [
        (np.full(3, 0.5), r"probs must be a number or an array of shape \(4,\), got shape \(3,\)"),
        (1.2, r"probs must be in \[0, 1\], got 1.2"),
        (np.full(4, -0.1), r"probs must be in \[0, 1\]"),
        (np.nan, r"probs must be in \[0, 1\], got nan"),
    ],
)
def test_errors_name_the_argument(probs, message):
    with pytest.raises(ValueError, match=message):
        ActiveBernoulli(NUM_DIMS, probs)


def test_gradient_by_probabilities_that_reach_one_is_finite():
    def log_prob(p):
        return ActiveBernoulli(3, jnp.stack([p, 1.0 - p, 0.3])).log_prob(jnp.array([1, 0, 1]))

    assert jax.grad(log_prob)(1.0) == 2.0


def test_invalid_value_warns_under_validation():
    with numpyro.validation_enabled(), pytest.warns(UserWarning, match="Out-of-support values"):
        ActiveBernoulli(2, 0.5).log_prob(jnp.array([0, 2]))


def test_distribution_passes_through_jit_and_vmap():
    priors = jax.vmap(lambda p: ActiveBernoulli(3, p))(jnp.array([0.1, 0.6]))
    none = jnp.zeros(3, int)
    densities = jax.jit(jax.vmap(lambda prior: prior.log_prob(none)))(priors)
    np.testing.assert_allclose(densities, 3 * np.log([0.9, 0.4]), rtol=1e-12)


def test_random_probability_makes_variables_exchangeable():
    """Beta-Bernoulli: P(active) = a / (a + b), P(two) = a (a + 1) / ((a + b) (a + b + 1))."""
    num_draws = 20_000
    structure = active_sets(dist.Beta(1.0, 3.0))
    draws = Predictive(lambda: structure(3), num_samples=num_draws)(jax.random.key(2))
    assert set(draws) == {"active_probability", "active"}
    first, second = draws["active"][:, 0], draws["active"][:, 1]
    for observed, expected in ((first, 1 / 4), (first * second, 2 / 20)):
        error = np.sqrt(expected * (1 - expected) / num_draws)
        assert abs(observed.mean() - expected) < 4 * error


@pytest.mark.parametrize("num_dims", [1, 6, 10, 100])
def test_default_probability_expects_at_most_five(num_dims: int):
    @jax.jit
    def probability(key):
        with handlers.seed(rng_seed=key), handlers.trace() as trace:
            active_sets()(num_dims)
        return trace["active"]["fn"].probs

    probs = probability(jax.random.key(0))
    assert probs <= 0.5
    assert probs * num_dims == pytest.approx(min(num_dims / 2, 5.0))


@pytest.mark.parametrize("active", list(ALL), ids=lambda a: "".join(map(str, np.asarray(a))))
def test_subset_is_one_component(active):
    decomposition = subset(active)
    np.testing.assert_array_equal(decomposition.members[0], active == 1)
    assert int(decomposition.count) == 1
    assert decomposition.weights.tolist() == [max(float(active.sum()), 1.0)]


def traced(active, X, y, **options) -> MarginalGP:
    model = AdditiveGP(active_sets(), **options)
    data = {
        "active": active,
        "lengthscale": jnp.array([0.3, 0.5, 0.2, 0.4]),
        "outputscale": jnp.array(1.7),
        "noise": jnp.array(0.1),
        "rho": jnp.array(0.25),
        "kappa": jnp.array(2.0),
        "relevance": jnp.array([0.5, 1.0, 2.0, 0.1]),
    }
    seeded = handlers.seed(model, jax.random.key(0))
    run = handlers.trace(handlers.substitute(seeded, data=data))
    return run.get_trace(X, y)["y"]["fn"]


@pytest.fixture(scope="module")
def points() -> tuple[jax.Array, jax.Array]:
    rng = np.random.default_rng(1)
    return jnp.array(rng.random((6, NUM_DIMS))), jnp.array(rng.normal(size=6))


@pytest.mark.parametrize("options", [{}, {"relevance": dist.HalfNormal(1.0)}], ids=["", "relevant"])
def test_nothing_active_is_a_constant_with_the_whole_variance(points, options):
    """The posterior in closed form is a normal mean with a normal prior."""
    X, y = points

    @jax.jit
    def run(X, y):
        gp = traced(NONE, X, y, **options)
        posterior, new = gp.condition(y), X[:2]
        moments = posterior.predict(new), posterior.predict_component(0, new)
        return gp.gram, moments

    found, moments = run(X, y)
    covariance = 1.7 * np.ones((6, 6)) + 0.1 * np.eye(6)
    np.testing.assert_allclose(found, covariance, rtol=1e-12)
    shrunk = 1.7 / (1.7 + 0.1 / 6)
    for mean, variance in moments:
        np.testing.assert_allclose(mean, shrunk * y.mean(), rtol=1e-9)
        np.testing.assert_allclose(variance, 1.7 * (1 - shrunk), rtol=1e-9)


def test_paths_with_nothing_active_are_constant(points):
    X, y = points

    @jax.jit
    def run(X, y, keys):
        posterior = traced(NONE, X, y).condition(y)
        paths = jax.vmap(lambda key: posterior.sample_path(key, 16)(X[:2]))(keys)
        return paths, *posterior.predict(X[:1])

    found = run(X, y, jax.random.split(jax.random.key(0), 2000))
    paths, (mean,), (variance,) = map(np.asarray, found)
    np.testing.assert_allclose(paths[:, 0], paths[:, 1], atol=1e-9)
    assert abs(paths[:, 0].mean() - mean) < 4 * np.sqrt(variance / 2000)
    assert abs(paths[:, 0].var() / variance - 1) < 4 * np.sqrt(2 / 2000)


def test_nothing_active_beside_a_residual(points):
    X, y = points

    @jax.jit
    def run(X, y):
        covariance = traced(NONE, X, y, residual=Residual()).covariance
        return covariance(X, X), covariance.residual_gram(X, X)

    gram, rest = run(X, y)
    np.testing.assert_allclose(np.diagonal(gram), 1.7, rtol=1e-12)
    np.testing.assert_allclose(gram, 0.75 * 1.7 + rest, rtol=1e-12)


def test_density_and_gradient_are_finite_for_every_active_set(points):
    X, y = points

    def density(lengthscale, active):
        gp = traced(active, X, y)
        scaled = replace(gp.covariance, lengthscale=lengthscale)
        return MarginalGP(scaled, X, gp.noise).log_prob(y)

    gradient = jax.jit(jax.vmap(jax.grad(density), (None, 0)))
    gradients = gradient(jnp.full(NUM_DIMS, 0.4), ALL)
    assert np.isfinite(gradients).all()
    assert not np.asarray(gradients)[np.asarray(ALL) == 0].any()
    assert np.asarray(gradients)[np.asarray(ALL) == 1].all()


def all_graphs_within(num_dims: int) -> tuple[np.ndarray, np.ndarray]:
    """Every edge matrix with every active set."""
    rows, columns = np.triu_indices(num_dims, 1)
    both = []
    for bits in product([0, 1], repeat=len(rows)):
        Z = np.zeros((num_dims, num_dims), int)
        Z[rows, columns] = Z[columns, rows] = bits
        both += [(Z, np.array(a)) for a in product([0, 1], repeat=num_dims)]
    matrices, active = zip(*both, strict=True)
    return np.stack(matrices), np.stack(active)


def test_pairs_within_an_active_set():
    def table(Z, active):
        decomposition = pairs(Z, active)
        return decomposition.members, decomposition.weights, decomposition.count

    every = all_graphs_within(3)
    tables = map(np.asarray, jax.jit(jax.vmap(table))(*every))
    for Z, active, members, weights, count in zip(*every, *tables, strict=True):
        rows = [tuple(np.flatnonzero(row)) for row in members[:count]]
        inside = [d for d in range(3) if active[d]]
        edges = [(i, j) for i in inside for j in inside if i < j and Z[i, j]]
        assert rows == ([(d,) for d in inside] + edges or [()])
        assert weights[:count].tolist() == [max(float(len(row)), 1.0) for row in rows]
        assert not weights[count:].any()
        assert not members[count:].any()


@pytest.mark.parametrize("components", [pairs, lambda Z, active: subset(active)])
def test_changes_within_active_sets_give_what_recomputation_gives(components):
    """All 4096 pairs of (edge matrix, active set) of three variables are compared."""
    factors = jnp.array(np.random.default_rng(0).random((3, 2, 2)))

    def visit(state, sign, members, weight):
        gram, total, count = state
        gram += sign * weight * component_product(factors, members)
        return gram, total + sign * weight, count + sign

    def from_scratch(Z, active):
        nothing = (jnp.zeros((2, 2)), jnp.array(0.0), jnp.array(0.0))
        return components(Z, active).fold(visit, nothing)

    def moved(old, start, new):
        return components(*old).fold_changes(components(*new), visit, start)

    @jax.jit
    def both(every):
        scratch = jax.vmap(from_scratch)(*every)
        to_all = jax.vmap(moved, (None, None, 0))
        return jax.vmap(to_all, (0, 0, None))(every, scratch, every), scratch

    by_moves, scratch = both(all_graphs_within(3))
    for one, two in zip(by_moves, scratch, strict=True):
        np.testing.assert_allclose(one, np.broadcast_to(two, one.shape), atol=1e-12)
    assert (scratch[2] >= 1).all()


def test_structure_returns_the_components_of_its_active_set():
    Z = jnp.array([[0, 1, 0], [1, 0, 1], [0, 1, 0]])
    active = jnp.array([1, 1, 0])
    structure = active_sets(0.3, components=partial(pairs, Z))
    with handlers.seed(rng_seed=0), handlers.substitute(data={"active": active}):
        got = structure(3)
    np.testing.assert_array_equal(got.members, pairs(Z, active).members)


def test_shrinkage_is_half_cauchy_in_inverse_squared_lengthscales():
    """P(1 / l^2 < c tau) is (2 / pi) arctan(c) for every tau."""
    model = AdditiveGP(active_sets(1.0), lengthscale=sparse_axis_aligned(0.2))

    @jax.jit
    @jax.vmap
    def draw(key):
        run = handlers.trace(handlers.seed(model, key))
        trace = run.get_trace(jnp.zeros((1, 5)), jnp.zeros(1))
        return {name: trace[name]["value"] for name in ("lengthscale", "shrinkage")}

    draws = jax.tree.map(np.asarray, draw(jax.random.split(jax.random.key(0), 4000)))
    assert draws["lengthscale"].shape == (4000, 5)
    for scaled in (
        draws["lengthscale"] ** -2 / draws["shrinkage"][:, None],
        draws["shrinkage"] / 0.2,
    ):
        for c in (0.3, 1.0, 5.0):
            p = 2 / np.pi * np.arctan(c)
            assert abs((scaled < c).mean() - p) < 4 * np.sqrt(p * (1 - p) / scaled.size)


def test_density_of_shrunk_lengthscales():
    tau, value = 0.3, np.array([0.2, 1.0, 7.0])

    @jax.jit
    def density(tau, value):
        with handlers.substitute(data={"shrinkage": tau}):
            return sparse_axis_aligned()(3).log_prob(value)

    inverse_square = value**-2.0
    expected = np.log(2 / (np.pi * tau * (1 + (inverse_square / tau) ** 2)) * 2 * value**-3.0)
    np.testing.assert_allclose(density(tau, value), expected, rtol=1e-9)
