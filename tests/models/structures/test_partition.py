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
from structbo.models.structures.partition import PartitionPrior

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


@jax.jit
def log_prob(law: PartitionPrior, labels: jax.Array) -> jax.Array:
    return law.log_prob(labels)


any_labels = st.lists(st.integers(-3, 9), min_size=1, max_size=8)


@pytest.mark.parametrize(
    "num_dims", [1, *(pytest.param(d, marks=pytest.mark.nightly) for d in (2, 3, 4)), 5]
)
@each_prior
def test_probabilities_sum_to_one_over_all_partitions(prior, num_dims, all_partitions):
    everything = all_partitions(num_dims)
    assert len(everything) == BELL[num_dims]
    density = np.exp(log_prob(prior(num_dims), everything))
    np.testing.assert_allclose(density.sum(), 1.0, rtol=1e-12)


@pytest.mark.nightly
@each_prior
def test_frequencies(prior, all_partitions, total_variation):
    """The total variation of 50,000 draws from 52 equal probabilities is 0.013 on average."""
    everything, law = all_partitions(5), prior(5)
    draws = law.sample(jax.random.key(0), (500, 100))
    assert draws.shape == (500, 100, 5)
    assert draws.dtype == jnp.int32
    assert partition(draws).all()
    assert total_variation(draws, everything, np.exp(law.log_prob(everything))) < 0.018


def test_known_numbers_of_partitions():
    """Bell numbers, and numbers of involutions for blocks of at most two members."""
    zeros, singletons = np.zeros(10, int), np.arange(10)
    everything, pairs = UniformPartition(10), UniformPartition(10, max_size=2)
    np.testing.assert_allclose(np.exp(-log_prob(everything, zeros)), 115_975)
    np.testing.assert_allclose(np.exp(-log_prob(pairs, singletons)), 9496)
    assert log_prob(pairs, zeros) == -np.inf
    assert np.isfinite(log_prob(UniformPartition(300), np.zeros(300, int)))


def test_closed_forms():
    """Sequential seating with concentration a, and two draws from a Dirichlet-multinomial."""
    a = 0.7
    seated = np.log((a / a) * (1 / (a + 1)) * (a / (a + 2)) * (2 / (a + 3)))
    crp = CRPPartition(4, a)
    np.testing.assert_allclose(log_prob(crp, np.array([0, 0, 1, 0])), seated, rtol=1e-12)
    groups = DirichletMultinomialPartition(2, num_groups=3, concentration=a)
    together = np.log((a + 1) / (3 * a + 1))
    np.testing.assert_allclose(log_prob(groups, np.array([0, 0])), together, rtol=1e-12)
    too_few = DirichletMultinomialPartition(3, num_groups=2)
    assert log_prob(too_few, np.arange(3)) == -np.inf


def test_many_groups_are_a_chinese_restaurant(all_partitions):
    groups = DirichletMultinomialPartition(4, num_groups=10**6, concentration=0.7e-6)
    one, two = (log_prob(law, all_partitions(4)) for law in (groups, CRPPartition(4, 0.7)))
    np.testing.assert_allclose(one, two, atol=1e-4)


@jax.jit
def canonical_twice(labels):
    once = canonical(labels)
    return once, canonical(once), partition(once)


@settings(max_examples=40, deadline=None, derandomize=True)
@given(any_labels)
def test_canonical_labels(labels):
    got, again, is_inside = canonical_twice(np.array(labels))
    names = list(dict.fromkeys(labels))
    assert got.tolist() == [names.index(label) for label in labels]
    assert is_inside
    np.testing.assert_array_equal(again, got)


compiled_blocks = jax.jit(blocks, static_argnums=1)


@settings(max_examples=40, deadline=None, derandomize=True)
@given(any_labels, st.sampled_from([None, 1, 2, 3]))
def test_blocks(labels, max_size):
    expected = [[other == name for other in labels] for name in dict.fromkeys(labels)]
    got = jax.tree.map(np.asarray, compiled_blocks(np.array(labels), max_size))
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
    own, feasible = jax.jit(lambda v: (partition(v), partition(partition.feasible_like(v))))(
        np.array(labels)
    )
    assert bool(own) == is_inside
    assert partition.is_discrete
    assert partition.event_dim == 1
    assert feasible


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
    labels = np.array([0, 1, 1])
    for structure in (partitions(), partitions(lambda d: CRPPartition(d, 1.0))):
        given = handlers.substitute(structure, data={"labels": labels})
        members = jax.jit(lambda given=given: given(3).members)()
        np.testing.assert_array_equal(members, [[1, 0, 0], [0, 1, 1], [0, 0, 0]])

    def bounded(key: jax.Array):
        with handlers.seed(rng_seed=key), handlers.trace() as trace:
            assert partitions(max_size=2)(5).max_size == 2
        assert trace["labels"]["fn"].max_size == 2

    jax.eval_shape(bounded, jax.random.key(0))
