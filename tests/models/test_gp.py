"""The posterior of the function and of its components against dense formulas."""

from dataclasses import replace
from itertools import combinations_with_replacement, product
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.stats import multivariate_normal

from structbo.models import (
    AdditiveCovariance,
    Decomposition,
    MarginalGP,
    ProductResidual,
    squared_exponential,
)
from structbo.models.common_effect import NUM_WAVES

NOISE = 0.05
NUM_COMPONENTS = 3
"""Number of components of the fixture's covariance; one more row is padding."""

RESIDUAL = {"residual": ProductResidual(jnp.array(0.3), jnp.array(1.5))}
COMMON = {"residual": ProductResidual(jnp.array(0.6), jnp.array(1.5), jnp.array(0.7))}
MAIN = np.array([0.2, 1.0, 2.0, 0.5])
STRENGTHS = {"strengths": jnp.array(np.add.outer(MAIN, MAIN) / 2.0)}
OPTIONS = [
    pytest.param({}, id="plain", marks=pytest.mark.nightly),
    pytest.param(
        {"kernel": squared_exponential, "categorical": (1,), **STRENGTHS, **RESIDUAL},
        id="everything",
    ),
    pytest.param({**STRENGTHS, **RESIDUAL}, id="residual and relevance", marks=pytest.mark.nightly),
    pytest.param({"categorical": (1,), **COMMON}, id="common"),
    pytest.param({"categorical": (1,), **RESIDUAL}, id="categorical", marks=pytest.mark.nightly),
]


class Case(NamedTuple):
    """A covariance, data, new points, and the results for them, also with other noise or data."""

    covariance: AdditiveCovariance
    answers: dict[str, Any]
    exact: dict[str, Any]
    repeated: dict[str, Any]
    x: np.ndarray
    y: np.ndarray
    new: np.ndarray


@jax.jit
def answers(likelihood: MarginalGP, y: jax.Array, x: jax.Array, new: jax.Array) -> dict[str, Any]:
    """All tested quantities, compiled once per option, at observed and new points."""
    covariance, posterior = likelihood.covariance, likelihood.condition(y)
    path = posterior.sample_path(jax.random.key(0), num_features=64)
    every = jnp.concatenate([x, new])

    def parts(of_component, residual):
        each = jax.lax.map(of_component, jnp.arange(NUM_COMPONENTS))
        return jax.tree.map(lambda a, b: jnp.concatenate([a, b[None]]), each, residual)

    return {
        "posterior": posterior,
        "prior": covariance(new, x),
        "prior_variance": covariance(x, x).diagonal(),
        "joint": posterior.predict(every),
        "between": posterior.covariance_between(new, new),
        "parts": parts(
            lambda c: posterior.predict_component(c, new), posterior.predict_residual(new)
        ),
        "pairs": {
            (i, j): posterior.component_covariance_between(i, new, j, new)
            for i, j in combinations_with_replacement(range(NUM_COMPONENTS), 2)
        },
        "path": path(every),
        "path_parts": parts(lambda c: path.component(c, new), path.residual(new)),
    }


@pytest.fixture(scope="module", params=OPTIONS)
def case(request, make_covariance) -> Case:
    """Seven observations and seven padded rows; three new points."""
    rng = np.random.default_rng(3)
    x, y, new = rng.random((14, 4)), rng.normal(size=14), rng.random((3, 4))
    x[:, 1], new[:, 1] = rng.integers(0, 3, 14) / 2, rng.integers(0, 3, 3) / 2
    covariance, data, observed = make_covariance(**request.param), x[:7], y[:7]

    def ask(x: np.ndarray, y: np.ndarray, noise: float, mask: np.ndarray) -> dict[str, Any]:
        likelihood = MarginalGP(covariance, jnp.array(x), jnp.array(noise), jnp.array(mask))
        return answers(likelihood, y, data, new)

    return Case(
        covariance,
        ask(x, y, NOISE, np.arange(14) < 7),
        ask(x, y, 1e-8, np.arange(14) < 7),
        ask(np.tile(data, (2, 1)), np.tile(observed, 2), 0.0, np.ones(14, bool)),
        data,
        observed,
        new,
    )


