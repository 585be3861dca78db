"""Hamiltonian moves: exact trajectories, posteriors in closed form, and what is learned."""

from itertools import pairwise
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
import pytest
from jax import Array
from numpyro.diagnostics import effective_sample_size
from numpyro.infer import MCMC, Gibbs
from scipy import stats

from structbo.samplers import Hamiltonian
from structbo.samplers.adaptation import NUM_EARLY
from structbo.samplers.hamiltonian import trajectory
from structbo.samplers.sampler import MAX_HELD

SCALES = np.array([0.01, 1.0, 100.0])
NOTHING = jnp.zeros((1, 1))


def bounded(X: Array, y: Array | None = None) -> None:
    """Conjugate pairs on three supports, so that Jacobians matter."""
    rate = numpyro.sample("rate", dist.Gamma(3.0, 2.0))
    share = numpyro.sample("share", dist.Beta(2.0, 3.0))
    at = numpyro.sample("at", dist.Normal(0.0, 2.0).expand([2]).to_event(1))
    numpyro.sample("counts", dist.Poisson(rate), obs=jnp.array([4.0, 2.0, 5.0]))
    numpyro.sample("flips", dist.Bernoulli(share), obs=jnp.array([1.0, 1.0, 0.0, 1.0]))
    numpyro.sample("y", dist.Normal(at, 1.0).to_event(1), obs=jnp.array([1.0, -3.0]))


POSTERIORS = {
    "rate": stats.gamma(14.0, scale=1 / 5.0),
    "share": stats.beta(5.0, 4.0),
    "at0": stats.norm(0.8, np.sqrt(0.8)),
    "at1": stats.norm(-2.4, np.sqrt(0.8)),
}


def stretched(X: Array, y: Array | None = None) -> None:
    numpyro.sample("a", dist.Normal(0.0, SCALES).to_event(1))


def drawn(model: Any, num_warmup: int, num_samples: int, **settings: Any) -> MCMC:
    kernel = Gibbs([(Hamiltonian(model, **settings), None)])
    mcmc = MCMC(
        kernel,
        num_warmup=num_warmup,
        num_samples=num_samples,
        num_chains=20,
        chain_method=jax.vmap,
        progress_bar=False,
    )
    mcmc.run(jax.random.key(0), NOTHING)
    return mcmc


def test_draws_follow_posteriors_in_closed_form() -> None:
    """Quantiles of 20 chains miss theirs by less than four standard errors."""
    draws = {k: np.asarray(v) for k, v in drawn(bounded, 150, 600).get_samples(True).items()}
    columns = {**draws, "at0": draws["at"][..., 0], "at1": draws["at"][..., 1]}
    for name, posterior in POSTERIORS.items():
        for level in (0.05, 0.25, 0.5, 0.75, 0.95):
            shares = (columns[name] < posterior.ppf(level)).mean(1)
            error = shares.std(ddof=1) / np.sqrt(len(shares))
            assert error < 0.015
            assert abs(shares.mean() - level) < 4.0 * error, (name, level)


def test_the_metric_is_learned_and_makes_all_scales_alike() -> None:
    """With one step size for all, the widest scale would need 10,000 steps."""
    mcmc = drawn(stretched, 300, 100, num_steps=20)
    state = mcmc.last_state.block_states[0]
    deviations = np.sqrt(np.diagonal(np.asarray(state.memory.adaptation.covariance), 0, 1, 2))
    assert (np.abs(np.log(deviations / SCALES)) < 0.5).all()
    curvature = np.diagonal(np.asarray(state.memory.adaptation.curvature), 0, 1, 2)
    assert (np.abs(0.5 * np.log(curvature) + np.log(SCALES)) < 1.0).all()
    draws = np.asarray(mcmc.get_samples(True)["a"])
    means = draws.mean(1) / SCALES
    # Independent draws have means within 0.1 of zero; these chains are nearly as good.
    assert (means.std(0) < 0.2).all()


