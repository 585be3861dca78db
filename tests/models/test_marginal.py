"""The masked log marginal likelihood against SciPy, its gradient, and singular matrices."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.stats import multivariate_normal

from structbo.models.marginal import (
    covariance_gradient,
    log_marginal,
    masked,
    safe_cholesky,
    solve_lower,
)

MASKS = {
    "all": np.ones(6, bool),
    "padded": np.arange(6) < 4,
    "scattered": np.array([True, False, True, True, False, True]),
}

each_mask = pytest.mark.parametrize("mask", MASKS.values(), ids=MASKS.keys())


@pytest.fixture
def covariance() -> jax.Array:
    root = np.random.default_rng(0).normal(size=(6, 8))
    return jnp.array(root @ root.T / 8 + 0.1 * np.eye(6))


@pytest.fixture
def y() -> jax.Array:
    return jnp.array(np.random.default_rng(1).normal(size=6))


@each_mask
def test_value_is_the_density_of_the_unpadded_data(covariance, y, mask):
    expected = multivariate_normal.logpdf(y[mask], cov=covariance[np.ix_(mask, mask)])
    np.testing.assert_allclose(log_marginal(covariance, y, jnp.array(mask)), expected, rtol=1e-12)


@each_mask
def test_padding_may_hold_anything(covariance, y, mask):
    both = mask[:, None] & mask
    spoiled = log_marginal(
        jnp.where(both, covariance, jnp.nan), jnp.where(mask, y, jnp.nan), jnp.array(mask)
    )
    np.testing.assert_array_equal(spoiled, log_marginal(covariance, y, jnp.array(mask)))


@each_mask
def test_gradients_are_those_of_the_unpadded_density(covariance, y, mask):
    """By a plain formula that JAX differentiates through the inverse and the determinant."""

    def plain(covariance, y):
        k, v = covariance[np.ix_(mask, mask)], y[mask]
        value = v @ jnp.linalg.inv(k) @ v + jnp.linalg.slogdet(k)[1]
        return -0.5 * (value + mask.sum() * jnp.log(2 * jnp.pi))

    expected = jax.value_and_grad(plain, (0, 1))(covariance, y)
    got = jax.value_and_grad(log_marginal, (0, 1))(covariance, y, jnp.array(mask))
    jax.tree.map(
        lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-11), got, expected
    )


@each_mask
def test_covariance_gradient_in_closed_form(covariance, y, mask):
    cholesky = safe_cholesky(masked(covariance, jnp.array(mask)))
    whitened = solve_lower(cholesky, jnp.where(mask, y, 0.0))
    alpha = solve_lower(cholesky, whitened, transpose=True)
    expected = jax.grad(log_marginal)(covariance, y, jnp.array(mask))
    got = covariance_gradient(cholesky, alpha, jnp.array(mask))
    np.testing.assert_allclose(got, expected, rtol=1e-10)


def test_cholesky_adds_nothing_where_nothing_is_needed(covariance):
    np.testing.assert_allclose(
        safe_cholesky(covariance), np.linalg.cholesky(covariance), rtol=1e-13
    )


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
def test_singular_covariance_is_rescued(scale: float):
    """Every observation repeated and no noise: the least jitter that works is relative to scale."""
    once = np.exp(-np.abs(np.subtract.outer(np.arange(3.0), np.arange(3.0))))
    singular = jnp.array(scale * np.kron(once, np.ones((2, 2))))
    assert not np.isfinite(jax.lax.linalg.cholesky(singular)).all()
    cholesky = safe_cholesky(singular)
    assert np.isfinite(cholesky).all()
    np.testing.assert_allclose(cholesky @ cholesky.T, singular, atol=1e-4 * scale)
    value, gradient = jax.value_and_grad(log_marginal)(
        singular, jnp.sqrt(scale) * jnp.ones(6), jnp.ones(6, bool)
    )
    assert np.isfinite(value)
    assert np.isfinite(gradient).all()


def test_hopeless_covariance_has_density_zero():
    indefinite = jnp.diag(jnp.array([1.0, -1.0]))
    assert log_marginal(indefinite, jnp.ones(2), jnp.ones(2, bool)) == -jnp.inf
