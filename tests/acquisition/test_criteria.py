"""Criteria by name, their one-dimensional formulas, exploration schedules, and whole searches."""

import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import norm

import structbo
from structbo import acquisition
from structbo.acquisition import (
    CRITERIA,
    ActiveVariables,
    Constant,
    FiniteDomain,
    HalfLog,
    approximate_maximum,
    entropy_lost,
    expected_maximum,
    log_improvement,
)
from structbo.acquisition.independent_maximum import exceedance, quantile
from structbo.acquisition.max_value_entropy import NUM_FEATURES
from structbo.batches import Hallucination
from structbo.data import Data
from structbo.draws import Posteriors, condition
from structbo.maximizers import MultiStart
from structbo.models import AdditiveGP, Decomposition, edges, projected
from structbo.proposal import Situation, propose
from structbo.space import Levels


def reference_log_improvement(z: float) -> float:
    """``EI(z) = pdf(z) / z^2`` times the integral of ``u exp(-u - u^2 / (2 z^2))`` for z < 0."""
    if z > -0.5:
        return float(np.log(norm.pdf(z) + z * norm.cdf(z)))
    integral = quad(lambda u: u * np.exp(-u - 0.5 * (u / z) ** 2), 0.0, 60.0, epsabs=1e-13)[0]
    return float(norm.logpdf(z) - 2.0 * np.log(-z) + np.log(integral))


@pytest.mark.parametrize(
    "z", [-1e3, -100.0, -25.01, -24.99, -20.0, -5.0, -0.6, 0.0, 1.0, 8.0, 19.99, 20.01, 50.0]
)
def test_log_improvement_is_the_log_of_the_integral(z: float) -> None:
    found, expected = float(jax.jit(log_improvement)(z)), reference_log_improvement(z)
    assert found == pytest.approx(expected, rel=0, abs=2e-6)


def test_log_improvement_increases_and_its_gradient_is_finite() -> None:
    z = np.concatenate([np.linspace(-1e3, -31.0, 50), np.linspace(-30.03, 50.0, 400)])
    values, gradients = jax.jit(jax.vmap(jax.value_and_grad(log_improvement)))(z)
    assert (np.diff(values) > 0).all()
    assert np.isfinite(gradients).all()
    # The derivative of log EI is cdf / EI, which tends to -z as z falls.
    some = z[::7]
    expected = np.exp(norm.logcdf(some) - [reference_log_improvement(v) for v in some])
    assert np.allclose(np.asarray(gradients)[::7], expected, rtol=1e-4)


@pytest.mark.parametrize("z", [-24.99, -10.0, -3.0, -0.5, 0.0, 0.7, 3.0, 6.0])
def test_entropy_lost_is_the_difference_of_two_entropies(z: float) -> None:
    """The truncated normal has the entropy ``log(cdf) - E log pdf``, by quadrature."""

    def integrand(u: float) -> float:
        return -norm.logpdf(u) * np.exp(norm.logpdf(u) - norm.logcdf(z))

    low = min(z, 0.0) - (12.0 if z > -5.0 else 40.0 / abs(z))
    cut = quad(integrand, low, z, epsabs=1e-12, limit=200)[0] + norm.logcdf(z)
    expected = 0.5 * np.log(2.0 * np.pi * np.e) - cut
    assert float(jax.jit(entropy_lost)(z)) == pytest.approx(expected, abs=2e-6)


def test_entropy_lost_decreases_and_its_gradient_is_finite() -> None:
    z = np.concatenate([-np.logspace(6, 1.5, 60), np.linspace(-31.0, 8.0, 400)])
    above = [10.0, 40.0, 1e3, 1e6]
    both = jax.jit(jax.vmap(jax.value_and_grad(entropy_lost)))(np.append(z, above))
    assert np.isfinite(both).all()
    values, gradients = (np.asarray(part)[: len(z)] for part in both)
    assert (np.diff(values) < 0).all()
    # Far below zero it is log(-z) + log(sqrt(2 pi)) - 1/2, with derivative 1 / z.
    far = z < -1e3
    assert np.allclose(values[far], np.log(-z[far]) + 0.5 * np.log(2.0 * np.pi) - 0.5, atol=1e-5)
    assert np.allclose(gradients[far] * z[far], 1.0, atol=1e-5)
    values, gradients = (np.asarray(part)[len(z) :] for part in both)
    assert (values >= 0.0).all()
    assert np.allclose([values, gradients], 0.0, atol=1e-12)


