"""Moves that scale how far apart numbers are: their distribution, and where they are taken."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
import pytest
from scipy import stats

from structbo.models import AdditiveGP, AlikeLogNormal
from structbo.samplers import Hamiltonian
from structbo.samplers.hamiltonian import ENDLESS, MAY_BE_ALIKE
from structbo.samplers.spread import spread_moves

NOTHING = jnp.zeros((2, 2))
NUM_CHAINS, NUM_STEPS = 4000, 30


def ended(num_dims: int, vectors: np.ndarray) -> np.ndarray:
    """Where chains end that scale standard normal numbers, which begin alike, (chains, P)."""
    keys = jax.random.split(jax.random.key(0), NUM_CHAINS)
    start = 0.05 * jax.random.normal(jax.random.key(1), (NUM_CHAINS, num_dims))

    def chain(key: jax.Array, position: jax.Array) -> jax.Array:
        def step(k: jax.Array, position: jax.Array) -> jax.Array:
            own = jax.random.fold_in(key, k)
            return spread_moves(own, lambda q: q @ q / 2, position, jnp.asarray(vectors))

        return jax.lax.fori_loop(0, NUM_STEPS, step, position)

    return np.asarray(jax.jit(jax.vmap(chain))(keys, start))


@pytest.mark.parametrize("num_dims", [2, 5, 40])
def test_spreads_have_their_distribution(num_dims: int) -> None:
    """Squared distances from the mean of N standard normal numbers are chi-squared of N - 1."""
    ends = ended(num_dims, np.ones((1, num_dims), bool))
    spread = ((ends - ends.mean(1, keepdims=True)) ** 2).sum(1)
    assert stats.kstest(spread, stats.chi2(num_dims - 1).cdf).pvalue > 0.01


def test_vectors_take_turns_and_keep_their_means() -> None:
    vectors = np.array([[1, 1, 1, 0, 0, 0], [0, 0, 0, 1, 1, 0]], bool)
    ends = ended(6, vectors)
    start = 0.05 * np.asarray(jax.random.normal(jax.random.key(1), (NUM_CHAINS, 6)))
    np.testing.assert_array_equal(ends[:, 5], start[:, 5])
    for vector in vectors:
        np.testing.assert_allclose(ends[:, vector].mean(1), start[:, vector].mean(1), atol=1e-9)
        away = ends[:, vector] - ends[:, vector].mean(1, keepdims=True)
        spread, freedom = (away**2).sum(1), vector.sum() - 1
        assert stats.kstest(spread, stats.chi2(freedom).cdf).pvalue > 0.01


def alike(X: jax.Array, *, is_marked: bool = True) -> None:
    prior = AlikeLogNormal(jnp.zeros(12), jnp.array([0.0, 0.95]))
    numpyro.sample("a", prior, infer={MAY_BE_ALIKE: is_marked})


def unmarked(X: jax.Array) -> None:
    alike(X, is_marked=False)


def after(model: Any, num_warmup: int, num_steps: int) -> Any:
    """The state of a chain after some steps."""
    kernel = Hamiltonian(model)
    start = {"a": jnp.exp(0.1 * jnp.arange(12.0))}
    state = kernel.init(jax.random.key(3), num_warmup, start, (NOTHING,), {})
    step = jax.jit(lambda k, s: kernel.sample(s, (NOTHING,), {}))
    return jax.lax.fori_loop(0, num_steps, step, state)


def test_searches_do_not_take_them() -> None:
    for num_warmup, is_same in ((ENDLESS, True), (50, False)):
        one, other = (after(model, num_warmup, 1).z["a"] for model in (alike, unmarked))
        assert np.array_equal(one, other) == is_same


def test_held_numbers_keep_their_spread() -> None:
    """A site is held as a whole, so its vector has no numbers that may move."""

    def held(X: Any, y: Any = None) -> None:
        infer = {"held_at": jnp.array([1.0, 3.0]), MAY_BE_ALIKE: True}
        numpyro.sample("held", dist.Normal(0.0, 1.0).expand([2]).to_event(1), infer=infer)

    kernel = Hamiltonian(held)
    state = kernel.init(jax.random.key(0), 20, {"held": jnp.zeros(2)}, (NOTHING,), {})
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


def test_lengthscales_are_marked_where_their_prior_says_so() -> None:
    def infer(model: AdditiveGP) -> bool:
        run = numpyro.handlers.trace(numpyro.handlers.seed(model, 0))
        return bool(run.get_trace(jnp.zeros((2, 3)))["lengthscale"]["infer"][MAY_BE_ALIKE])

    assert infer(AdditiveGP())
    assert not infer(AdditiveGP(lengthscale=dist.LogNormal(0.0, 1.0)))
