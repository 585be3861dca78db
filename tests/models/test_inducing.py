"""The bound by inducing points and the approximate posterior, against dense formulas."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpyro import handlers
from scipy.stats import multivariate_normal

from structbo.models import AdditiveGP, MarginalGP, Residual, edges, inducing
from structbo.models.inducing import collapsed_bound
from structbo.models.likelihood import inducing_rows
from structbo.posterior.predictive import replicate

RNG = np.random.default_rng(0)
N, M, D = 16, 6, 3
X, NEW = jnp.array(RNG.random((N, D))), jnp.array(RNG.random((4, D)))
Y = jnp.sin(5.0 * X[:, 0] * X[:, 1]) + X[:, 2] + 0.1 * RNG.normal(size=N)
KNOWN = np.linspace(0.0, 0.1, N)
VARIANCE, NOISE = 1.5, 0.02
VALUES = {
    "Z": jnp.array([[0, 1, 0], [1, 0, 0], [0, 0, 0]]),
    "lengthscale": jnp.array([0.4, 0.6, 0.8]),
    "outputscale": jnp.array(VARIANCE),
    "noise": jnp.array(NOISE),
    "rho": jnp.array(0.2),
    "kappa": jnp.array(1.5),
}


def likelihood(
    num_inducing: int | None = M, known_noise: Any = None, x: Any = X, mask: Any = None
) -> MarginalGP:
    model = AdditiveGP(edges(0.3), residual=Residual(), num_inducing=num_inducing)
    run = handlers.trace(handlers.substitute(handlers.seed(model, 0), data=VALUES))
    found: MarginalGP = run.get_trace(x, mask=mask, known_noise=known_noise)["y"]["fn"]
    return found


class Dense(NamedTuple):
    """The sparse process by matrix inverses, as in Titsias 2009."""

    cross: np.ndarray
    inner: np.ndarray
    noise: np.ndarray

    @classmethod
    def of(cls, known_noise: Any = None) -> "Dense":
        covariance = likelihood().covariance
        noise = NOISE + (np.zeros(N) if known_noise is None else known_noise)
        own = inducing.NUGGET * noise[:M] + inducing.FLOOR * VARIANCE
        inner = np.asarray(covariance(X[:M], X[:M])) + np.diag(own)
        return cls(np.asarray(covariance(X[:M], X)), inner, noise)

    @property
    def projected(self) -> np.ndarray:
        return self.cross.T @ np.linalg.solve(self.inner, self.cross)

    def bound(self) -> float:
        density = multivariate_normal.logpdf(Y, cov=self.projected + np.diag(self.noise))
        return float(density - ((VARIANCE - np.diag(self.projected)) / self.noise).sum() / 2)

    @property
    def precision(self) -> np.ndarray:
        """The inverse of the posterior covariance of the inducing values, between their priors."""
        return np.asarray(self.inner + self.cross / self.noise @ self.cross.T)

    def moments(self, to_inducing: np.ndarray, prior: Any) -> tuple[np.ndarray, np.ndarray]:
        """Mean and covariance, from covariances (m, M) and their prior covariance (m, m)."""
        mean = to_inducing @ np.linalg.solve(self.precision, self.cross @ (Y / self.noise))
        explained = np.linalg.inv(self.inner) - np.linalg.inv(self.precision)
        return mean, prior - to_inducing @ explained @ to_inducing.T


@pytest.mark.parametrize("known_noise", [None, KNOWN])
def test_the_bound_is_that_of_dense_formulas(known_noise: Any):
    expected = Dense.of(known_noise).bound()
    np.testing.assert_allclose(likelihood(M, known_noise).log_prob(Y), expected, rtol=1e-8)


def test_the_bound_grows_with_inducing_points_up_to_the_exact_density():
    exact = float(likelihood(N).log_prob(Y))
    bounds = [float(likelihood(m).log_prob(Y)) for m in (1, 2, 4, 8, N - 1)]
    assert (np.diff(bounds) > 0.0).all()
    assert bounds[-1] < exact


def test_with_all_points_the_bound_is_the_exact_density(monkeypatch: pytest.MonkeyPatch):
    """The nugget of the inducing values lowers the bound by about half of it per point."""
    exact = likelihood(N)
    assert exact.num_inducing is None
    gram = exact.covariance(X, X)
    args = (gram, Y, jnp.ones(N, bool), jnp.array(NOISE), jnp.array(VARIANCE))
    loss = exact.log_prob(Y) - collapsed_bound(*args)
    assert 0.0 < loss < N * inducing.NUGGET
    monkeypatch.setattr(inducing, "NUGGET", 0.0)
    monkeypatch.setattr(inducing, "FLOOR", 1e-14)
    np.testing.assert_allclose(collapsed_bound(*args), exact.log_prob(Y), rtol=1e-8)


def test_the_gradient_is_that_of_dense_formulas():
    def dense(gram, y, noise, variance):
        own = inducing.NUGGET * noise[:M] + inducing.FLOOR * variance
        projected = gram @ jnp.linalg.solve(gram[:M] + jnp.diag(own), gram.T)
        covariance = projected + jnp.diag(noise)
        quadratic = y @ jnp.linalg.solve(covariance, y) + jnp.linalg.slogdet(covariance)[1]
        trace = ((variance - jnp.diagonal(projected)) / noise).sum()
        return -0.5 * (quadratic + trace + N * jnp.log(2.0 * jnp.pi))

    def bound(gram, y, noise, variance):
        return collapsed_bound(gram, y, jnp.ones(N, bool), noise, variance)

    gram, arguments = likelihood().gram, (Y, jnp.array(NOISE + KNOWN), VARIANCE)
    for function in (dense, bound):
        function.value = jax.value_and_grad(function, (0, 1, 2, 3))(gram, *arguments)
    np.testing.assert_allclose(bound.value[0], dense.value[0], rtol=1e-8)
    for found, expected in zip(bound.value[1], dense.value[1], strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5 * np.abs(expected).max())


@pytest.mark.parametrize("known_noise", [None, KNOWN])
def test_the_posterior_is_that_of_dense_formulas(known_noise: Any):
    """The posterior of the function, of a component, of the residual, and of pairs of points."""
    dense, gp = Dense.of(known_noise), likelihood(M, known_noise).condition(Y)
    k = gp.covariance
    cases = [
        (gp.predict(NEW), k(NEW, X[:M]), VARIANCE),
        (gp.predict_component(0, NEW), k.component_gram(0, NEW, X[:M]), k.variances[0]),
        (gp.predict_residual(NEW), k.residual_gram(NEW, X[:M]), VARIANCE * VALUES["rho"]),
    ]
    for (mean, variance), to_inducing, prior in cases:
        expected, covariance = dense.moments(np.asarray(to_inducing), prior)
        np.testing.assert_allclose(mean, expected, rtol=1e-6, atol=1e-8)
        np.testing.assert_allclose(variance, np.diag(covariance), rtol=1e-6)
    _, expected = dense.moments(np.asarray(k(NEW, X[:M])), np.asarray(k(NEW, NEW)))
    np.testing.assert_allclose(gp.covariance_between(NEW, NEW), expected, rtol=1e-5, atol=1e-8)


def test_a_singular_prior_of_the_inducing_values_does_no_harm():
    """With all of them at two points, the posterior equals the one with these two points."""
    twice = jnp.concatenate([jnp.repeat(X[:2], 4, axis=0), X[2:]])
    y = jnp.concatenate([jnp.repeat(Y[:2], 4), Y[2:]])
    many = likelihood(8, x=twice)
    order = np.r_[0, 4, 1:4, 5 : len(twice)]
    few = likelihood(2, x=twice[order])
    np.testing.assert_allclose(many.log_prob(y), few.log_prob(y[order]), atol=1e-2)
    found, expected = (gp.predict(NEW) for gp in (many.condition(y), few.condition(y[order])))
    for value, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(value, other, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("num_inducing", [M, N + 2])
def test_padding_changes_nothing(num_inducing: int):
    """Neither padding after the data, nor padded inducing points with fewer data."""
    rows = np.arange(N + 4) < N
    x, y = np.zeros((N + 4, D)), np.full(N + 4, 7.0)
    x[:N], y[:N] = X, Y
    y = jnp.array(y)
    padded = likelihood(num_inducing, np.ones(N + 4), x, rows)
    plain = likelihood(min(num_inducing, N - 1) if num_inducing < N else None, np.ones(N))
    tolerance = 1e-9 if num_inducing < N else 1e-3
    np.testing.assert_allclose(padded.log_prob(y), plain.log_prob(Y), rtol=tolerance)
    found, expected = (gp.condition(v) for gp, v in ((padded, y), (plain, Y)))
    for value, other in zip(found.predict(NEW), expected.predict(NEW), strict=True):
        np.testing.assert_allclose(value, other, rtol=tolerance)
    drawn = padded.sample(jax.random.key(0), (3,))
    assert (drawn[:, N:] == 0.0).all()
    assert np.isfinite(drawn).all()


def test_left_out_observations_are_predicted_as_by_the_others_alone():
    mean, variance = likelihood(M, KNOWN).leave_one_out(Y)
    for i in (0, M, N - 1):
        dense = Dense.of(KNOWN)
        dense.noise[i] = 1e12
        expected, explained = dense.moments(dense.cross[:, [i]].T, VARIANCE)
        np.testing.assert_allclose(mean[i], expected[0], rtol=1e-6)
        np.testing.assert_allclose(variance[i], explained[0, 0] + NOISE + KNOWN[i], rtol=1e-6)


def check_moments(draws: np.ndarray, mean: np.ndarray, covariance: np.ndarray) -> None:
    """Within five standard errors, which fails for 1 in 100,000 correct implementations."""
    size, deviation = len(draws), np.sqrt(np.diag(covariance))
    assert (np.abs(draws.mean(0) - mean) < 5.0 * deviation / np.sqrt(size)).all()
    error = 5.0 * np.sqrt(2.0 / size) * np.outer(deviation, deviation)
    assert (np.abs(np.cov(draws.T) - covariance) < error).all()


def test_drawn_functions_have_the_moments_of_the_posterior():
    """Every function draws new features, so moments are unbiased."""

    @jax.jit
    def values(keys):
        gp = likelihood().condition(Y)
        return jax.lax.map(lambda key: gp.sample_path(key, 32)(NEW), keys)

    draws = np.asarray(values(jax.random.split(jax.random.key(1), 8000)))
    k = likelihood().covariance
    check_moments(draws, *Dense.of().moments(np.asarray(k(NEW, X[:M])), np.asarray(k(NEW, NEW))))


def test_repeated_observations_have_the_moments_of_the_posterior():
    @jax.jit
    def values(keys):
        return jax.lax.map(lambda key: replicate(likelihood(), Y, key), keys)

    draws = np.asarray(values(jax.random.split(jax.random.key(2), 1000)))
    k = likelihood().covariance
    mean, covariance = Dense.of().moments(np.asarray(k(X, X[:M])), np.asarray(k(X, X)))
    check_moments(draws, mean, covariance + NOISE * np.eye(N))


def test_observations_of_the_prior_are_independent_given_the_inducing_points():
    draws = np.asarray(likelihood(M, KNOWN).sample(jax.random.key(3), (40_000,)))
    dense = Dense.of(KNOWN)
    rest = VARIANCE - np.diag(dense.projected) + dense.noise
    check_moments(draws, np.zeros(N), dense.projected + np.diag(rest))


def test_inducing_points_are_chosen_by_the_number_of_rows():
    assert likelihood(None).num_inducing is None
    many = likelihood(None, x=np.zeros((1025, D)))
    assert many.num_inducing == 512
    leaves, tree = jax.tree.flatten(many)
    assert jax.tree.unflatten(tree, leaves).num_inducing == 512
    assert likelihood(1025, x=np.zeros((1025, D))).num_inducing is None
    assert inducing_rows(5000, 100) == 100


def test_a_number_below_one_is_refused():
    with pytest.raises(ValueError, match="num_inducing"):
        AdditiveGP(num_inducing=0)