@pytest.mark.parametrize(
    "criterion",
    [acquisition.LogEI(), acquisition.LogEQI(), acquisition.LogPI(), acquisition.MES()],
)
def test_scores_are_finite_in_all_limits(criterion: Any) -> None:
    """Means far above and below the incumbent, with tiny and large deviations."""
    mean, deviation = (
        a.ravel() for a in np.meshgrid([-1e3, -1.0, 0.0, 1e-9, 1.0, 1e3], [1e-6, 1e-3, 1.0, 1e3])
    )
    contexts = {acquisition.MES: np.zeros(2), acquisition.LogEQI: np.array([0.0, 0.1])}
    context = jnp.asarray(contexts.get(type(criterion), np.zeros(())))

    def total(mean: Any, deviation: Any) -> Any:
        values = criterion.score(mean, deviation, context)
        return values.sum(), values

    gradients, values = jax.jit(jax.grad(total, (0, 1), has_aux=True))(mean, deviation)
    assert np.isfinite(values).all()
    assert all(np.isfinite(g).all() for g in gradients)


def test_est_prefers_higher_means_above_its_estimate() -> None:
    """Divided by the deviation, certain means above the estimate would score highest."""
    mean, deviation = jnp.array([0.9, 1.0, 1.1, 1.2]), jnp.array([0.1, 0.1, 0.01, 0.2])
    scores = acquisition.EST().score(mean, deviation, jnp.array(1.0))
    assert np.all(np.diff(scores) > 0.0)
    below = acquisition.EST().score(jnp.array([0.5, 0.5]), jnp.array([0.1, 0.2]), jnp.array(1.0))
    np.testing.assert_allclose(below, [-5.0, -2.5])


@pytest.mark.parametrize("number", [1, 5, 200])
def test_maxima_of_independent_normals_agree_with_monte_carlo(number: int) -> None:
    """ESTn to the Monte Carlo error of 20 000 maxima, ESTa to 30 % of its excess over ``m_0``."""
    rng = np.random.default_rng(number)
    estimates = jax.jit(expected_maximum), jax.jit(approximate_maximum)
    for scale in (1e-3, 1.0, 50.0):
        mean, deviation = scale * rng.normal(size=number), scale * rng.uniform(0.1, 2.0, number)
        for least in (mean.max() - scale, mean.max() + scale):
            draws = rng.normal(mean, deviation, (20_000, number)).max(1)
            values = np.maximum(draws, least)
            expected, error = values.mean(), values.std() / np.sqrt(len(values))
            moments = jnp.asarray(mean), jnp.asarray(deviation), jnp.asarray(least)
            numerical, approximate = (float(estimate(*moments)) for estimate in estimates)
            assert numerical == pytest.approx(expected, abs=4.5 * error)
            assert approximate - least == pytest.approx(expected - least, rel=0.3)


def test_quantiles_of_maxima_of_independent_normals() -> None:
    mean, deviation = np.array([0.0, 1.0, -2.0]), np.array([1.0, 0.3, 2.0])
    for probability in (0.1, 0.5, 0.9):
        found = float(jax.jit(quantile)(probability, mean, deviation, -20.0))
        exceeded = jax.jit(exceedance)(np.array([found]), mean, deviation)
        assert float(exceeded[0]) == pytest.approx(probability)
        below = np.prod(norm.cdf((found - mean) / deviation))
        assert 1.0 - below == pytest.approx(probability)


def test_schedules_are_those_of_the_papers() -> None:
    assert float(HalfLog()(50, 3)) == pytest.approx(0.5 * np.log(100.0))
    expected = 2.0 * np.log(1000 * 7**2 * np.pi**2 / (6 * 0.05))
    assert float(FiniteDomain(1000, 0.05)(7, 3)) == pytest.approx(expected)
    d, t, b, s, delta = 4, 9, 0.5, 2.0, 0.1
    expected = 2.0 * np.log(t**2 * 2 * np.pi**2 / (3 * delta))
    expected += 2 * d * np.log(2 * t**2 * d * s / b * np.sqrt(np.log(4 * d / delta)))
    assert float(ActiveVariables(d, b, s, delta)(t, 30)) == pytest.approx(expected)
    assert float(ActiveVariables(None, b, s, delta)(t, d)) == pytest.approx(expected)
    assert float(Constant(4.0)(9, 3)) == 4.0
    huge = FiniteDomain(10**400)(1, 3)
    assert np.isfinite(huge), "the number of points of a grid in many dimensions is no float"