def along_a_ridge(X: Array, y: Array | None = None) -> None:
    """Eight numbers with correlations of 0.99, as of lengthscales that are alike."""
    covariance = 0.99 * jnp.ones((8, 8)) + 0.01 * jnp.eye(8)
    numpyro.sample("a", dist.MultivariateNormal(jnp.zeros(8), covariance))


def test_correlations_are_learned() -> None:
    """With a diagonal metric a trajectory of ten steps goes a tenth of the way along the ridge."""
    mcmc = drawn(along_a_ridge, 300, 100)
    common = np.asarray(mcmc.get_samples(True)["a"]).mean(2)
    # Independent draws have means within 0.1 of zero; these chains are nearly as good.
    assert common.mean(1).std() < 0.2 and 0.8 < common.std() < 1.2


def ball(X: Array, y: Array | None = None) -> None:
    numpyro.sample("a", dist.Normal(0.0, 1.0).expand([3]).to_event(1))


def test_trajectories_end_on_the_other_side_and_at_other_distances() -> None:
    """Effective draws of numbers and squares need trajectories of varying length.

    A whole oscillation, ten steps, gives 9,800 and 2,800; half an oscillation 74,000 and 1,100.
    """
    draws = np.asarray(drawn(ball, 300, 500).get_samples(True)["a"])
    numbers, squares = (
        np.mean([effective_sample_size(values[..., k]) for k in range(3)])
        for values in (draws, draws**2)
    )
    assert numbers > 18_000 and squares > 1_700


def bent(X: Array, y: Array | None = None) -> None:
    """Four ridges on parabolas, five times as long as wide."""
    along = numpyro.sample("along", dist.Normal(0.0, 1.0).expand([4]).to_event(1))
    numpyro.sample("across", dist.Normal(along**2, 0.3).to_event(1))


def test_derivatives_tell_how_narrow_bent_ridges_are() -> None:
    """There are 1,000 effective draws of 30,000, and 470 with the covariance alone."""
    along = np.asarray(drawn(bent, 300, 1500).get_samples(True)["along"])
    assert np.mean([effective_sample_size(along[..., k]) for k in range(4)]) > 700.0


def test_a_diagonal_metric_has_deviations_alone() -> None:
    kernel = Hamiltonian(stretched, num_steps=20, is_dense=False, varies_length=False)
    state = kernel.init(jax.random.key(0), 400, {"a": jnp.zeros(3)}, (NOTHING,), {})
    run = jax.jit(
        lambda s: jax.lax.fori_loop(0, 400, lambda _, t: kernel.sample(t, (NOTHING,), {}), s)
    )
    learned = run(state).memory.adaptation
    assert learned.covariance.shape == (3,)
    assert (np.abs(0.5 * np.log(learned.covariance) - np.log(SCALES)) < 0.5).all()
    np.testing.assert_allclose(learned.stretch()(jnp.ones(3)), np.sqrt(learned.covariance))
    assert learned.curvature is None


def test_nothing_is_learned_after_the_warm_up() -> None:
    kernel = Hamiltonian(stretched)
    run = jax.jit(lambda s: kernel.sample(s, (NOTHING,), {}))
    state = kernel.init(jax.random.key(0), 2, {"a": jnp.ones(3)}, (NOTHING,), {})
    states = [state]
    for _ in range(4):
        states.append(run(states[-1]))
    learned = [np.asarray(state.memory.adaptation.error) for state in states]
    assert (learned[1] != learned[0]).any() and (learned[2] != learned[1]).any()
    for before, after in pairwise(states[2:]):
        jax.tree.map(np.testing.assert_array_equal, before.memory, after.memory)


def quartic(position: Array) -> Array:
    return (position**4).sum() / 4.0 + position[0] * position[1]


