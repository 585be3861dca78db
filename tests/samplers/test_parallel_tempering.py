"""Parallel tempering against enumeration, where the structure's posterior has two modes.

Two of the variables are copies of each other, and either may explain the observations together with
the others. From one partition that does so to the other, single moves lead through partitions that
explain nothing: plain samplers stay where they are. Graphs reach the other by way of both edges.

The tests were run once against deliberate bugs. Largest total variation of a replica of the
partitions, and largest error of a standard deviation of the scalar model: swaps with the wrong sign
0.17 and 0.78; swaps that are always accepted 0.16 and 0.32; a prior that is tempered too 0.76 (the
scalar); energies that are not renewed 2.4. Right: 0.03 and 0.02. A Jacobian that is tempered with
the likelihood: an error of 0.4 standard deviations in the mean of the scalar. Quick runs, with
bounds twice as large, find all of them.
"""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
import pytest
from numpyro import handlers
from numpyro.infer import HMC, MCMC, NUTS, Gibbs
from scipy import stats
from scipy.special import softmax

import structbo as sb
from structbo.models import AdditiveGP, edges, partitions
from structbo.posterior.arviz import named, to_container
from structbo.samplers import InformedEdges, ParallelTempering, PartitionGibbs, SplitMerge
from structbo.samplers.parallel_tempering import MOST_FALL, TARGET_SWAPS, moved_ladder

NUM_DIMS = 4
NOTHING = jnp.zeros((1, 2))
BOUND = 0.05
FIXED = {
    "lengthscale": jnp.full(NUM_DIMS, 0.4),
    "outputscale": jnp.array(4.0),
    "noise": jnp.array(1e-2),
}
RARE = np.full((NUM_DIMS, NUM_DIMS), 1e-7)
RARE[3, 2] = RARE[2, 3] = 1.5e-7
RARE[0, 1] = RARE[1, 0] = 0.3


def wave(*columns: jax.Array) -> jax.Array:
    """A product of waves: no fewer variables explain any of it."""
    y = jnp.prod(jnp.stack([jnp.cos(2 * jnp.pi * x) for x in columns]), axis=0)
    return y / y.std()


def graphs_of_copies() -> tuple:
    """Edge (0, 2) or edge (3, 2), where variable 3 is a copy of 0; edges are improbable."""
    X = np.random.default_rng(0).random((24, NUM_DIMS))
    X[:, 3] = X[:, 0]
    X = jnp.array(X)
    model = handlers.condition(AdditiveGP(edges(RARE)), data=FIXED)
    return model, (X, wave(X[:, 0], X[:, 2])), "Z"


def partitions_with_two_modes() -> tuple:
    """Variables 0, 1, 2 in one block, or 3, 1, 2; no block has four."""
    X = np.random.default_rng(0).random((12, NUM_DIMS))
    X[:, 3] = X[:, 0]
    X = jnp.array(X)
    model = handlers.condition(
        AdditiveGP(partitions(max_size=3)), data=FIXED | {"outputscale": jnp.array(1.0)}
    )
    return model, (X, wave(X[:, 0], X[:, 1], X[:, 2])), "labels"


def one_block(block, site: str):
    """A factory of kernels with one block."""
    return lambda model: Gibbs([(block(model), [site])])


def run(kernel, args, num_samples: int, fields=()) -> MCMC:
    mcmc = MCMC(kernel, num_warmup=100, num_samples=num_samples, progress_bar=False)
    mcmc.run(jax.random.key(0), *args, extra_fields=fields)
    return mcmc


def tempered_posteriors(model, args, site: str, values, ladder) -> list[np.ndarray]:
    """Probabilities of all values under the prior times powers of the likelihood."""

    def densities(value):
        trace = handlers.trace(handlers.substitute(model, data={site: value})).get_trace(*args)
        return trace[site]["fn"].log_prob(value), trace["y"]["fn"].log_prob(args[1])

    found = jax.jit(lambda: jax.lax.map(densities, values))()
    log_prior, log_likelihood = map(np.asarray, found)
    return [softmax(log_prior + beta * log_likelihood) for beta in ladder]


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("problem", "block", "ladder"),
    [
        (graphs_of_copies, partial(InformedEdges, num_moves=6), np.geomspace(1, 0.1, 8)),
        (partitions_with_two_modes, partial(PartitionGibbs, num_moves=2), np.geomspace(1, 0.01, 7)),
    ],
    ids=["graphs", "partitions"],
)
def test_frequencies_at_every_temperature(
    problem, block, ladder, effort, all_graphs, all_partitions, total_variation
):
    """Every replica against its own enumerated posterior; the first is the one that is reported."""
    model, args, site = problem()
    values = all_graphs(NUM_DIMS) if site == "Z" else jnp.asarray(all_partitions(NUM_DIMS))
    kernel = ParallelTempering(model, one_block(block, site), ladder, num_dims=NUM_DIMS)
    fields = ("memory.swap_probs", "memory.replicas.values")
    mcmc = run(kernel, args, int(6000 * effort), fields)
    found = mcmc.get_extra_fields()
    replicas = found["memory.replicas.values"][site]
    np.testing.assert_array_equal(mcmc.get_samples()[site], replicas[:, 0])
    assert found["memory.swap_probs"].mean(0).min() > 0.05
    for k, posterior in enumerate(tempered_posteriors(model, args, site, values, ladder)):
        distance = total_variation(replicas[:, k], values, posterior)
        assert distance < BOUND / np.sqrt(effort)
        if k == 0:
            together = values if site == "Z" else values[:, :, None] == values[:, None]
            each = [
                posterior[np.asarray(together[:, i, j] == 1)].sum() for i, j in ((0, 2), (3, 2))
            ]
            assert min(each) > 0.2 and sum(each) > 0.95


