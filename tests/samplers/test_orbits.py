"""Moves along orbits: the distributions that they keep, and where they are taken."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
import pytest
from numpyro.diagnostics import effective_sample_size
from numpyro.distributions import biject_to, constraints
from scipy import stats

from structbo.models import AdditiveGP, AlikeLogNormal, Residual
from structbo.samplers import Hamiltonian
from structbo.samplers.hamiltonian import MAY_BE_ALIKE, MULTIPLIES
from structbo.samplers.orbits import Product, Spread, Translation, orbit_moves

NOTHING = jnp.zeros((2, 2))
NUM_CHAINS, NUM_STEPS = 4000, 30
LOG_PRODUCTS = jnp.array([0.5, 2.0, -0.3])


def ended(sizes: dict[str, int]) -> dict[str, np.ndarray]:
    """Last states of chains that scale spreads of normal numbers, from nearly equal starts."""
    keys = jax.random.split(jax.random.key(0), NUM_CHAINS)
    orbits = [Spread((site,), freedom=size - 1) for site, size in sizes.items()]

    def chain(key: jax.Array, values: dict[str, jax.Array]) -> dict[str, jax.Array]:
        def step(k: jax.Array, values: dict[str, jax.Array]) -> dict[str, jax.Array]:
            own = jax.random.fold_in(key, k)
            return orbit_moves(own, half_square, values, orbits, [True] * len(orbits))

        return jax.lax.fori_loop(0, NUM_STEPS, step, values)

    ends: dict[str, np.ndarray] = jax.jit(jax.vmap(chain))(keys, started(sizes))
    return ends


def half_square(values: dict[str, jax.Array]) -> jax.Array:
    """Minus the log density of standard normal numbers."""
    return sum((value @ value / 2 for value in values.values()), jnp.array(0.0))


def started(sizes: dict[str, int]) -> dict[str, jax.Array]:
    return {
        site: 0.05 * jax.random.normal(jax.random.key(1), (NUM_CHAINS, size))
        for site, size in sizes.items()
    }


@pytest.mark.parametrize("sizes", [{"a": 2}, {"a": 5}, {"a": 40}, {"a": 3, "b": 2}])
def test_spreads_have_their_distribution(sizes: dict[str, int]) -> None:
    """Squared distances from the mean of N standard normal numbers are chi-squared of N - 1, and
    the mean stays.
    """
    ends, starts = ended(sizes), started(sizes)
    for site, size in sizes.items():
        mean = ends[site].mean(1, keepdims=True)
        spread = ((ends[site] - mean) ** 2).sum(1)
        assert stats.kstest(spread, stats.chi2(size - 1).cdf).pvalue > 0.01
        np.testing.assert_allclose(mean[:, 0], starts[site].mean(1), atol=1e-9)


def test_an_orbit_that_is_not_free_is_left_alone() -> None:
    values = {"a": jnp.arange(3.0), "b": jnp.arange(4.0), "on none": jnp.arange(2.0)}
    orbits = [Spread(("a",), freedom=2), Spread(("b",), freedom=3)]
    for seed in range(5):
        key = jax.random.key(seed)
        ends = orbit_moves(key, half_square, values, orbits, [False, jnp.array(True)])
        for site in ("a", "on none"):
            np.testing.assert_array_equal(ends[site], values[site])
    assert np.abs(ends["b"] - values["b"]).max() > 0.01


PRODUCTS = {
    "positive": (constraints.greater_than(1.0), constraints.positive),
    "bounded": (constraints.interval(0.5, 3.0), constraints.interval(0.0, 2.0)),
}


@pytest.mark.parametrize("name", PRODUCTS)
def test_factors_have_their_distribution_given_the_products(name: str) -> None:
    """Moves keep the products of a factor (exponential) and numbers (independent gamma).

    This leaves a density of the factor alone, known up to a constant and bounded by the supports.
    """
    supports = PRODUCTS[name]
    transforms = tuple(biject_to(support) for support in supports)
    products = jnp.array([1.2, 2.0, 0.7])

    def log_density(factor: jax.Array, numbers: jax.Array) -> jax.Array:
        is_inside = supports[0](factor) & supports[1](numbers).all()
        log_prob = dist.Gamma(2.0, 3.0).log_prob(numbers).sum() - factor
        return jnp.where(is_inside, log_prob, -jnp.inf)

    def potential(values: dict[str, jax.Array]) -> jax.Array:
        there = [t(values[site]) for t, site in zip(transforms, orbit.sites, strict=True)]
        volumes = [
            t.log_abs_det_jacobian(values[site], end).sum()
            for t, site, end in zip(transforms, orbit.sites, there, strict=True)
        ]
        return -log_density(*there) - sum(volumes)

    orbit = Product(("factor", "numbers"), transforms, freedom=3)

    def chain(key: jax.Array) -> jax.Array:
        def step(k: jax.Array, values: dict[str, jax.Array]) -> dict[str, jax.Array]:
            return orbit_moves(jax.random.fold_in(key, k), potential, values, [orbit], [True])

        start = {"factor": transforms[0].inv(2.0), "numbers": transforms[1].inv(products / 2.0)}
        values = jax.lax.fori_loop(0, NUM_STEPS, step, start)
        factor = transforms[0](values["factor"])
        return jnp.append(factor * transforms[1](values["numbers"]), factor)

    keys = jax.random.split(jax.random.key(0), NUM_CHAINS)
    ends = np.asarray(jax.jit(jax.vmap(chain))(keys))
    np.testing.assert_allclose(ends[:, :3], np.tile(products, (NUM_CHAINS, 1)), rtol=1e-9)
    grid = np.linspace(0.01, 30.0, 300_000)
    # A factor c and numbers p / c: the volume of the numbers is c to the power of minus three.
    heights = jax.vmap(lambda c: log_density(c, products / c) - 3.0 * jnp.log(c))(grid)
    cumulated = np.cumsum(np.exp(heights))
    known = np.interp(ends[:, 3], grid, cumulated / cumulated[-1])
    assert stats.kstest(known, "uniform").pvalue > 0.01


def test_single_numbers_have_their_distribution() -> None:
    """The number has a logistic density with long tails; another number does not move."""
    orbit = Translation(("a",))

    def potential(values: dict[str, jax.Array]) -> jax.Array:
        return -dist.Logistic(0.0, 3.0).log_prob(values["a"])

    def chain(key: jax.Array) -> dict[str, jax.Array]:
        def step(k: jax.Array, values: dict[str, jax.Array]) -> dict[str, jax.Array]:
            return orbit_moves(jax.random.fold_in(key, k), potential, values, [orbit], [True])

        return jax.lax.fori_loop(0, NUM_STEPS, step, {"a": jnp.array(2.0), "b": jnp.array(1.0)})

    ends = jax.jit(jax.vmap(chain))(jax.random.split(jax.random.key(0), NUM_CHAINS))
    assert stats.kstest(ends["a"], stats.logistic(0.0, 3.0).cdf).pvalue > 0.01
    np.testing.assert_array_equal(ends["b"], 1.0)


def alike(X: jax.Array, *, is_marked: bool = True) -> None:
    prior = AlikeLogNormal(jnp.zeros(12), jnp.array([0.0, 0.95]))
    numpyro.sample("a", prior, infer={MAY_BE_ALIKE: is_marked})


def unmarked(X: jax.Array) -> None:
    alike(X, is_marked=False)


def ridge(X: jax.Array, *, is_marked: bool = True) -> None:
    """Little but the products of a factor and three numbers is known."""
    infer = {MULTIPLIES: "b"} if is_marked else {}
    factor = numpyro.sample("a", dist.Pareto(1.0, 1.0), infer=infer)
    numbers = numpyro.sample("b", dist.LogNormal(0.0, 1.0).expand([3]).to_event(1))
    log_products = jnp.log(factor * numbers)
    numpyro.factor("data", dist.Normal(LOG_PRODUCTS, 0.01).log_prob(log_products).sum())


def unknown(X: jax.Array) -> None:
    """Nothing is known of a factor but its prior, and much of the numbers that it multiplies."""
    numpyro.sample("a", dist.Pareto(1.0, 1.0), infer={MULTIPLIES: "b"})
    numbers = numpyro.sample("b", dist.LogNormal(0.0, 1.0).expand([3]).to_event(1))
    numpyro.factor("data", dist.Normal(LOG_PRODUCTS, 0.01).log_prob(jnp.log(numbers)).sum())


def unmarked_ridge(X: jax.Array) -> None:
    ridge(X, is_marked=False)


def after(
    model: Any, start: dict[str, jax.Array], num_steps: int, *, has_orbits: bool = True
) -> Any:
    """The state of a chain after some steps."""
    kernel = Hamiltonian(model, has_orbits=has_orbits)
    state = kernel.init(jax.random.key(3), 50, start, (NOTHING,), {})
    step = jax.jit(lambda k, s: kernel.sample(s, (NOTHING,), {}))
    return jax.lax.fori_loop(0, num_steps, step, state)


@pytest.mark.parametrize("has_orbits", [True, False])
def test_they_may_be_left_out(has_orbits: bool) -> None:
    starts = {"a": jnp.exp(0.1 * jnp.arange(12.0))}, {"a": jnp.array(2.0), "b": jnp.ones(3)}
    for start, models in zip(starts, ((alike, unmarked), (ridge, unmarked_ridge)), strict=True):
        one, other = (after(model, start, 1, has_orbits=has_orbits).z["a"] for model in models)
        assert np.array_equal(one, other) != has_orbits


def test_held_numbers_keep_their_spread() -> None:
    """A site is held as a whole, so its vector has no numbers that may move."""

    def held(X: Any, y: Any = None) -> None:
        infer = {"held_at": jnp.array([1.0, 3.0]), MAY_BE_ALIKE: True}
        numpyro.sample("held", dist.Normal(0.0, 1.0).expand([2]).to_event(1), infer=infer)

    kernel = Hamiltonian(held)
    state = kernel.init(jax.random.key(0), 40, {"held": jnp.zeros(2)}, (NOTHING,), {})
    run = jax.jit(lambda s: kernel.sample(s, (NOTHING,), {}))
    for _ in range(10):
        state = run(state)
        np.testing.assert_array_equal(state.z["held"], [1.0, 3.0])
    assert np.abs(run(state).z["held"] - np.array([1.0, 3.0])).max() > 1e-6


def test_numbers_become_alike_and_different_again() -> None:
    """Half of the prior are numbers that are nearly equal, where trajectories alone rarely come."""
    kernel = Hamiltonian(alike)
    start = {"a": jnp.exp(0.1 * jnp.arange(12.0))}
    state = kernel.init(jax.random.key(3), 200, start, (NOTHING,), {})

    def step(state: Any, _: None) -> tuple[Any, jax.Array]:
        state = kernel.sample(state, (NOTHING,), {})
        return state, jnp.log(state.z["a"]).std() < 0.5

    _, is_alike = jax.jit(lambda s: jax.lax.scan(step, s, length=6000))(state)
    kept = np.asarray(is_alike)[1000:]
    num_effective = (kept[1:] != kept[:-1]).sum() / 2.0
    assert num_effective > 100
    assert abs(kept.mean() - 0.5) < 4.0 * 0.5 / np.sqrt(num_effective)


def test_a_chain_goes_along_a_ridge() -> None:
    """Log products p are nearly known.

    The density of the factor c is therefore its prior times the density of three normal log
    numbers, p - log c.
    """
    start = {"a": jnp.array(1.1), "b": jnp.exp(LOG_PRODUCTS) / 1.1}
    kept = log_factors_of_a_chain(ridge, start)
    log_factor = np.linspace(0.0, 8.0, 80_001)
    heights = -log_factor - 0.5 * ((np.asarray(LOG_PRODUCTS)[:, None] - log_factor) ** 2).sum(0)
    weights = np.exp(heights) / np.exp(heights).sum()
    mean = weights @ log_factor
    deviation = np.sqrt(weights @ log_factor**2 - mean**2)
    num_effective = float(effective_sample_size(kept[None]))
    assert num_effective > 600
    assert abs(kept.mean() - mean) < 4.0 * deviation / np.sqrt(num_effective)


def log_factors_of_a_chain(model: Any, start: dict[str, jax.Array]) -> np.ndarray:
    kernel = Hamiltonian(model)
    state = kernel.init(jax.random.key(3), 200, start, (NOTHING,), {})

    def step(state: Any, _: None) -> tuple[Any, jax.Array]:
        state = kernel.sample(state, (NOTHING,), {})
        return state, jnp.log(state.z["a"])

    _, log_factors = jax.jit(lambda s: jax.lax.scan(step, s, length=3200))(state)
    return np.asarray(log_factors)[200:]


def test_a_factor_of_which_nothing_is_known_goes_far() -> None:
    """The logarithm of one from Pareto's distribution is exponential."""
    start = {"a": jnp.array(1.1), "b": jnp.exp(LOG_PRODUCTS)}
    kept = log_factors_of_a_chain(unknown, start)
    is_far = kept > 3.0
    num_effective = float(effective_sample_size(1.0 * is_far[None]))
    assert num_effective > 2000  # trajectories alone: 1,155
    assert abs(kept.mean() - 1.0) < 4.0 / np.sqrt(num_effective)
    assert abs(is_far.mean() - np.exp(-3.0)) < 4.0 * np.sqrt(np.exp(-3.0) / num_effective)


