"""Partitions as random variables, against the list of all partitions of few dimensions."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpyro import handlers
from numpyro.infer import Predictive

from structbo.models import (
    CRPPartition,
    DirichletMultinomialPartition,
    UniformPartition,
    blocks,
    canonical,
    partition,
    partitions,
)

BELL = {1: 1, 2: 2, 3: 5, 4: 15, 5: 52}
PRIORS = {
    "uniform": UniformPartition,
    "uniform, blocks of 2": partial(UniformPartition, max_size=2),
    "uniform, blocks of 3": partial(UniformPartition, max_size=3),
    "CRP": partial(CRPPartition, concentration=0.7),
    "2 groups": partial(DirichletMultinomialPartition, num_groups=2, concentration=0.6),
    "8 groups": partial(DirichletMultinomialPartition, num_groups=8, concentration=1.5),
}
each_prior = pytest.mark.parametrize("prior", PRIORS.values(), ids=PRIORS.keys())

any_labels = st.lists(st.integers(-3, 9), min_size=1, max_size=8)


@pytest.mark.parametrize("num_dims", BELL)
@each_prior
def test_probabilities_sum_to_one_over_all_partitions(prior, num_dims, all_partitions):
    everything = all_partitions(num_dims)
    assert len(everything) == BELL[num_dims]
    density = jnp.exp(prior(num_dims).log_prob(everything))
    np.testing.assert_allclose(density.sum(), 1.0, rtol=1e-12)


@pytest.mark.nightly
@each_prior
def test_frequencies(prior, all_partitions, total_variation):
    """50,000 draws are 0.013 away from 52 equal probabilities on average."""
    everything, law = all_partitions(5), prior(5)
    draws = law.sample(jax.random.key(0), (500, 100))
    assert draws.shape == (500, 100, 5)
    assert draws.dtype == jnp.int32
    assert partition(draws).all()
    assert total_variation(draws, everything, np.exp(law.log_prob(everything))) < 0.018


def test_known_numbers_of_partitions():
    """Bell numbers, and involutions where blocks have at most two members."""
    zeros, singletons = jnp.zeros(10, int), jnp.arange(10)
    np.testing.assert_allclose(np.exp(-UniformPartition(10).log_prob(zeros)), 115_975)
    pairs = UniformPartition(10, max_size=2)
    np.testing.assert_allclose(np.exp(-pairs.log_prob(singletons)), 9496)
    assert pairs.log_prob(zeros) == -jnp.inf
    assert np.isfinite(UniformPartition(300).log_prob(jnp.zeros(300, int)))


def test_closed_forms():
    """Sequential seating with concentration a, and two draws from a Dirichlet-multinomial."""
    a = 0.7
    seated = np.log((a / a) * (1 / (a + 1)) * (a / (a + 2)) * (2 / (a + 3)))
    crp = CRPPartition(4, a)
    np.testing.assert_allclose(crp.log_prob(jnp.array([0, 0, 1, 0])), seated, rtol=1e-12)
    groups = DirichletMultinomialPartition(2, num_groups=3, concentration=a)
    together = np.log((a + 1) / (3 * a + 1))
    np.testing.assert_allclose(groups.log_prob(jnp.array([0, 0])), together, rtol=1e-12)
    assert DirichletMultinomialPartition(3, num_groups=2).log_prob(jnp.arange(3)) == -jnp.inf


def test_many_groups_are_a_chinese_restaurant(all_partitions):
    groups = DirichletMultinomialPartition(4, num_groups=10**6, concentration=0.7e-6)
    expected = CRPPartition(4, 0.7).log_prob(all_partitions(4))
    np.testing.assert_allclose(groups.log_prob(all_partitions(4)), expected, atol=1e-4)


@settings(max_examples=40, deadline=None, derandomize=True)
@given(any_labels)
def test_canonical_labels(labels):
    got = canonical(np.array(labels))
    names = list(dict.fromkeys(labels))
    assert got.tolist() == [names.index(label) for label in labels]
    assert partition(got)
    np.testing.assert_array_equal(canonical(got), got)


@settings(max_examples=40, deadline=None, derandomize=True)
@given(any_labels, st.sampled_from([None, 1, 2, 3]))
def test_blocks(labels, max_size):
    expected = [[other == name for other in labels] for name in dict.fromkeys(labels)]
    got = blocks(jnp.array(labels), max_size)
    num_blocks = len(expected)
    assert got.members.shape == (len(labels), len(labels))
    assert got.members[:num_blocks].tolist() == expected
    assert not got.members[num_blocks:].any()
    sizes = [sum(row) for row in expected]
    assert got.weights.tolist() == sizes + [0] * (len(labels) - num_blocks)
    assert bool(got.valid) == (max_size is None or max(sizes) <= max_size)
    assert got.max_size == max_size


@pytest.mark.parametrize(
    ("labels", "is_inside"),
    [
        ([0, 0, 1, 0, 2], True),
        ([0, 1, 2], True),
        ([0, 2, 1], False),
        ([1, 1, 1], False),
        ([0, -1, 0], False),
        ([0.0, 0.5, 1.0], False),
    ],
)
def test_support(labels, is_inside):
    assert bool(partition(jnp.array(labels))) == is_inside
    assert partition.is_discrete
    assert partition.event_dim == 1
    assert partition(partition.feasible_like(jnp.array(labels)))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: UniformPartition(0), r"num_dims must be an integer of at least 1, got 0"),
        (lambda: UniformPartition(3, max_size=0), r"max_size must be .* at least 1, got 0"),
        (lambda: UniformPartition(3, max_size=True), r"max_size must be an integer .* got True"),
        (lambda: CRPPartition(3, 0.0), r"concentration must be positive and finite, got 0.0"),
        (
            lambda: CRPPartition(3, np.array([1.0, 2.0])),
            r"concentration must be a number, got shape \(2,\)",
        ),
        (lambda: DirichletMultinomialPartition(3, 0), r"num_groups must be .* at least 1, got 0"),
        (lambda: DirichletMultinomialPartition(3, 2, -1.0), r"concentration must be positive"),
        (lambda: blocks(jnp.zeros(3, int), max_size=0), r"max_size must be .* got 0"),
        (lambda: partitions(max_size=0), r"max_size must be .* got 0"),
    ],
)
def test_errors_name_the_argument(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_distribution_passes_through_jit_and_vmap():
    labels = jnp.array([0, 0])
    priors = jax.vmap(lambda a: CRPPartition(2, a))(jnp.array([1.0, 3.0]))
    densities = jax.jit(jax.vmap(lambda prior: prior.log_prob(labels)))(priors)
    np.testing.assert_allclose(densities, np.log([1 / 2, 1 / 4]), rtol=1e-12)


def test_structures_of_random_concentration():
    """P(two dimensions together) = E[1 / (1 + a)], here with a = 1 or 3."""

    def structure(num_dims):
        rare = numpyro.sample("rare", dist.Bernoulli(0.5))
        return blocks(numpyro.sample("labels", CRPPartition(num_dims, 1.0 + 2.0 * rare)))

    draws = Predictive(lambda: structure(4), num_samples=20_000)(jax.random.key(2))
    together = (draws["labels"][:, 2] == draws["labels"][:, 3]).mean()
    expected = (1 / 2 + 1 / 4) / 2
    assert abs(together - expected) < 4 * np.sqrt(expected * (1 - expected) / 20_000)


def test_partitions_are_blocks_of_their_labels():
    labels = jnp.array([0, 1, 1])
    for structure in (partitions(), partitions(lambda d: CRPPartition(d, 1.0))):
        with handlers.seed(rng_seed=0), handlers.substitute(data={"labels": labels}):
            np.testing.assert_array_equal(structure(3).members, blocks(labels).members)
    with handlers.seed(rng_seed=0), handlers.trace() as trace:
        assert partitions(max_size=2)(5).max_size == 2
    assert trace["labels"]["fn"].max_size == 2
