"""Centered kernels: their functions average zero, and their components are interactions."""

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.test_util import check_grads
from jaxtyping import Array, Float
from numpyro import handlers
from scipy.integrate import quad
from scipy.special import erf
from scipy.stats import multivariate_normal

from structbo.models import (
    AdditiveCovariance,
    AdditiveGP,
    Centered,
    Decomposition,
    Kernel,
    LevelCorrelations,
    MarginalGP,
    main_effects,
    matern52,
    squared_exponential,
)
from structbo.models.kernels import KernelGroup
from structbo.posterior import Posterior
from structbo.samplers.conditional import Conditional

SCALE = 0.3


def gram(kernel: Kernel, x: np.ndarray, other: np.ndarray, lengthscale: float = SCALE) -> Array:
    group = KernelGroup(kernel, (0,), handlers.seed(kernel.parameters, jax.random.key(0))(1))
    compute = jax.jit(KernelGroup.correlations)
    return compute(group, x[:, None], other[:, None], jnp.array([lengthscale]))[0]


def test_functions_average_zero_over_the_unit_interval():
    """Closed forms of the averages of the squared exponential (Lu et al. 2022, eq. 9)."""

    def average(x: Float[np.ndarray, " n"]) -> Float[np.ndarray, " n"]:
        ends = erf((1.0 - x) / (SCALE * np.sqrt(2.0))) + erf(x / (SCALE * np.sqrt(2.0)))
        return SCALE * np.sqrt(np.pi / 2.0) * ends

    x, other = np.linspace(0.0, 1.0, 7), np.linspace(0.1, 0.8, 5)
    total = quad(average, 0.0, 1.0)[0]
    plain = np.exp(-np.square(x[:, None] - other) / (2.0 * SCALE**2))
    expected = (plain - average(x)[:, None] - average(other) + total) / (1.0 - total)
    np.testing.assert_allclose(gram(Centered(squared_exponential), x, other), expected, atol=1e-12)


@pytest.mark.parametrize(
    "kernel",
    [
        Centered(matern52, levels=(0.0, 0.2, 0.3, 1.0)),
        Centered(LevelCorrelations(4)),
        Centered(LevelCorrelations(4), levels=(0.0, 1.0)),
    ],
    ids=["numbers", "all-levels", "two-levels"],
)
def test_functions_average_zero_over_levels(kernel: Centered):
    """The variance is one on average, over the levels of the kernel alone."""
    points = np.array(kernel.levels or np.linspace(0.0, 1.0, 4))
    found = gram(kernel, points, points)
    np.testing.assert_allclose(found.mean(0), 0.0, atol=1e-14)
    np.testing.assert_allclose(np.diagonal(found).mean(), 1.0, rtol=1e-12)
    plain = gram(kernel.kernel, points, points)
    centering = np.eye(len(points)) - 1.0 / len(points)
    expected = centering @ plain @ centering
    np.testing.assert_allclose(found, expected * len(points) / np.trace(expected), atol=1e-12)


def test_a_long_lengthscale_is_a_linear_effect():
    x = np.linspace(0.0, 1.0, 6)
    found = gram(Centered(squared_exponential), x, x, lengthscale=100.0)
    np.testing.assert_allclose(found, 12.0 * np.outer(x - 0.5, x - 0.5), atol=0.01)


def covariance(lengthscale: Float[Array, " D"], members: list[list[int]]) -> AdditiveCovariance:
    return AdditiveCovariance(
        Decomposition.of(jnp.array(members, bool)),
        lengthscale,
        jnp.array(1.4),
        None,
        None,
        squared_exponential,
        kernel_groups=(KernelGroup(Centered(squared_exponential), (0, 1), ()),),
    )


def interaction_alone(X: Array, y: Array | None = None, mask: Array | None = None) -> Array:
    """A model of two parameters without main effects."""
    return AdditiveGP(lambda d: Decomposition.of(jnp.ones((1, d), bool)), Centered(matern52))(
        X, y, mask
    )


def test_a_pair_has_no_main_effects():
    """The shares are exact for every draw: a function of a pair is its interaction."""
    rng = np.random.default_rng(0)
    X, y = rng.random((12, 2)), rng.normal(size=12)
    draws = {"lengthscale": np.full((1, 4, 2), 0.4), "outputscale": np.ones((1, 4))}
    draws["noise"] = np.full((1, 4), 0.01)
    found = Posterior(interaction_alone, X, y, draws).importances()
    np.testing.assert_allclose(found.first_order.upper, 0.0, atol=1e-4)
    np.testing.assert_allclose(found.pairs.lower[0, 1], 1.0, atol=1e-4)
    plain = Posterior(AdditiveGP(main_effects(), Centered(matern52)), X, y, draws).importances()
    np.testing.assert_allclose(plain.first_order.mean.sum(), 1.0, atol=1e-4)


