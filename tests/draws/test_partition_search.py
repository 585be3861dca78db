"""Evidence by maximum likelihood, and searches over partitions that use it."""

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
import pytest
from numpyro import handlers
from numpyro.infer.util import log_density

from structbo import Posterior
from structbo.draws import bag_of_models, maximum_likelihood, model_mcmc
from structbo.models import (
    AdditiveGP,
    BlockGP,
    CRPPartition,
    canonical,
    edges,
    partitions,
)

RNG = np.random.default_rng(0)
X = RNG.random((14, 4))
Y = np.sin(5 * X[:, 0] * X[:, 1]) + np.cos(4 * X[:, 2]) + 0.3 * RNG.normal(size=14)
Y = (Y - Y.mean()) / Y.std()
MODEL = AdditiveGP(partitions(lambda d: CRPPartition(d, 1.7), max_size=3))
TOGETHER = {"labels": [0, 0, 1, 2]}


def test_normal_mean_has_its_closed_form():
    """y ~ N(m, s^2): the maximum and its BIC by hand."""

    def normal(X, y=None, mask=True):
        mean = numpyro.sample("mean", dist.Normal(0.0, 1.0))
        scale = numpyro.sample("scale", dist.LogNormal(0.0, 1.0))
        numpyro.sample("y", dist.Normal(mean, scale).expand([len(X)]).mask(mask).to_event(1), obs=y)

    y = 1.0 + 2.0 * RNG.normal(size=14)
    fit = maximum_likelihood(normal, X, y, {})
    np.testing.assert_allclose(fit.values["mean"], y.mean(), rtol=1e-4)
    np.testing.assert_allclose(fit.values["scale"], y.std(), rtol=1e-4)
    expected = -7 * (np.log(2 * np.pi * y.var()) + 1)
    np.testing.assert_allclose(fit.log_likelihood, expected, rtol=1e-8)
    np.testing.assert_allclose(fit.bic, 2 * np.log(14) - 2 * expected, rtol=1e-8)

    most_probable = maximum_likelihood(normal, X, y, {"scale": 2.0}, with_priors=True)
    assert most_probable.num_parameters == 1
    np.testing.assert_allclose(most_probable.values["mean"], y.sum() / (14 + 4), rtol=1e-4)

    nothing_free = maximum_likelihood(normal, X, y, {"mean": 1.0, "scale": 2.0})
    assert nothing_free.num_parameters == 0 and nothing_free.log_likelihood < fit.log_likelihood


def test_a_search_starts_where_it_is_told():
    """y ~ N(m^2, 1) has two equal maxima, one per sign; the start decides between them."""

    def folded(X, y=None, mask=True):
        m = numpyro.sample("m", dist.Normal(0.0, 3.0))
        numpyro.sample("y", dist.Normal(m**2, 1.0).expand([len(X)]).mask(mask).to_event(1), obs=y)

    y = 4.0 + RNG.normal(size=14)
    found = {sign: maximum_likelihood(folded, X, y, {}, start={"m": sign}) for sign in (-1.0, 1.0)}
    for sign, fit in found.items():
        np.testing.assert_allclose(fit.values["m"], sign * np.sqrt(y.mean()), rtol=1e-4)
    again = maximum_likelihood(folded, X, y, {}, start=found[-1.0].values)
    np.testing.assert_allclose(again.values["m"], found[-1.0].values["m"], rtol=1e-4)
    assert again.num_evaluations < found[-1.0].num_evaluations
    cut = maximum_likelihood(folded, X, y, {}, start={"m": -1.0}, max_evaluations=2)
    assert cut.num_evaluations < found[-1.0].num_evaluations
    assert cut.log_likelihood < found[-1.0].log_likelihood


@jax.jit
def likelihood(values) -> jax.Array:
    trace = handlers.trace(handlers.substitute(handlers.seed(MODEL, 0), data=values))
    site = trace.get_trace(X, Y)["y"]
    return site["fn"].log_prob(site["value"])


@jax.jit
def joint_density(values) -> jax.Array:
    return log_density(MODEL, (X, Y), {}, values)[0]


def test_no_step_from_the_maximum_is_uphill():
    """The posterior at the maximum also predicts the observations."""
    fit = maximum_likelihood(MODEL, X, Y, TOGETHER)
    assert fit.num_parameters == 4 + 2 and fit.num_observations == 14
    np.testing.assert_allclose(fit.log_likelihood, likelihood(fit.values), rtol=1e-10)
    expected_prior = jax.jit(CRPPartition(4, 1.7).log_prob)(jnp.array(TOGETHER["labels"]))
    np.testing.assert_allclose(fit.log_prior, expected_prior, rtol=1e-10)
    for name in ("lengthscale", "outputscale", "noise"):
        for factor in (0.8, 0.98, 1.02, 1.25):
            moved = {**fit.values, name: factor * fit.values[name]}
            assert likelihood(moved) <= fit.log_likelihood + 1e-4
    mean, _ = Posterior.at(MODEL, X, Y, fit.values).predict(X)
    assert np.corrcoef(mean, Y)[0, 1] > 0.8