def dense_covariance(k: AdditiveCovariance, x, other) -> list[np.ndarray]:
    """Prior covariance of every component and of the residual, written out with NumPy loops."""
    members, lengthscale = np.asarray(k.decomposition.members), np.asarray(k.lengthscale)
    relevance = np.ones(len(lengthscale)) if k.strengths is None else MAIN
    rho, stretch = (0.0, 1.0) if k.residual is None else (k.residual.share, k.residual.stretch)
    rows = [row for row in members if row.any()]
    weights = np.array([relevance[row].sum() for row in rows])  # d_c times the mean relevance

    def correlation(row, stretch):
        gram = np.ones((len(x), len(other)))
        for d in np.flatnonzero(row):
            gap = np.abs(np.subtract.outer(np.asarray(x)[:, d], np.asarray(other)[:, d]))
            gap = 1.0 * (gap > 0) if d in k.categorical else gap
            r = gap / (stretch * lengthscale[d])
            if k.kernel == squared_exponential:
                gram *= np.exp(-(r**2) / 2)
            else:
                s = np.sqrt(5) * r
                gram *= (1 + s + s**2 / 3) * np.exp(-s)
        return gram

    shares = (1 - rho) * weights / weights.sum()
    grams = [share * correlation(row, 1.0) for share, row in zip(shares, rows, strict=True)]
    common = 0.0 if k.residual is None or k.residual.common is None else float(k.residual.common)
    residual = rho * (1 - common) * correlation(np.ones(len(lengthscale), bool), float(stretch))
    residual = residual + rho * common * dense_common(x, other, k.categorical)
    return [float(k.outputscale) * gram for gram in (*grams, residual)]


def dense_common(x, other, categorical: tuple[int, ...]) -> np.ndarray:
    """Covariance of a common main effect: sums over all pairs of dimensions and over cosines."""
    dims = [d for d in range(x.shape[1]) if d not in categorical]
    variances = 0.5 ** np.arange(1, NUM_WAVES + 1)
    gram = np.zeros((len(x), len(other)))
    for wave, variance in enumerate(variances / variances.sum(), 1):
        for d, e in product(dims, dims):
            one, two = (np.cos(np.pi * wave * np.asarray(z)) for z in (x[:, d], other[:, e]))
            gram += 2.0 * variance * np.outer(one, two) / len(dims)
    return gram


def inverse(case: Case) -> np.ndarray:
    total = sum(dense_covariance(case.covariance, case.x, case.x))
    return np.linalg.inv(total + NOISE * np.eye(len(case.x)))


def component_covariance(case: Case, i: int, j: int) -> np.ndarray:
    """Posterior covariance of two components (the last one is the residual) at the new points."""
    prior = dense_covariance(case.covariance, case.new, case.new)
    to_data = dense_covariance(case.covariance, case.new, case.x)
    return (i == j) * prior[i] - to_data[i] @ inverse(case) @ to_data[j].T


def test_prior_covariance_is_the_dense_sum(case: Case):
    expected = sum(dense_covariance(case.covariance, case.new, case.x))
    np.testing.assert_allclose(case.answers["prior"], expected, rtol=1e-10)
    own = np.diag(sum(dense_covariance(case.covariance, case.x, case.x)))
    found = np.broadcast_to(case.answers["prior_variance"], own.shape)
    np.testing.assert_allclose(found, own, rtol=1e-12)


def test_joint_moments_are_the_dense_ones(case: Case):
    to_data = sum(dense_covariance(case.covariance, case.new, case.x))
    expected = sum(dense_covariance(case.covariance, case.new, case.new))
    expected = expected - to_data @ inverse(case) @ to_data.T
    mean, variance = (moment[7:] for moment in case.answers["joint"])
    np.testing.assert_allclose(mean, to_data @ inverse(case) @ case.y, rtol=1e-9)
    np.testing.assert_allclose(variance, np.diag(expected), rtol=1e-9)
    np.testing.assert_allclose(case.answers["between"], expected, rtol=1e-8, atol=1e-12)


def test_component_moments_are_the_dense_ones(case: Case):
    to_data = dense_covariance(case.covariance, case.new, case.x)
    for c, (mean, variance) in enumerate(zip(*case.answers["parts"], strict=True)):
        np.testing.assert_allclose(mean, to_data[c] @ inverse(case) @ case.y, atol=1e-10)
        expected = np.diag(component_covariance(case, c, c))
        np.testing.assert_allclose(variance, expected, rtol=1e-8, atol=1e-12)
    for pair, covariance in case.answers["pairs"].items():
        np.testing.assert_allclose(covariance, component_covariance(case, *pair), atol=1e-11)


def test_components_add_up_to_the_joint_posterior(case: Case):
    """Means add up; covariances add up if pairs with the residual are included."""
    means, variances = case.answers["parts"]
    mean, variance = (moment[7:] for moment in case.answers["joint"])
    np.testing.assert_allclose(means.sum(0), mean, atol=1e-12)
    with_residual = [
        component_covariance(case, i, j)
        for i, j in product(range(NUM_COMPONENTS + 1), repeat=2)
        if NUM_COMPONENTS in (i, j)
    ]
    total = sum(with_residual)
    for (i, j), covariance in case.answers["pairs"].items():
        total = total + (covariance if i == j else covariance + covariance.T)
    np.testing.assert_allclose(total, case.answers["between"], atol=1e-11)
    assert (np.sqrt(variance) <= np.sqrt(variances).sum(0) + 1e-12).all()