def test_names_stand_for_criteria_and_unknown_ones_list_them() -> None:
    for name, criterion in CRITERIA.items():
        assert acquisition.as_criterion(name) is criterion
        assert hash(criterion) == hash(type(criterion)())
    own = acquisition.UCB(beta=HalfLog())
    assert acquisition.as_criterion(own) is own and own == acquisition.UCB()
    with pytest.raises(
        ValueError, match=r"'log_ei', 'log_eqi', 'log_pi', .* 'thompson', .* got 'ei'"
    ):
        structbo.Optimizer({"x": (0.0, 1.0)}, criterion="ei")
    with pytest.raises(TypeError, match=r"or an instance such as .*UCB\(beta=4.0\); got <class"):
        structbo.suggest({"x": (0.0, 1.0)}, [], [], criterion=acquisition.UCB)  # type: ignore
    with pytest.raises(ValueError, match="'numerical', 'published', got 'exact'"):
        acquisition.EST("exact")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="'sampled', 'gumbel', got 'exact'"):
        acquisition.MES(maxima="exact")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: acquisition.UCB(-1.0), "beta must be a number of at least 0, .* got -1.0"),
        (lambda: acquisition.UCB(math.nan), "beta must be .* got nan"),
        (lambda: acquisition.AdditiveUCB(None), "beta must be .* got None"),  # type: ignore
        (lambda: acquisition.UCB(HalfLog), "beta must be .* got <class"),  # type: ignore
        (lambda: acquisition.LogEI("best"), "incumbent must be .*got 'best'"),  # type: ignore
        (lambda: acquisition.LogPI(math.nan), "margin must be finite"),
        (lambda: acquisition.MES(0), "num_maxima must be an integer of at least 1, got 0"),
        (lambda: acquisition.AdditiveMES(-1), "num_maxima must be"),
        (lambda: acquisition.Thompson(0), "num_features must be"),
        (lambda: acquisition.FiniteDomain(0), "num_points must be"),
        (lambda: acquisition.FiniteDomain(9, 2.0), "delta must be a number between 0 and 1"),
        (lambda: acquisition.GroupLog(0), "group_size must be"),
        (lambda: acquisition.ActiveVariables(2, bandwidth=-1.0), "bandwidth must be positive"),
    ],
)
def test_settings_out_of_range_are_named_at_once(make: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make()


NUM_DIMS = 4
COMPONENTS = {
    "narrow": [(0,), (1,), (2,), (3,), (0, 1), (1, 2), (2, 3)],
    "wide": [(0, 1, 2, 3), (3,)],
    "projected": [(0,), (0, 1)],
}


def model_of(kind: str) -> AdditiveGP:
    """A model with a known structure."""
    num_dims = 2 if kind == "projected" else NUM_DIMS
    members = np.zeros((len(COMPONENTS[kind]), num_dims), bool)
    for row, scope in zip(members, COMPONENTS[kind], strict=True):
        row[list(scope)] = True
    directions = np.random.default_rng(3).normal(size=(NUM_DIMS, 2))

    def structure(_: int) -> Decomposition:
        decomposition = Decomposition.of(jnp.asarray(members))
        return projected(decomposition, directions) if kind == "projected" else decomposition

    return AdditiveGP(structure)


@pytest.mark.nightly
@pytest.mark.parametrize("kind", COMPONENTS)
def test_additive_criteria_are_maximized_over_all_points(kind: str) -> None:
    """The maximum exceeds many random points in the mean over draws of sums over components."""
    rng = np.random.default_rng(0)
    model, num_draws = model_of(kind), 2
    x = rng.random((15, NUM_DIMS))
    data = Data.padded(x, np.sin(6.0 * x[:, 0]) + 3.0 * x[:, 1] * x[:, 2] - x[:, 3])
    scale = 2.0 if kind == "projected" else 0.4
    num_lengthscales = 2 if kind == "projected" else NUM_DIMS
    draws = {
        "lengthscale": scale * rng.uniform(0.7, 1.5, (num_draws, num_lengthscales)),
        "outputscale": np.array([0.7, 1.5]),
        "noise": np.array([0.01, 0.05]),
    }
    levels = [None, None, np.array([0.0, 0.4, 1.0]), None]
    posteriors = Posteriors.of(model, draws, data)
    situation = Situation(posteriors, Levels.of(levels), np.empty((0, NUM_DIMS)))
    how = acquisition.AdditiveUCB(4.0), Hallucination(), MultiStart()
    proposal = propose(situation, 1, jax.random.key(0), *how)
    (candidates,) = proposal.ranked
    assert candidates[0, 2] in levels[2]
    random = rng.random((3000, NUM_DIMS))
    random[:, 2] = rng.choice(levels[2], 3000)

    @jax.jit
    def bound(points: Any) -> Any:
        def of_draw(posterior: Any) -> Any:
            rows = range(len(COMPONENTS[kind]))
            moments = [posterior.predict_component(row, points) for row in rows]
            return sum(mean + 2.0 * jnp.sqrt(variance) for mean, variance in moments)

        return jax.lax.map(of_draw, condition(model, draws, data)).mean(0)

    values = np.asarray(bound(np.concatenate([candidates[:1], random])))
    assert values[0] >= values[1:].max()


@pytest.mark.nightly
def test_sampled_maxima_of_wide_graphs_are_above_random_points() -> None:
    """Every pair interacts, so message passing clamps five of eight variables."""
    rng, num_dims, number = np.random.default_rng(0), 8, 4
    model = AdditiveGP(edges(0.5))
    x = rng.random((40, num_dims))
    data = Data.padded(x, rng.standard_normal(40))
    draws = {
        "Z": jnp.ones((1, num_dims, num_dims), int) - jnp.eye(num_dims, dtype=int),
        "lengthscale": jnp.full((1, num_dims), 0.2),
        "outputscale": jnp.ones(1),
        "noise": jnp.full(1, 0.1),
    }
    union, key = Posteriors.of(model, draws, data), jax.random.key(3)
    assert union.layouts[1].clamped.sum() == 5
    best, candidates = (
        jnp.asarray(x[data.y[:40].argmax()]),
        jnp.asarray(rng.random((512, num_dims))),
    )
    search = acquisition.Search(
        Levels.of([None] * num_dims),
        candidates,
        best,
        40.0,
        union.components,
        union.layouts[1],
        key,
    )

    @jax.jit
    def found(points: Any) -> Any:
        posteriors = condition(model, draws, data)
        posterior = jax.tree.map(lambda leaf: leaf[0], posteriors)
        keys = jax.random.split(key, (1, number))[0]
        keys = jax.vmap(jax.random.split)(keys)[:, 0]
        paths = jax.lax.map(lambda k: posterior.sample_path(k, NUM_FEATURES)(points), keys)
        return acquisition.MES(number).of(posteriors, search).contexts[0], paths.max(1)

    maxima, among_random = found(jnp.asarray(rng.random((5000, num_dims))))
    assert np.all(maxima > among_random)


@pytest.mark.nightly
@pytest.mark.parametrize("criterion", sorted(CRITERIA))
@pytest.mark.parametrize("model", [None, AdditiveGP()], ids=["residual", "pairs"])
def test_every_criterion_suggests_new_points(criterion: str, model: AdditiveGP | None) -> None:
    rng = np.random.default_rng(0)
    box = np.tile([0.0, 1.0], (NUM_DIMS, 1))
    X = rng.random((20, NUM_DIMS))
    y = -np.sin(6.0 * X[:, 0]) - 3.0 * X[:, 1] * X[:, 2]
    points = structbo.suggest(box, X, y, 2, model=model, criterion=criterion)
    assert points.shape == (2, NUM_DIMS)
    assert len(np.unique(np.concatenate([X, points]), axis=0)) == 22
    assert (-np.sin(6.0 * points[:, 0]) - 3.0 * points[:, 1] * points[:, 2]).max() < np.median(y)
    again = structbo.suggest(box, X, y, 2, model=model, criterion=criterion)
    assert np.array_equal(again, points)