def test_priors_pull_the_maximum():
    fit = maximum_likelihood(MODEL, X, Y, TOGETHER, with_priors=True)
    at_likelihood = maximum_likelihood(MODEL, X, Y, TOGETHER)
    assert joint_density(fit.values) > joint_density(at_likelihood.values)
    assert fit.log_likelihood < at_likelihood.log_likelihood


@pytest.mark.nightly
def test_a_chain_with_counted_parameters_targets_their_bic(all_partitions, total_variation):
    """The penalty is computed from the number of blocks of all 15 partitions."""
    everything, model = all_partitions(4), BlockGP()
    fits = [maximum_likelihood(model, X, Y, {"labels": labels}) for labels in everything]
    penalty = (0.5 + np.array([max(labels) + 1 for labels in everything])) * np.log(14)
    posterior = np.asarray(jax.nn.softmax(np.array([f.log_likelihood for f in fits]) - penalty))
    chain = model_mcmc(model, X, Y, num_models=8000, num_parameters=model.num_parameters)
    assert total_variation(chain.labels, everything, posterior) < 0.04


@pytest.mark.nightly
def test_model_mcmc_visits_partitions_as_often_as_their_evidence_says(
    all_partitions, total_variation
):
    """The bound is on the total variation of 8,000 correlated steps.

    The chain starts outside the bound on blocks, with all four dimensions in one block.
    """
    everything = all_partitions(4)
    fits = [maximum_likelihood(MODEL, X, Y, {"labels": labels}) for labels in everything]
    density = np.array([fit.log_evidence + fit.log_prior for fit in fits])
    assert density[0] == -np.inf and np.isfinite(density[1:]).all()
    posterior = np.asarray(jax.nn.softmax(density))
    assert 0.02 < posterior.max() < 0.9
    chain = model_mcmc(MODEL, X, Y, num_models=8000)
    assert total_variation(chain.labels, everything, posterior) < 0.04
    assert chain.best.log_evidence == max(fit.log_evidence for fit in fits)


def test_bag_of_equal_groups():
    bag = bag_of_models(MODEL, X, Y, num_models=12, group_size=2)
    assert (canonical(bag.labels) == bag.labels).all()
    assert all(np.bincount(labels).tolist() == [2, 2] for labels in bag.labels)
    assert len(np.unique(bag.labels, axis=0)) == 3  # there are three ways to pair four
    assert bag.best.log_evidence == bag.log_evidence.max()
    best = bag.labels[bag.log_evidence.argmax()]
    np.testing.assert_array_equal(bag.best.values["labels"], best)


def test_the_bic_counts_the_hyper_parameters_of_every_block():
    """Two per block and the noise: more blocks cost more, so the order of partitions changes."""
    model = BlockGP()
    bag = bag_of_models(model, X, Y, num_models=4, num_parameters=model.num_parameters)
    counts = 1 + 2 * (bag.labels.max(1) + 1)
    assert len(set(counts)) > 1
    likelihoods = np.array([fit.log_likelihood for fit in bag.fits])
    np.testing.assert_allclose(bag.log_evidence, likelihoods - 0.5 * counts * np.log(14))
    uncounted = bag_of_models(model, X, Y, num_models=4)
    assert {fit.num_parameters for fit in uncounted.fits} == {4 + 4 + 1}


@pytest.mark.nightly
def test_bag_from_the_prior():
    bag = bag_of_models(MODEL, X, Y, num_models=10)
    assert len({tuple(labels) for labels in bag.labels}) > 4
    assert (canonical(bag.labels) == bag.labels).all()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: maximum_likelihood(MODEL, X, Y, {}), r"add \['labels'\]"),
        (lambda: maximum_likelihood(MODEL, X, Y, {"Z": 1}), r"structure has \['Z'\]"),
        (
            lambda: maximum_likelihood(MODEL, X, Y, TOGETHER, start={"labels": [0]}),
            r"start has \['labels'\], but the free sites are",
        ),
        (lambda: model_mcmc(AdditiveGP(edges()), X, Y), "exactly one site of partitions"),
        (lambda: bag_of_models(MODEL, X, Y, group_size=0), "group_size must be at least 1, got 0"),
    ],
)
def test_bad_arguments_are_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()