def test_a_trajectory_leads_back_if_it_is_turned_round() -> None:
    """The map is an involution, so the Metropolis acceptance probability applies."""
    start, momentum = jnp.array([0.3, -0.7]), jnp.array([0.5, 1.1])

    def end(start: Array, momentum: Array) -> tuple[Array, Array]:
        shift, *_ = trajectory(quartic, lambda q: start + q, momentum, jnp.array(0.1), 15)
        # The momentum at the end is the slope of the position there, halfway between two steps.
        before, *_ = trajectory(quartic, lambda q: start + q, momentum, jnp.array(0.1), 14)
        gradient = jax.grad(quartic)(start + shift)
        return start + shift, (shift - before) / 0.1 - 0.05 * gradient

    def volume(start: Array, momentum: Array) -> Array:
        both = jnp.concatenate([start, momentum])
        return jax.jacobian(lambda both: jnp.concatenate(end(both[:2], both[2:])))(both)

    there = jax.jit(end)
    position, last = there(start, momentum)
    back, first = there(position, -last)
    np.testing.assert_allclose(back, start, atol=1e-12)
    np.testing.assert_allclose(-first, momentum, atol=1e-12)
    matrix = np.asarray(jax.jit(volume)(start, momentum))
    assert abs(np.linalg.det(matrix)) == pytest.approx(1.0, abs=1e-10)


@pytest.mark.parametrize(("deviation", "diverges"), [(1.0, False), (0.05, False), (1e-3, True)])
def test_a_trajectory_of_too_long_steps_diverges(deviation: float, diverges: bool) -> None:
    """Steps of more than 2 deviations are unstable; each leads farther off."""

    def model(X: Array, y: Array | None = None) -> None:
        numpyro.sample("a", dist.Normal(0.0, deviation))

    kernel = Hamiltonian(model)
    state = kernel.init(jax.random.key(0), 10, {"a": jnp.array(0.0)}, (NOTHING,), {})
    after = kernel.sample(state, (NOTHING,), {})
    assert bool(after.info["diverging"]) == diverges
    assert np.isfinite(after.z["a"])
    assert not diverges or (after.z["a"] == state.z["a"] and after.info["acceptance_rate"] == 0.0)


def test_the_error_of_the_energy_falls_with_the_square_of_the_step() -> None:
    errors = []
    for num_steps in (20, 40):
        momentum, step = jnp.array([0.5, 1.1]), jnp.array(2.0 / num_steps)
        _, before, after, _ = trajectory(quartic, lambda q: q, momentum, step, num_steps)
        assert before == quartic(jnp.zeros(2)) + 0.5 * momentum @ momentum
        errors.append(abs(float(after - before)))
    assert errors[0] / errors[1] == pytest.approx(4.0, rel=0.2)


@pytest.mark.parametrize("value", [jnp.nan, jnp.inf])
def test_a_trajectory_that_leaves_the_support_stays(value: float) -> None:
    """It counts as diverging; the chain and its metric are where they were."""

    def model(X: Array, y: Array | None = None) -> None:
        a = numpyro.sample("a", dist.Normal(0.0, 1.0))
        numpyro.factor("wall", jnp.where(jnp.abs(a - 0.5) < 1e-9, 0.0, -value))

    kernel = Hamiltonian(model)
    state = kernel.init(jax.random.key(0), 10, {"a": jnp.array(0.5)}, (NOTHING,), {})
    before = state.memory.adaptation._replace(num_values=jnp.array(NUM_EARLY + 1.0))
    memory = state.memory._replace(adaptation=before)
    after = kernel.sample(state._replace(memory=memory), (NOTHING,), {})
    assert after.memory.adaptation.curvature == before.curvature
    assert after.z["a"] == 0.5
    assert after.info["acceptance_rate"] == 0.0 and after.info["diverging"]
    assert np.isfinite(after.info["energy"]) and np.isfinite(after.memory.adaptation.step_size)


def test_a_chain_starts_at_the_most_probable_of_some_values() -> None:
    """Values that are given count; far from all that is probable, they are left."""

    def model(X: Array, y: Array | None = None) -> None:
        numpyro.sample("a", dist.Normal(jnp.full(2, 1.0), 0.1).to_event(1))

    kernel = Hamiltonian(model)
    for given, stays in ((jnp.full(2, 1.01), True), (jnp.full(2, 40.0), False)):
        start = kernel.init(jax.random.key(0), 10, {"a": given}, (NOTHING,), {}).z["a"]
        assert bool((start == given).all()) == stays
        assert jnp.abs(start - 1.0).max() < 1.5