def test_the_variance_at_a_point_is_the_diagonal():
    k = covariance(jnp.array([0.3, 0.6]), [[1, 0], [1, 1]])
    x = jnp.array(np.random.default_rng(1).random((5, 2)))
    whole, found, parts = jax.jit(
        lambda x: (k(x, x), k.prior_variance(x), k.component_variance(1, x))
    )(x)
    np.testing.assert_allclose(found, jnp.diagonal(whole), rtol=1e-12)
    assert np.ptp(found) > 0.1
    component = jax.jit(lambda x: k.component_gram(1, x, x))(x)
    np.testing.assert_allclose(parts, jnp.diagonal(component), rtol=1e-12)


def test_variances_have_gradients_by_points():
    """A search ascends them."""
    k = covariance(jnp.array([0.3, 0.6]), [[1, 0], [0, 1], [1, 1]])
    x = jnp.array(np.random.default_rng(2).random((3, 2)))
    check_grads(jax.jit(k.prior_variance), (x,), 1, modes=["rev"])
    check_grads(jax.jit(lambda x: k.component_variance(2, x)), (x,), 1, modes=["rev"])


@pytest.mark.parametrize("num_inducing", [9, 6])
def test_inducing_points_know_where_the_variance_is(num_inducing: int):
    """The bound of Titsias (2009), dense: with all points inducing, it is the log density."""
    rng = np.random.default_rng(2)
    x, y, noise = rng.random((9, 2)), rng.normal(size=9), 0.1
    k = covariance(jnp.array([0.3, 0.6]), [[1, 0], [1, 1]])

    @jax.jit
    def both(x: Array, y: Array) -> tuple[Array, Array]:
        found = MarginalGP(k, x, jnp.array(noise), num_inducing=num_inducing).log_prob(y)
        return found, k(x, x)

    found, full = map(np.asarray, both(x, y))
    inner = full[:num_inducing, :num_inducing] + 1e-9 * np.eye(num_inducing)
    explained = full[:, :num_inducing] @ np.linalg.solve(inner, full[:num_inducing])
    density = multivariate_normal(np.zeros(9), explained + noise * np.eye(9)).logpdf(y)
    expected = density - np.trace(full - explained) / (2.0 * noise)
    np.testing.assert_allclose(found, expected, atol=2e-3)  # the nugget of the inducing values


@pytest.mark.parametrize("num_inducing", [None, 5])
def test_moves_have_the_density_of_the_model(num_inducing: int | None):
    """With inducing points, the prior variances change with the components."""
    rng = np.random.default_rng(3)
    X, y = rng.random((8, 3)), rng.normal(size=8)
    model = AdditiveGP(kernel=Centered(squared_exponential), num_inducing=num_inducing)
    edges = np.zeros((3, 3), int)
    edges[0, 1] = edges[1, 0] = 1
    sites = {"lengthscale": np.array([0.3, 0.5, 0.7]), "outputscale": 1.3, "noise": 0.1}
    fixed: Callable = handlers.condition(model, {n: jnp.array(v) for n, v in sites.items()})

    @jax.jit
    def both(edges: Array) -> tuple[Array, Array]:
        conditional = Conditional(fixed, "Z", jnp.zeros_like(edges), (X, y), {})
        start = conditional.start(jnp.zeros_like(edges))
        return conditional.move(start, edges).log_density, conditional.log_density(edges)

    np.testing.assert_allclose(*both(jnp.array(edges)), rtol=1e-9)


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ((Centered(matern52),), TypeError, "a kernel that is not centered, got Centered"),
        (("matern52",), TypeError, "a kernel that is not centered, got 'matern52'"),
        ((matern52, (0.5, 0.5)), ValueError, r"at least two coordinates .* got \(0.5, 0.5\)"),
        ((matern52, (0.0, 2.0)), ValueError, "of the unit interval, got"),
    ],
)
def test_arguments_are_checked(arguments: tuple, error: type[Exception], message: str):
    with pytest.raises(error, match=message):
        Centered(*arguments)
