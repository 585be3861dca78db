"""Joint criteria against closed forms and integrals, averaged over draws."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from acquisition_case import NUM_DRAWS, Case, evaluate, observations, one
from scipy.stats import norm

from structbo.acquisition import EST, UCB, Acquisition, LogEI, LogEQI, LogPI, expected_maximum


def test_joint_criteria_are_means_over_draws_of_closed_forms(acquire: Any, moments: Any) -> None:
    """Each draw has its own incumbent, its best posterior mean at an observed point."""
    points, mean, deviation, observed, _ = moments
    best = observed.max(1)[:, None]
    for beta in (0.0, 4.0):
        expected = (mean + np.sqrt(beta) * deviation).mean(0)
        assert np.allclose(evaluate(acquire(UCB(beta)), points), expected, atol=1e-6)
    practice = (mean + np.sqrt(0.5 * np.log(14.0)) * deviation).mean(0)
    assert np.allclose(evaluate(acquire(UCB()), points), practice, atol=1e-6)
    expected = norm.sf((best + 0.1 - mean) / deviation).mean(0)
    assert np.allclose(np.exp(evaluate(acquire(LogPI(margin=0.1)), points)), expected, rtol=1e-4)


@pytest.mark.parametrize("maximum", ["approximate", "numerical"])
def test_est_is_a_ucb_that_touches_the_estimated_maximum(
    acquire: Any, moments: Any, maximum: Any
) -> None:
    """The value is minus the smallest sqrt(beta) at which the bound reaches the estimate."""
    points, mean, deviation, observed, _ = moments
    acquisition = acquire(EST(maximum))
    assert (np.asarray(acquisition.contexts) > observed.max(1)).all()
    by_draw = np.asarray(jax.jit(Acquisition.by_draw)(acquisition, points))
    estimate = np.asarray(acquisition.contexts)[:, None]
    assert np.allclose(mean - by_draw * deviation, estimate, atol=1e-4)
    assert np.allclose(evaluate(acquisition, points), by_draw.mean(0))


def test_the_estimated_maximum_of_est_is_that_of_independent_candidates(
    case: Case, acquire: Any
) -> None:
    @jax.jit
    def maximum(posterior: Any, best: Any) -> Any:
        mean, variance = posterior.predict(case.search.candidates)
        return expected_maximum(mean, jnp.sqrt(variance + 1e-12), best)

    estimates = np.asarray(acquire(EST("numerical")).contexts)
    best = np.asarray(acquire(LogEI()).contexts)
    for draw in range(NUM_DRAWS):
        expected = float(maximum(one(case, draw), best[draw]))
        assert estimates[draw] == pytest.approx(expected, abs=1e-9)


def test_the_published_estimate_starts_from_the_largest_observation(
    case: Case, acquire: Any
) -> None:
    """``m_0 + a b sqrt(pi / 2)``, with a the exceedance at m_0 and b from the one a unit above."""
    estimates = np.asarray(acquire(EST("published")).contexts)
    least = observations().y[:7].max()
    predict = jax.jit(lambda posterior, x: posterior.predict(x))
    for draw in range(NUM_DRAWS):
        mean, variance = map(np.asarray, predict(one(case, draw), case.search.candidates))
        bounds = np.array([[least], [least + 1.0]])
        a, above = 1.0 - norm.cdf((bounds - mean) / np.sqrt(variance + 1e-12)).prod(1)
        spread = np.sqrt(-0.5 / np.log(above))
        assert 0.01 < a * spread < 10.0
        np.testing.assert_allclose(estimates[draw], least + a * spread * np.sqrt(0.5 * np.pi))


def test_log_ei_is_the_log_of_the_mean_improvement(case: Case, acquire: Any) -> None:
    """The mean is over draws, each with its best posterior mean as incumbent."""
    acquisition = acquire(LogEI())
    points = case.points[::31]
    normal = np.linspace(-9.0, 9.0, 9001)
    density = norm.pdf(normal) * (normal[1] - normal[0])
    predict, improvements = jax.jit(lambda posterior, x: posterior.predict(x)), []
    for draw in range(NUM_DRAWS):
        posterior = one(case, draw)
        both = np.concatenate([posterior.x[:7], points])
        mean, variance = (np.asarray(moment) for moment in predict(posterior, both))
        incumbent, mean, variance = mean[:7].max(), mean[7:], variance[7:]
        assert np.isclose(acquisition.contexts[draw], incumbent)
        gaps = mean[:, None] + np.sqrt(variance)[:, None] * normal - incumbent
        improvements.append(np.maximum(gaps, 0.0) @ density)
    expected = np.mean(improvements, axis=0)
    assert expected.min() > 1e-4
    assert np.allclose(np.exp(evaluate(acquisition, points)), expected, rtol=1e-3)


def test_the_best_observation_can_be_the_incumbent(case: Case, acquire: Any) -> None:
    """It is the same for all draws, although their posterior means differ."""
    posterior = one(case, 0)
    factor = np.linalg.inv(posterior.whitener[:7, :7])
    y = factor @ factor.T @ posterior.alpha[:7]
    incumbents = np.asarray(acquire(LogEI("value")).contexts)
    np.testing.assert_allclose(incumbents, [y.max()] * NUM_DRAWS, rtol=1e-6)
    assert not np.allclose(acquire(LogEI()).contexts, incumbents, rtol=1e-3)


def test_log_eqi_is_the_log_of_the_mean_improvement_after_a_noisy_value(
    case: Case, acquire: Any
) -> None:
    """The reference conditions the process on one more value, drawn from its prediction."""
    points = np.concatenate([case.points[::31], np.asarray(case.posteriors.x)[0, :2]])
    normal = np.linspace(-9.0, 9.0, 9001)
    density = norm.pdf(normal) * (normal[1] - normal[0])
    covariances = jax.jit(lambda posterior, x: posterior.covariance(x, x))
    improvements = []
    for draw in range(NUM_DRAWS):
        posterior = one(case, draw)
        known, noise = posterior.x[:7], float(posterior.noise)
        factor = np.linalg.inv(posterior.whitener[:7, :7])
        y = factor @ factor.T @ posterior.alpha[:7]
        incumbent = (np.asarray(covariances(posterior, known)) @ posterior.alpha[:7]).max()
        improvements.append([])
        for point in points[:, None]:
            gram = np.asarray(covariances(posterior, np.concatenate([known, point])))
            noisy = gram + noise * np.eye(8)
            mean = gram[7, :7] @ posterior.alpha[:7]
            explained = gram[7, :7] @ np.linalg.solve(noisy[:7, :7], gram[:7, 7])
            values = mean + np.sqrt(gram[7, 7] - explained + noise) * normal
            after = np.linalg.solve(noisy, gram[:, 7])
            gains = np.maximum(after[:7] @ y + after[7] * values - incumbent, 0.0)
            improvements[-1].append(gains @ density)
    expected = np.mean(improvements, axis=0)
    assert expected.min() > 1e-6
    found = np.exp(evaluate(acquire(LogEQI()), points))
    assert np.allclose(found, expected, rtol=2e-3)
    assert (found < np.exp(evaluate(acquire(LogEI()), points))).all()


def test_without_noise_log_eqi_is_log_ei() -> None:
    grid = np.meshgrid(np.linspace(-2.0, 2.0, 9), [1e-6, 0.1, 1.0])
    mean, deviation = (jnp.asarray(axis.ravel()) for axis in grid)
    found = LogEQI().score(mean, deviation, jnp.array([0.3, 0.0]))
    assert np.allclose(found, LogEI().score(mean, deviation, jnp.array(0.3)), rtol=1e-9)