def test_sample_path_is_the_sum_of_its_components(case: Case):
    parts = case.answers["path_parts"]
    np.testing.assert_allclose(case.answers["path"][7:], parts.sum(0), atol=1e-12)
    assert parts[-1].any() == (case.covariance.residual is not None)


@pytest.mark.nightly
def test_sample_paths_have_the_posterior_moments(case: Case):
    """Over 5000 paths: 3 means, 6 covariances, and 3 means and variances of a component.

    Few features suffice: the first two moments of a path are exact for any number.
    """
    num_paths = 5000

    @jax.jit
    def draw(posterior, new, keys):
        def one(key):
            path = posterior.sample_path(key, num_features=16)
            return path(new), path.component(0, new)

        return jax.lax.map(one, keys, batch_size=100)

    keys = jax.random.split(jax.random.key(1), num_paths)
    joint, first = draw(case.answers["posterior"], case.new, keys)
    mean = case.answers["joint"][0][7:]
    first_mean, first_variance = (moment[0] for moment in case.answers["parts"])
    centered = joint - mean
    for draws, expected in (
        (joint, mean),
        (centered[:, :, None] * centered[:, None, :], case.answers["between"]),
        (first, first_mean),
        ((first - first_mean) ** 2, first_variance),
    ):
        error = draws.std(0) / np.sqrt(num_paths)
        assert (jnp.abs(draws.mean(0) - expected) < 4 * error).all()


def test_sample_paths_interpolate_nearly_exact_data(case: Case):
    np.testing.assert_allclose(case.exact["path"][:7], case.y, atol=1e-3)


def test_repeated_points_without_noise_stay_finite(case: Case):
    mean, variance = case.repeated["joint"]
    assert np.isfinite(mean).all()
    assert (variance >= 0).all()
    np.testing.assert_allclose(mean[:7], case.y, atol=1e-3)


def test_observations_have_the_marginal_distribution(case: Case):
    """The density is compared with SciPy, the sample covariance of 20000 draws entry by entry."""

    def draw(likelihood, key):
        y = likelihood.sample(key, (20_000,))
        return y, likelihood.log_prob(y[0])

    x, mask = np.concatenate([case.x, np.full((1, 4), 0.5)]), np.arange(8) < 7
    likelihood = MarginalGP(case.covariance, jnp.array(x), jnp.array(NOISE), jnp.array(mask))
    y, density = jax.tree.map(np.asarray, jax.jit(draw)(likelihood, jax.random.key(3)))
    assert not y[:, 7:].any()
    covariance = sum(dense_covariance(case.covariance, case.x, case.x)) + NOISE * np.eye(7)
    expected = multivariate_normal.logpdf(y[0, :7], cov=covariance)
    np.testing.assert_allclose(density, expected, rtol=1e-10)
    products = y[:, :7, None] * y[:, None, :7]
    error = products.std(0) / np.sqrt(len(y))
    assert (np.abs(products.mean(0) - covariance) < 4.5 * error).all()


def test_padding_may_stand_anywhere_and_weigh_anything():
    """Rows without members are not components, whatever their other entries."""
    compact = np.array([[1, 1, 0], [0, 0, 1]], bool)
    padded = np.array([[0, 0, 0], [1, 1, 0], [0, 0, 0], [0, 0, 1]], bool)
    x = np.linspace(0.0, 1.0, 12).reshape(4, 3)

    @jax.jit
    def found(members: jax.Array, weights: jax.Array, x: jax.Array) -> tuple[jax.Array, ...]:
        table = replace(Decomposition.of(members), weights=weights)
        covariance = AdditiveCovariance(
            table, jnp.full(3, 0.4), jnp.array(1.0), None, None, squared_exponential
        )
        posterior = MarginalGP(covariance, x, jnp.array(0.1)).condition(x[:, 0])
        parts = jax.lax.map(lambda c: posterior.predict_component(c, x)[0], table.rows[:2])
        return covariance(x, x), posterior.predict(x)[0], parts

    one = found(compact, np.array([2.0, 1.0]), x)
    two = found(padded, np.array([5.0, 2.0, 3.0, 1.0]), x)
    jax.tree.map(np.testing.assert_allclose, one, two)
    np.testing.assert_allclose(one[2].sum(0), one[1])


def test_needs_64_bit_floats_in_models_of_users(case: Case) -> None:
    with jax.enable_x64(False), pytest.raises(RuntimeError, match="MarginalGP needs 64-bit"):
        MarginalGP(case.covariance, jnp.zeros((1, 1)), jnp.ones(()))
