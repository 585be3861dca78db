"""Stationary kernels: textbook formulas, analytic gradients, spectral densities."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.test_util import check_grads

from structbo.models import KERNELS, Stationary
from structbo.models.kernels import correlation_factors, spectral_frequencies

STATIONARY = [kernel for kernel in KERNELS.values() if isinstance(kernel, Stationary)]
CATEGORICAL = [(), (1,)]
LENGTHSCALE = jnp.array([0.3, 0.7, 1.9])

each_kernel = pytest.mark.parametrize("kernel", STATIONARY, ids=repr)
each_mix = pytest.mark.parametrize("categorical", CATEGORICAL, ids=["real", "mixed"])


@pytest.fixture
def points() -> tuple[jax.Array, jax.Array]:
    """Two sets of points; the second column takes three levels, the others never coincide."""
    rng = np.random.default_rng(1)
    x, other = rng.random((5, 3)), rng.random((4, 3))
    x[:, 1], other[:, 1] = rng.integers(0, 3, 5) / 2, rng.integers(0, 3, 4) / 2
    return jnp.array(x), jnp.array(other)


def textbook(kernel: Stationary, r: np.ndarray) -> np.ndarray:
    """Rasmussen and Williams 2006, eqs. (4.9) and (4.17)."""
    return {
        "squared_exponential": np.exp(-(r**2) / 2),
        "matern32": (1 + np.sqrt(3) * r) * np.exp(-np.sqrt(3) * r),
        "matern52": (1 + np.sqrt(5) * r + 5 * r**2 / 3) * np.exp(-np.sqrt(5) * r),
    }[kernel.name]


def dense(kernel: Stationary, categorical: tuple[int, ...], x, other, lengthscale) -> jax.Array:
    """A plain formula that JAX can differentiate unless two coordinates coincide."""
    gap = jnp.moveaxis(x[:, None] - other[None], 2, 0)
    distance = jnp.stack(
        [(g != 0) * 1.0 if d in categorical else jnp.abs(g) for d, g in enumerate(gap)]
    )
    return kernel.at_distance(distance / lengthscale[:, None, None])


@each_kernel
def test_correlation_is_the_textbook_formula(kernel: Stationary):
    r = np.linspace(0, 6, 50)
    np.testing.assert_allclose(jax.jit(kernel.at_distance)(r), textbook(kernel, r), atol=1e-15)


@each_kernel
@each_mix
def test_factors_and_their_gradients(kernel: Stationary, categorical: tuple[int, ...], points):
    x, other = points
    arguments = (x, other, LENGTHSCALE)
    cotangent = np.random.default_rng(0).normal(size=(3, len(x), len(other)))

    @partial(jax.jit, static_argnums=0)
    def pulled(factors, *arguments):
        found, pull = jax.vjp(partial(factors, kernel, categorical), *arguments)
        return found, pull(cotangent)

    got, gradients = pulled(correlation_factors, *arguments)
    expected, dense_gradients = pulled(dense, *arguments)
    np.testing.assert_allclose(got, expected, rtol=1e-12)
    for one, two in zip(gradients, dense_gradients, strict=True):
        if categorical:  # the plain formula leaves it undefined where levels are equal
            two = np.nan_to_num(two)
        np.testing.assert_allclose(one, two, rtol=1e-9, atol=1e-12)


@each_kernel
def test_gradients_against_finite_differences(kernel: Stationary, points):
    @jax.jit
    def function(*arguments):
        return correlation_factors(kernel, (), *arguments)

    x, other = points
    arguments = (x + jnp.array([0.0, 0.013, 0.0]), other, LENGTHSCALE)
    check_grads(function, arguments, order=1, modes=["rev"], rtol=1e-6, atol=1e-7)


@each_kernel
def test_gradient_where_points_coincide(kernel: Stationary):
    """Every kernel is smooth at zero distance, so the gradient there is zero and not NaN."""
    x = jnp.full((2, 3), 0.4)
    by_x, by_lengthscale = jax.jit(
        jax.grad(lambda a, s: correlation_factors(kernel, (), a, x, s).sum(), (0, 1))
    )(x, LENGTHSCALE)
    assert not by_x.any()
    assert not by_lengthscale.any()


@each_kernel
def test_categorical_factor_is_exchangeable(kernel: Stationary):
    levels, lengthscale = jnp.array(np.linspace(0, 1, 5)[:, None]), jnp.array([0.8])

    @jax.jit
    def factor_and_gradient(x):
        factor, pull = jax.vjp(
            lambda x: correlation_factors(kernel, (0,), x, levels, lengthscale)[0], x
        )
        return factor, pull(2 * factor)[0]

    factor, gradient = map(np.asarray, factor_and_gradient(levels))
    off_diagonal = factor[~np.eye(5, dtype=bool)]
    np.testing.assert_allclose(factor.diagonal(), 1.0)
    np.testing.assert_allclose(off_diagonal, textbook(kernel, np.array(1 / 0.8)), rtol=1e-12)
    assert np.linalg.eigvalsh(factor).min() > 0
    assert not gradient.any()


@each_kernel
@each_mix
def test_frequencies_reproduce_the_product_kernel(
    kernel: Stationary, categorical: tuple[int, ...], points
):
    """The mean cosine has standard deviation at most sqrt(1 / (2 F)); the bound is 5.6 of them."""
    num_features = 20_000
    x, other = points
    frequencies = np.asarray(
        spectral_frequencies(kernel, jax.random.key(2), num_features, LENGTHSCALE, categorical)
    )
    factors_of = jax.jit(partial(correlation_factors, kernel, categorical))
    expected = np.asarray(factors_of(x, other, LENGTHSCALE)).prod(0)
    assert frequencies.shape == (num_features, 3)
    gap = np.asarray(x)[:, None] - np.asarray(other)[None]
    estimate = np.cos(gap @ frequencies.T).mean(-1)
    assert np.abs(estimate - expected).max() < 4 / np.sqrt(num_features)


def test_points_may_be_arrays_of_numpy_in_a_compiled_function() -> None:
    """NumPy arrays cannot be indexed by traced values."""
    x = np.random.default_rng(0).random((5, 3))

    def summed(lengthscale: jax.Array, x) -> jax.Array:
        return correlation_factors(STATIONARY[0], (), x, x, lengthscale).sum()

    found = jax.jit(jax.grad(lambda lengthscale: summed(lengthscale, x)))(LENGTHSCALE)
    np.testing.assert_allclose(found, jax.grad(summed)(LENGTHSCALE, jnp.array(x)))