def held(X: Array, y: Array | None = None) -> None:
    """A site that is held, one that cannot be, and one more."""
    numpyro.sample("share", dist.Uniform(0.0, 1.0), infer={"held_at": 0.02})
    numpyro.sample("wide", dist.Uniform(2.0, 3.0).expand([2]).to_event(1), infer={"held_at": 0.02})
    numpyro.sample("free", dist.Normal(0.0, 1.0).expand([3]).to_event(1))


@pytest.mark.parametrize(("num_warmup", "num_held"), [(8, 2), (400, MAX_HELD), (0, 0)])
def test_a_site_is_held_during_the_first_steps(num_warmup: int, num_held: int) -> None:
    kernel = Hamiltonian(held)
    given = {"share": jnp.array(0.7), "wide": jnp.full(2, 2.5), "free": jnp.zeros(3)}
    state = kernel.init(jax.random.key(0), num_warmup, given, (NOTHING,), {})
    first = state.memory.adaptation.covariance
    run = jax.jit(lambda s: kernel.sample(s, (NOTHING,), {}))
    shares, others = [state.z["share"]], [np.append(state.z["wide"], state.z["free"])]
    for _ in range(num_held):
        state = run(state)
        shares.append(state.z["share"])
        others.append(np.append(state.z["wide"], state.z["free"]))
    np.testing.assert_allclose(shares, 0.02, rtol=1e-12)
    assert num_held == 0 or (np.std(others, axis=0) > 0.0).all()
    assert state.memory.is_held == {"free": False, "share": True, "wide": False}
    of_share = 3  # index of "share", after "free"
    np.testing.assert_array_equal(state.memory.adaptation.covariance[of_share], first[of_share])
    for _ in range(5):
        state = run(state)
    assert abs(state.z["share"] - 0.02) > 1e-6


def wide_where_held(X: Array, y: Array | None = None) -> None:
    """Numbers that are ten times as wide as long as the scale is held."""
    scale = numpyro.sample("scale", dist.LogNormal(np.log(0.1), 0.1), infer={"held_at": 1.0})
    numpyro.sample("numbers", dist.Normal(0.0, scale).expand([20]).to_event(1))


def test_what_is_learned_while_a_site_is_held_is_forgotten() -> None:
    """An eighth of what is believed in the end is else of the first half: 0.35 in place of 0.1."""
    kernel = Hamiltonian(wide_where_held)
    given = {"scale": jnp.array(0.1), "numbers": jnp.zeros(20)}
    state = kernel.init(jax.random.key(0), 200, given, (NOTHING,), {})
    run = jax.jit(lambda s: kernel.sample(s, (NOTHING,), {}))
    deviations = []
    for _ in range(200):
        state = run(state)
        deviations.append(np.sqrt(np.diagonal(state.memory.adaptation.covariance)[:-1]))
    assert 0.5 < np.median(deviations[200 // 4 - 1]) < 2.0
    assert 0.07 < np.median(deviations[-1]) < 0.15


def test_one_gradient_is_compiled() -> None:
    """Programs with a model's gradient take seconds to compile: it is traced in one place."""
    calls = []

    def potential(position: Array) -> Array:
        calls.append(position)
        return position @ position

    jax.make_jaxpr(lambda p: trajectory(potential, lambda q: q, p, jnp.array(0.1), 20))(jnp.ones(2))
    assert len(calls) == 1


def test_models_without_continuous_sites_have_nothing_to_move() -> None:
    def model(X: Array, y: Array | None = None) -> None:
        numpyro.sample("y", dist.Normal(0.0, 1.0), obs=jnp.array(1.0))

    kernel = Hamiltonian(model)
    state = kernel.init(jax.random.key(0), 10, {}, (NOTHING,), {})
    assert kernel.sample(state, (NOTHING,), {}).z == {}


@pytest.mark.parametrize("num_steps", [0, 2.5, True])
def test_the_number_of_steps_is_checked(num_steps: Any) -> None:
    with pytest.raises((TypeError, ValueError), match="num_steps"):
        Hamiltonian(stretched, num_steps)
