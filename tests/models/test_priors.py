"""Priors of the hyper-parameters."""

import jax
import jax.numpy as jnp
import numpy as np
import numpyro.distributions as dist
import pytest

from structbo.models import (
    AlikeLogNormal,
    FiniteUniform,
    LogNormalAbove,
    component_lengthscale,
    dimension_scaled,
)
from structbo.models.supports import FiniteSet

VALUES = [0.4, 0.1, 0.2]


def test_finite_uniform_frequencies():
    num_draws = 9_000
    draws = np.asarray(FiniteUniform(VALUES).sample(jax.random.key(0), (num_draws,)))
    for value in VALUES:
        assert abs((draws == value).mean() - 1 / 3) < 4 * np.sqrt(2 / 9 / num_draws)


def test_finite_uniform_density():
    prior = FiniteUniform(VALUES)
    density = prior.log_prob(jnp.array([0.1, 0.2, 0.4, 0.3]))
    np.testing.assert_allclose(jnp.exp(density), [1 / 3, 1 / 3, 1 / 3, 0.0])
    np.testing.assert_array_equal(prior.enumerate_support(), sorted(VALUES))
    assert isinstance(prior.support, FiniteSet)
    assert prior.support.is_discrete
    np.testing.assert_array_equal(prior.support(jnp.array([0.1, 0.11])), [True, False])


def test_finite_uniform_of_a_vector():
    """A vector of lengthscales as in an additive model."""
    prior = FiniteUniform(VALUES).expand([4]).to_event(1)
    value = prior.sample(jax.random.key(1))
    assert value.shape == (4,)
    np.testing.assert_allclose(prior.log_prob(value), -4 * np.log(3))
    assert prior.log_prob(value.at[2].set(0.3)) == -jnp.inf


@pytest.mark.parametrize("values", [[], 0.3, [[0.1, 0.2]]])
def test_finite_uniform_needs_a_list(values):
    with pytest.raises(ValueError, match="values must be a list of numbers, got shape"):
        FiniteUniform(values)


def test_lengthscales_grow_with_the_square_root_of_the_dimension():
    """Pairwise distances grow likewise, so the correlation of typical points does not change."""
    median = [jnp.exp(dimension_scaled(num_dims).loc) for num_dims in (1, 4, 100)]
    np.testing.assert_allclose(np.array(median) / median[0], [1, 2, 10], rtol=1e-12)
    np.testing.assert_allclose(median[0], np.exp(np.sqrt(2)))
    assert dimension_scaled(3, loc=0.0, scale=0.5).scale == 0.5


def test_alike_numbers_are_exponentials_of_correlated_normal_ones():
    loc, similarity = jnp.array([0.3, -1.0, 0.5, 0.0]), 0.6
    prior = AlikeLogNormal(loc, similarity)
    covariance = jnp.full((4, 4), similarity) + (1.0 - similarity) * jnp.eye(4)
    value = jnp.exp(jax.random.normal(jax.random.key(2), (5, 4)))
    logarithms = dist.MultivariateNormal(loc, covariance).log_prob(jnp.log(value))
    expected = logarithms - jnp.log(value).sum(1)
    np.testing.assert_allclose(prior.log_prob(value), expected, rtol=1e-5)

    num_draws = 20_000
    draws = np.log(prior.sample(jax.random.key(3), (num_draws,)))
    bound = 4.0 / np.sqrt(num_draws)
    np.testing.assert_allclose(draws.mean(0), loc, atol=bound)
    np.testing.assert_allclose(np.cov(draws.T), covariance, atol=1.5 * bound)


def test_how_alike_numbers_are_may_be_summed_over():
    """The density is the mean over correlations, and each draw has one correlation."""
    loc, similarities = jnp.array([0.3, -1.0, 0.5]), jnp.array([0.0, 0.9])
    prior = AlikeLogNormal(loc, similarities)
    value = jnp.exp(jax.random.normal(jax.random.key(2), (5, 3)))
    each = jnp.stack([AlikeLogNormal(loc, s).log_prob(value) for s in similarities])
    np.testing.assert_allclose(prior.log_prob(value), jnp.log(jnp.exp(each).mean(0)), rtol=1e-6)

    draws = np.log(prior.sample(jax.random.key(3), (20_000,))) - np.asarray(loc)
    bound = 4.0 / np.sqrt(len(draws))
    np.testing.assert_allclose(np.cov(draws.T)[0, 1:], 0.45, atol=1.5 * bound)
    # Means of products of squares, 1 + 2 s^2, distinguish a mixture from one correlation of 0.45.
    products = np.square(draws[:, 0] * draws[:, 1])
    assert abs(products.mean() - (1.0 + 0.81)) < 4.0 * products.std() / np.sqrt(len(draws))


def test_a_single_default_lengthscale_is_log_normal():
    value = jnp.array([0.7])
    expected = dist.LogNormal(np.log(0.5), 1.0).log_prob(0.7)
    np.testing.assert_allclose(component_lengthscale(1).log_prob(value), expected, rtol=1e-6)


def test_a_number_above_a_least_one():
    """This includes constants of a compiled function, and maps over pytree leaves."""
    prior = jax.tree.map(jnp.asarray, LogNormalAbove(-5.0, 1.5, 1e-3))
    values = np.array([0.0015, 0.02])
    density = jax.jit(lambda: prior.log_prob(values))()
    np.testing.assert_allclose(density, dist.LogNormal(-5.0, 1.5).log_prob(values - 1e-3))
    assert np.array_equal(prior.support(np.array([0.0009, 0.0011])), [False, True])
    assert prior.sample(jax.random.key(0), (1000,)).min() > 1e-3
