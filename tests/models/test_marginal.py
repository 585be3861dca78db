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

compiled = jax.jit(log_marginal)
compiled_gradients = jax.jit(jax.grad(log_marginal, (0, 1)))

each_mask = pytest.mark.parametrize("mask", MASKS.values(), ids=MASKS.keys())


@pytest.fixture
def covariance() -> np.ndarray:
    root = np.random.default_rng(0).normal(size=(6, 8))
    return root @ root.T / 8 + 0.1 * np.eye(6)


@pytest.fixture
def y() -> np.ndarray:
    return np.random.default_rng(1).normal(size=6)


@each_mask
def test_value_is_the_density_of_the_unpadded_data(covariance, y, mask):
    expected = multivariate_normal.logpdf(y[mask], cov=covariance[np.ix_(mask, mask)])
    np.testing.assert_allclose(compiled(covariance, y, mask), expected, rtol=1e-12)


@each_mask
def test_padding_may_hold_anything(covariance, y, mask):
    both = mask[:, None] & mask
    spoiled = compiled(np.where(both, covariance, np.nan), np.where(mask, y, np.nan), mask)
    np.testing.assert_array_equal(spoiled, compiled(covariance, y, mask))


@each_mask
def test_gradients_are_those_of_the_unpadded_density(covariance, y, mask):
    """The textbook formulas are half of alpha alpha^T - K^-1, and -alpha."""
    inverse = np.linalg.inv(covariance[np.ix_(mask, mask)])
    by_covariance, by_y = np.zeros((6, 6)), np.zeros(6)
    by_y[mask] = -inverse @ y[mask]
    by_covariance[np.ix_(mask, mask)] = 0.5 * (np.outer(by_y, by_y)[np.ix_(mask, mask)] - inverse)
    got = compiled_gradients(covariance, y, mask)
    np.testing.assert_allclose(got[0], by_covariance, rtol=1e-9, atol=1e-11)
    np.testing.assert_allclose(got[1], by_y, rtol=1e-9, atol=1e-11)


@each_mask
def test_covariance_gradient_in_closed_form(covariance, y, mask):

    @jax.jit
    def closed_form(covariance, y, mask):
        cholesky = safe_cholesky(masked(covariance, mask))
        whitened = solve_lower(cholesky, jnp.where(mask, y, 0.0))
        alpha = solve_lower(cholesky, whitened, transpose=True)
        return covariance_gradient(cholesky, alpha, mask)

    expected = compiled_gradients(covariance, y, mask)[0]
    np.testing.assert_allclose(closed_form(covariance, y, mask), expected, rtol=1e-10)


@jax.jit
def both_choleskys(matrix: jax.Array) -> tuple[jax.Array, jax.Array]:
    return jax.lax.linalg.cholesky(matrix), safe_cholesky(matrix)


def test_cholesky_adds_nothing_where_nothing_is_needed(covariance):
    _, cholesky = both_choleskys(covariance)
    np.testing.assert_allclose(cholesky, np.linalg.cholesky(covariance), rtol=1e-13)


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
def test_singular_covariance_is_rescued(scale: float):
    """Repeated observations without noise need a jitter, which is relative to the scale."""
    once = np.exp(-np.abs(np.subtract.outer(np.arange(3.0), np.arange(3.0))))
    singular = scale * np.kron(once, np.ones((2, 2)))
    cholesky, rescued = map(np.asarray, both_choleskys(singular))
    assert not np.isfinite(cholesky).all()
    assert np.isfinite(rescued).all()
    np.testing.assert_allclose(rescued @ rescued.T, singular, atol=1e-4 * scale)
    arguments = (singular, np.sqrt(scale) * np.ones(6), np.ones(6, bool))
    gradient, _ = compiled_gradients(*arguments)
    assert np.isfinite(compiled(*arguments))
    assert np.isfinite(gradient).all()


def test_hopeless_covariance_has_density_zero():
    indefinite = np.diag([1.0, -1.0, 1.0, 1.0, 1.0, 1.0])
    assert compiled(indefinite, np.ones(6), np.ones(6, bool)) == -np.inf
