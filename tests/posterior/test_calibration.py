"""Predictions of held-out observations, against refits without them."""

import numpy as np
import pytest
from given_draws import dense_covariance, observations, with_edges
from scipy.special import logsumexp
from scipy.stats import norm

from structbo import Space
from structbo.data import Transform
from structbo.models import AdditiveGP
from structbo.posterior import Calibration, Posterior, Units
from structbo.posterior.calibration import truncated_weights

EDGES = np.array([[0, 1, 0], [1, 0, 0], [0, 0, 0]])
SPACE = Space({"a": (0.0, 1.0), "b": (0.0, 1.0), "c": (0.0, 1.0)})


def refitted(K: np.ndarray, y: np.ndarray, i: int) -> tuple[float, float]:
    """Mean and variance of observation i, by the process given all others."""
    rest = np.delete(np.arange(len(y)), i)
    to_rest = np.linalg.solve(K[np.ix_(rest, rest)], K[rest, i])
    return float(to_rest @ y[rest]), float(K[i, i] - to_rest @ K[rest, i])


def test_one_draw_predicts_as_a_refit_does():
    posterior = with_edges(EDGES[None, None])
    K = dense_covariance(posterior, 0, 0)
    expected = np.array([refitted(K, posterior.y, i) for i in range(len(posterior.y))])
    found = posterior.calibration()
    np.testing.assert_allclose(found.mean, expected[:, 0], rtol=1e-7)
    np.testing.assert_allclose(found.deviation**2, expected[:, 1], rtol=1e-7)
    level = norm.cdf((posterior.y - expected[:, 0]) / np.sqrt(expected[:, 1]))
    np.testing.assert_allclose(found.level, level, atol=1e-7)
    np.testing.assert_allclose(found.effective_draws, 1.0)


def test_units_of_users_turn_the_values_around():
    one = with_edges(EDGES[None, None])
    units = Units(SPACE, Transform(-1.0, -10.0, 2.0))
    turned = Posterior(one.model, one.X, one.y, one.draws, units=units, names=("a", "b", "c"))
    model, user = one.calibration(), turned.calibration()
    np.testing.assert_allclose(user.observed, 10.0 - 2.0 * one.y)
    np.testing.assert_allclose(user.mean, 10.0 - 2.0 * model.mean)
    np.testing.assert_allclose(user.deviation, 2.0 * model.deviation)
    np.testing.assert_allclose(user.level, 1.0 - model.level)


def test_draws_are_weighted_as_if_they_had_not_seen_the_observation():
    """Over 12 noise variances the posterior is enumerated, with and without every observation."""
    X, y = observations()
    y[3] -= 0.5  # raises the noise in all draws
    noises = np.geomspace(0.01, 1.0, 12)
    fixed = {"Z": EDGES, "lengthscale": np.full(3, 0.7), "outputscale": 1.0}
    one = Posterior.at(AdditiveGP(), X, y, fixed | {"noise": 1e-3})
    K = dense_covariance(one, 0, 0) - 1e-3 * np.eye(len(y))
    noisy = [K + noise * np.eye(len(y)) for noise in noises]

    def weights(rows: np.ndarray) -> np.ndarray:
        log = [
            -0.5
            * (
                np.linalg.slogdet(C[np.ix_(rows, rows)])[1]
                + y[rows] @ np.linalg.solve(C[np.ix_(rows, rows)], y[rows])
            )
            for C in noisy
        ]
        return np.exp(np.array(log) - logsumexp(log))

    counts = np.random.default_rng(0).multinomial(4000, weights(np.arange(len(y))))
    noise = np.repeat(noises, counts)
    draws = {k: np.broadcast_to(v, (1, len(noise), *np.shape(v))) for k, v in fixed.items()}
    found = Posterior(AdditiveGP(), X, y, draws | {"noise": noise[None]}).calibration()
    for i in range(len(y)):
        without = weights(np.delete(np.arange(len(y)), i))
        means, variances = np.array([refitted(C, y, i) for C in noisy]).T
        mean = without @ means
        variance = without @ (variances + (means - mean) ** 2)
        assert found.mean[i] == pytest.approx(mean, abs=0.02)
        assert found.deviation[i] == pytest.approx(np.sqrt(variance), rel=0.04)
        level = without @ norm.cdf((y[i] - means) / np.sqrt(variances))
        assert found.level[i] == pytest.approx(level, abs=0.01)
    assert found.effective_draws.argmin() == 3


def test_no_draw_rules_by_its_weight():
    """The largest of 100 ratios, which add up to 10,099, is cut to 10 times their mean."""
    weights = truncated_weights(np.log(np.r_[np.ones(99), 1e4])[:, None])
    assert weights[-1, 0] == pytest.approx(1009.9 / (99 + 1009.9))
    assert truncated_weights(np.zeros((5, 2))).tolist() == [[0.2, 0.2]] * 5


def test_calibration_of_a_process_that_is_right():
    """For observations drawn from the prior, levels are uniform and the noise is unexplained."""
    rng = np.random.default_rng(1)
    X = rng.random((60, 3))
    values = {"Z": EDGES, "lengthscale": np.full(3, 0.5), "noise": 0.05, "outputscale": 1.0}
    one = Posterior.at(AdditiveGP(), X, np.zeros(60), values)
    y = np.linalg.cholesky(dense_covariance(one, 0, 0)) @ rng.standard_normal((60, 12))
    found = [Posterior.at(AdditiveGP(), X, column, values).calibration() for column in y.T]
    inside = sum(calibration.num_inside(0.9) for calibration in found)
    assert abs(inside / 720 - 0.9) < 0.03
    assert all(0.3 < calibration.explained < 1.0 for calibration in found)


def test_an_average_explains_nothing():
    observed = np.array([1.0, 2.0, 6.0])
    others = (observed.sum() - observed) / 2
    calibration = Calibration(observed, others, np.ones(3), np.full(3, 0.5), np.ones(3))
    assert calibration.explained == pytest.approx(0.0)


@pytest.mark.parametrize("size", [1.0, 1e160, 1.7e308])
def test_huge_values_are_explained_as_all_others_are(size: float):
    observed, mean = size * np.array([0.1, 0.5, -1.0]), size * np.array([0.1, 0.4, -0.8])
    calibration = Calibration(observed, mean, np.ones(3), np.full(3, 0.5), np.ones(3))
    squares = 0.05 / (np.square(observed / size + 2 / 15).sum() * 2.25)
    assert calibration.explained == pytest.approx(1.0 - squares)


def test_zeros_have_nothing_to_explain():
    assert Calibration(*np.zeros((5, 3))).explained == 0.0


def test_one_observation_is_too_few():
    posterior = Posterior.at(
        AdditiveGP(),
        [[0.1, 0.2]],
        [0.3],
        {"Z": 1 - np.eye(2), "lengthscale": np.ones(2), "outputscale": 1.0, "noise": 1.0},
    )
    with pytest.raises(ValueError, match="at least two observations, got 1"):
        posterior.calibration()