@pytest.mark.nightly
@pytest.mark.parametrize("block", [PartitionGibbs, SplitMerge])
def test_plain_samplers_stay_in_one_mode(block, run_block):
    """From either mode, they never see the other."""
    model, args, site = partitions_with_two_modes()
    starts = jnp.array([[0, 0, 0, 1], [0, 1, 1, 1]])
    draws = run_block(block(model), args, site, starts, 500)
    together = draws[..., :, None] == draws[..., None, :]
    assert together[0, :, 0, 2].all() and not together[0, :, 3, 2].any()
    assert together[1, :, 3, 2].all() and not together[1, :, 0, 2].any()


@pytest.mark.nightly
def test_without_data_every_replica_has_the_prior(effort, all_partitions, total_variation):
    """All rows are padding, so every swap is certain."""
    everything = jnp.asarray(all_partitions(NUM_DIMS))
    model = handlers.condition(AdditiveGP(partitions()), data=FIXED)
    args = (jnp.zeros((2, NUM_DIMS)), jnp.zeros(2), jnp.zeros(2, bool))
    factory = one_block(SplitMerge, "labels")
    kernel = ParallelTempering(model, factory, [1.0, 0.3, 0.1], num_dims=NUM_DIMS)
    mcmc = run(kernel, args, int(8000 * effort), ("memory.swap_probs",))
    uniform = np.full(len(everything), 1 / len(everything))
    distance = total_variation(mcmc.get_samples()["labels"], everything, uniform)
    assert distance < 0.03 / np.sqrt(effort)
    assert (mcmc.get_extra_fields()["memory.swap_probs"] == 1.0).mean() > 0.99


def location(X, y=None):
    mu = numpyro.sample("mu", dist.LogNormal(0.0, 0.5))
    numpyro.deterministic("log_mu", jnp.log(mu))
    numpyro.sample("y", dist.Normal(jnp.log(mu), 0.3), obs=y)


def test_a_kernel_that_caches_its_gradients(effort):
    """A swapped replica must not keep its energy, and a Jacobian has no temperature.

    The logarithm of mu has the prior N(0, 1 / 4) and the likelihood N(y, 0.09): each posterior is
    normal, with precision ``4 + beta / 0.09`` and mean ``beta y / 0.09 / precision``.
    """
    ladder = [1.0, 0.4, 0.1]
    kernel = ParallelTempering(
        location,
        lambda model: HMC(model, step_size=0.3, num_steps=3, trajectory_length=None),
        ladder,
    )
    fields = ("memory.replicas.values",)
    mcmc = run(kernel, (NOTHING, jnp.array(1.0)), int(8000 * effort), fields)
    draws, replicas = mcmc.get_samples(), mcmc.get_extra_fields()[fields[0]]["mu"]
    np.testing.assert_allclose(draws["log_mu"], np.log(draws["mu"]))
    np.testing.assert_array_equal(draws["mu"], replicas[:, 0])
    for k, beta in enumerate(ladder):
        precision = 4.0 + beta / 0.09
        standard = (np.log(replicas[:, k]) - beta / 0.09 / precision) * np.sqrt(precision)
        # Of 8000 draws of a long run at least a fifth are worth an independent one.
        assert abs(standard.mean()) < 0.1 / np.sqrt(effort)
        assert abs(standard.std() - 1.0) < 0.08 / np.sqrt(effort)


@pytest.mark.nightly
def test_fit_reports_the_statistics_of_the_posterior_and_of_swaps(data):
    model = AdditiveGP()
    X, y = data(10, 3)
    kernel = ParallelTempering(model, inverse_temperatures=[1.0, 0.4])
    posterior = sb.fit(
        model,
        X,
        y,
        sampler=kernel,
        num_warmup=20,
        num_samples=20,
        num_chains=2,
        show_progress_bar=False,
    )
    assert posterior.draws["Z"].shape == (2, 20, 3, 3)
    assert (posterior.draws["lengthscale"] > 0.0).all()
    shapes = {name: value.shape for name, value in posterior.sample_stats.items()}
    assert shapes["swap_rate"] == (2, 20, 1)
    assert shapes["acceptance_rate_InformedEdges"] == shapes["energy"] == (2, 20)
    assert not (posterior.draws["Z"][0] == posterior.draws["Z"][1]).all()
    groups = {"posterior": posterior.draws, "sample_stats": posterior.sample_stats}
    named_dims = named(posterior.draws, posterior.names, {})
    assert to_container(groups, *named_dims)["sample_stats"]["swap_rate"].shape == (2, 20, 1)