def test_a_factor_is_one_number() -> None:
    def two_factors(X: jax.Array) -> None:
        prior = dist.Pareto(1.0, 1.0).expand([2]).to_event(1)
        numpyro.sample("a", prior, infer={MULTIPLIES: "b"})
        numpyro.sample("b", dist.LogNormal(0.0, 1.0).expand([2]).to_event(1))

    start = {"a": jnp.full(2, 2.0), "b": jnp.ones(2)}
    with pytest.raises(ValueError, match=r"'b'.* must be a scalar, 'a' has shape \(2,\)"):
        after(two_factors, start, num_steps=1)


def test_sites_of_the_additive_model_are_marked() -> None:
    def infer(model: AdditiveGP, site: str) -> dict[str, Any]:
        run = numpyro.handlers.trace(numpyro.handlers.seed(model, 0))
        found: dict[str, Any] = run.get_trace(jnp.zeros((2, 3)))[site]["infer"]
        return found

    assert infer(AdditiveGP(), "lengthscale")[MAY_BE_ALIKE]
    assert not infer(AdditiveGP(lengthscale=dist.LogNormal(0.0, 1.0)), "lengthscale")[MAY_BE_ALIKE]
    assert infer(AdditiveGP(residual=Residual()), "kappa")[MULTIPLIES] == "lengthscale"
