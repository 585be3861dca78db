"""Information gains and bounds on the regret, against enumeration and closed forms."""

import math
from itertools import combinations

import jax
import numpy as np
import pytest

from structbo.acquisition import FiniteDomain
from structbo.batches import (
    dpp_max_regret,
    dpp_sample_regret,
    est_confidence,
    est_regret,
    greedy_information_gain,
    information_gain,
    largest_information_gain,
    two_stage_regret,
    ucb_regret,
)
from structbo.samplers import kdpp_entropy

NOISE = 0.3


def kernel(num_points: int, lengthscale: float) -> np.ndarray:
    x = np.random.default_rng(0).random((num_points, 2))
    return np.exp(-0.5 * (((x[:, None] - x) / lengthscale) ** 2).sum(2))


def gains(K: np.ndarray, number: int, noise: float = NOISE) -> np.ndarray:
    sets = combinations(range(len(K)), number)
    return np.array([information_gain(K[np.ix_(s, s)], noise) for s in sets])


def test_information_gain_is_the_reduction_of_entropy() -> None:
    """Of observations: with minus without the function, from entropies of normal densities."""
    K = kernel(4, 0.4)
    joint = 0.5 * np.linalg.slogdet(2.0 * np.pi * np.e * (K + NOISE * np.eye(4)))[1]
    noise = 2.0 * np.log(2.0 * np.pi * np.e * NOISE)
    assert information_gain(K, NOISE) == pytest.approx(joint - noise)


@pytest.mark.parametrize("lengthscale", [0.05, 0.3, 2.0])
@pytest.mark.parametrize("number", [1, 3, 5])
def test_greedy_and_largest_gains_enclose_the_best_set(lengthscale: float, number: int) -> None:
    K = kernel(9, lengthscale) * np.linspace(0.5, 1.0, 9)[:, None] * np.linspace(0.5, 1.0, 9)
    best = gains(K, number).max()
    greedy = greedy_information_gain(K, NOISE, number)
    assert (1.0 - math.exp(-1.0)) * best <= greedy <= best * (1.0 + 1e-12)
    assert best <= largest_information_gain(K, NOISE, number) * (1.0 + 1e-12)
    if number == 1:
        assert greedy == pytest.approx(best)
    assert greedy_information_gain(K, NOISE, 99) == pytest.approx(information_gain(K, NOISE))


def test_confidence_of_est_is_a_union_bound() -> None:
    steps = range(1, 40_000)
    for is_batch, delta in ((False, 0.1), (True, 0.05)):
        zetas = [est_confidence(t, 0.1, is_batch=is_batch) for t in steps]
        assert sum(np.exp(-0.5 * np.array(zetas))) == pytest.approx(delta, rel=1e-4)


def test_ucb_and_est_lose_the_widths_of_their_confidence_bounds() -> None:
    """Equality for independent values of variance 1: their deviations and gains are known."""
    K, number = np.eye(7), 7
    gain = information_gain(K, NOISE)
    assert ucb_regret(number, 1.5, gain, NOISE) == pytest.approx(2.0 * 1.5 * 7)
    assert est_regret(number, 1.5, 4.0, gain, NOISE) == pytest.approx((1.5 + 2.0) * 7)
    # Any order of points of another process: the sum of widths is below.
    K = kernel(9, 0.3)
    rng = np.random.default_rng(1)
    for _ in range(50):
        rest, deviations = K.copy(), []
        order = rng.permutation(9)[:5]
        for index in order:
            deviations.append(np.sqrt(rest[index, index]))
            column = rest[:, index] / np.sqrt(rest[index, index] + NOISE)
            rest -= np.outer(column, column)
        own = information_gain(K[np.ix_(order, order)], NOISE)
        assert 2.0 * sum(deviations) <= ucb_regret(5, 1.0, own, NOISE)


def test_the_regret_of_a_confidence_bound_stays_below_its_bound() -> None:
    """In at least 1 - delta of runs on drawn functions; for a rarely attained bound, in all."""
    K, delta, num_steps = kernel(12, 0.3), 0.1, 10
    rng, factor = np.random.default_rng(0), np.linalg.cholesky(K + 1e-10 * np.eye(12))
    beta = FiniteDomain(12, delta)
    width = math.sqrt(float(beta(num_steps, 2)))
    # A point may be observed again, unlike in a set: every observation gains the most at once.
    gain = 0.5 * num_steps * math.log1p(1.0 / NOISE)
    for _ in range(30):
        f = factor @ rng.normal(size=12)
        mean, covariance, regret = np.zeros(12), K.copy(), 0.0
        for t in range(1, num_steps + 1):
            deviation = np.sqrt(np.diagonal(covariance))
            index = np.argmax(mean + math.sqrt(float(beta(t, 2))) * deviation)
            regret += f.max() - f[index]
            y = f[index] + math.sqrt(NOISE) * rng.normal()
            step = covariance[:, index] / (covariance[index, index] + NOISE)
            mean = mean + step * (y - mean[index])
            covariance = covariance - np.outer(step, covariance[index])
        assert regret < ucb_regret(num_steps, width, gain, NOISE)


def test_two_stages_lose_the_first_one() -> None:
    assert two_stage_regret(10.0, 2.0, 1.5, 4) == 10.0 * 2.0 + 3.0 * 4


def test_batches_have_their_closed_form() -> None:
    """36 / log(1 + 1 / noise) times T B beta gamma, for 6 independent points: 18 * 36 * beta."""
    gain = information_gain(np.eye(6), NOISE)
    assert dpp_max_regret(2, 3, 1.5, gain, NOISE) == pytest.approx(math.sqrt(18.0) * 6.0 * 1.5)


def test_the_bound_of_samples_holds_where_the_printed_one_is_negative() -> None:
    """The expected log determinant is log Z - H, at most the largest plus log C(n, k) - H."""
    K, batch_size = kernel(10, 0.3), 4
    L = np.eye(10) + K / NOISE
    sets = list(combinations(range(10), batch_size - 1))
    log_determinants = np.log([np.linalg.det(L[np.ix_(s, s)]) for s in sets])
    probabilities = np.exp(log_determinants) / np.exp(log_determinants).sum()
    entropy = kdpp_entropy(jax.random.key(0), L, batch_size - 1).value
    expected = np.log(np.exp(log_determinants).sum()) - entropy
    assert probabilities @ log_determinants == pytest.approx(expected)
    assert expected <= log_determinants.max() + batch_size * math.log(10) - entropy
    # All 40 observations give at most the gain of ten known values.
    num_batches = 10
    gain = 0.5 * 10 * math.log1p(num_batches * batch_size / NOISE)
    assert gain - num_batches * entropy + batch_size * math.log(10) < 0.0
    arguments = num_batches, batch_size, 1.0, gain, NOISE
    found = dpp_sample_regret(*arguments, [entropy] * num_batches, 10)
    assert found > dpp_max_regret(*arguments)
    bracket = gain + num_batches * (batch_size * math.log(10) - entropy)
    squared = 2.0 * num_batches * batch_size * 36.0 / math.log1p(1.0 / NOISE) * bracket
    assert found**2 == pytest.approx(squared)
    with pytest.raises(ValueError, match="entropies must have one entry for each of num_batches"):
        dpp_sample_regret(*arguments, [entropy], 10)