def many_locations(X, y=None):
    mu = numpyro.sample("mu", dist.Normal(0.0, 100.0).expand([40]).to_event(1))
    with numpyro.handlers.mask(mask=y is not None and len(y) == 40):
        numpyro.sample("y", dist.Normal(mu, 1.0).to_event(1), obs=0.0 * mu)


def test_a_learned_ladder_has_its_target_of_swaps_everywhere():
    """At inverse temperature beta, ``d`` normal locations have a log likelihood of minus
    Gamma(d / 2, beta), up to a constant. The number of ``beta_2 < beta_1`` exceeds the number of
    ``beta_1`` with probability ``I_x(d / 2, d / 2)``, ``x = beta_1 / (beta_1 + beta_2)``. Pairs are
    swapped with twice the probability that it is the smaller one.
    """

    def sampler(model):
        return HMC(model, trajectory_length=1.6)

    kernel = ParallelTempering(many_locations, sampler, 4)
    fields = ("info",)
    mcmc = MCMC(kernel, num_warmup=600, num_samples=300, progress_bar=False)
    mcmc.run(jax.random.key(0), NOTHING, jnp.zeros(40), extra_fields=fields)
    found = mcmc.get_extra_fields()["info"]
    ladders = found["inverse_temperature"]
    np.testing.assert_array_equal(ladders, np.broadcast_to(ladders[0], ladders.shape))
    x = stats.beta.isf(TARGET_SWAPS / 2.0, 20.0, 20.0)
    np.testing.assert_allclose(np.diff(np.log(ladders[0])), np.log((1.0 - x) / x), rtol=0.25)
    np.testing.assert_allclose(found["swap_rate"].mean(0), TARGET_SWAPS, atol=0.1)
    draws = mcmc.get_samples()["mu"]
    assert abs(draws.std() - 1.0) < 0.05


@pytest.mark.nightly
def test_a_ladder_that_moves_renews_what_its_replicas_have_stored():
    """The energy of a replica of HMC is that at its values and the temperature of its sweep."""

    def sampler(model):
        return HMC(model, step_size=0.3, num_steps=3, trajectory_length=None)

    kernel = ParallelTempering(many_locations, sampler, 3)
    args = NOTHING, jnp.zeros(40)
    state = kernel.init(jax.random.key(0), 100, None, args, {})
    for _ in range(5):
        state = kernel.sample(state, args, {})
    powers = state.memory.inverse_temperatures
    state = kernel.sample(state, args, {})
    replicas = state.memory.replicas.memory[0]
    for k, power in enumerate(powers):
        mu = replicas.z["mu"][k]
        prior = dist.Normal(0.0, 100.0).log_prob(mu).sum()
        density = prior + power * dist.Normal(mu, 1.0).log_prob(args[1]).sum()
        np.testing.assert_allclose(replicas.potential_energy[k], -density, rtol=1e-6)
    assert len(set(np.diff(np.log(powers)).round(4))) > 1


def test_a_ladder_does_not_rise_forever():
    """Nothing is observed, so every swap is certain."""
    ladder = jnp.array([1.0, 0.5])
    for _ in range(20):
        ladder = moved_ladder(ladder, jnp.array([1.0]))
    np.testing.assert_allclose(ladder, [1.0, np.exp(-MOST_FALL)], rtol=1e-6)


@pytest.mark.parametrize("ladder", [[], [0.5, 0.1], [1.0, 0.0], [1.0, 0.5, 0.5], 1.0])
def test_ladder_must_fall_from_one(ladder):
    with pytest.raises(ValueError, match=r"inverse_temperatures must decrease strictly from 1\.0"):
        ParallelTempering(AdditiveGP(), inverse_temperatures=ladder)


@pytest.mark.parametrize("number", [0, -1])
def test_there_must_be_a_temperature(number):
    with pytest.raises(ValueError, match="inverse_temperatures must be an integer of at least 1"):
        ParallelTempering(AdditiveGP(), inverse_temperatures=number)


@pytest.mark.parametrize("new_key", [jax.random.key, jax.random.PRNGKey])
def test_several_chains_at_once_are_a_map_of_one(new_key):
    """NumPyro's own method hands all keys to a kernel at once."""
    kernel = ParallelTempering(location, NUTS, [1.0, 0.4])

    def drawn(chain_method):
        mcmc = MCMC(
            kernel,
            num_warmup=2,
            num_samples=2,
            num_chains=3,
            chain_method=chain_method,
            progress_bar=False,
        )
        mcmc.run(new_key(0), NOTHING, jnp.array(1.0))
        return mcmc.get_samples(group_by_chain=True)["mu"]

    assert drawn(jax.vmap).shape == (3, 2)
    with pytest.raises(ValueError, match=r"key of one chain, got keys.*=jax\.vmap"):
        drawn("vectorized")
