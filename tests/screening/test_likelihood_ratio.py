"""Log likelihood ratios of the screening: densities, moments, places and estimates."""

import numpy as np
import pytest
from scipy.stats import kstest, multivariate_normal, norm

from structbo.screening.likelihood_ratio import Hypotheses, fit_hypotheses

H = Hypotheses(outputscale=1.3, noise=0.2, bandwidth=0.1, mean=0.4)


def test_noise_and_scale_are_estimated() -> None:
    rng = np.random.default_rng(0)
    z = np.linspace(0, 1, 2000)
    y = 5 + 2 * np.sin(2 * np.pi * 40 * z) + 0.3 * rng.normal(size=2000)
    fitted = fit_hypotheses(z[:400], y[:400], 5 + 0.3 * rng.normal(size=400))
    assert fitted.noise == pytest.approx(0.09, rel=0.2)
    assert fitted.outputscale == pytest.approx(2.0 / 2, rel=0.2)
    assert fitted.mean_variance > 50 * fitted.outputscale
    smooth, wiggly = (
        fit_hypotheses(z[::50], np.sin(k * z[::50]), [0.0, 0.0]).bandwidth for k in (3.0, 100.0)
    )
    assert smooth > wiggly
    known = {"outputscale": 3.0, "noise": 0.5, "bandwidth": 0.07, "mean": 1.0}
    assert fit_hypotheses([], [], [], **known) == Hypotheses(3.0, 0.5, 0.07, 1.0)


def test_ratio_of_differences_is_that_of_two_normal_densities() -> None:
    """Eq. (2) with the variance 2 (1 - exp(-9)) sigma_s^2 + 2 sigma^2 at three bandwidths."""
    differences = np.array([0.3, -1.4, 2.0])
    deviations = np.sqrt([2 * 0.2, 2 * 0.2 + 2 * 1.3 * (1 - np.exp(-9))])
    null, other = (norm.logpdf(differences, 0, deviation).sum() for deviation in deviations)
    assert H.spacing == pytest.approx(0.3)
    assert H.of_differences(differences) == pytest.approx(other - null, rel=1e-12)


def test_partners_are_uniform_over_all_places_far_enough_away() -> None:
    rng = np.random.default_rng(0)
    partners = np.array([H.partner(0.45, rng) for _ in range(4000)])
    assert (np.abs(partners - 0.45) >= 0.3).all()
    assert kstest(partners[partners < 0.45] / 0.15, "uniform").pvalue > 0.01
    assert kstest((partners[partners > 0.45] - 0.75) / 0.25, "uniform").pvalue > 0.01
    assert (partners < 0.45).mean() == pytest.approx(0.15 / 0.4, abs=0.03)


def test_printed_pairs_are_three_bandwidths_apart() -> None:
    """They are uniform over all places of the interval where such a pair fits."""
    rng = np.random.default_rng(0)
    pairs = np.array([H.pair(rng, is_fixed=True) for _ in range(4000)])
    np.testing.assert_allclose(pairs[:, 1] - pairs[:, 0], 0.3)
    assert kstest(pairs[:, 0] / 0.7, "uniform").pvalue > 0.01
    with pytest.raises(ValueError, match=r"less than the range, got bandwidth=0\.4"):
        Hypotheses(1.0, 1.0, 0.4).pair(rng, is_fixed=True)


def covariances(z: np.ndarray, mean_variance: float = 0.0) -> list[np.ndarray]:
    gaps = (z[:, None] - z) ** 2 / 0.1**2
    signal = (np.ones_like(gaps), np.exp(-gaps))
    return [mean_variance + 1.3 * k + 0.2 * np.eye(len(z)) for k in signal]


@pytest.mark.parametrize("mean_variance", [0.0, 50.0])
def test_ratio_of_values_is_that_of_the_joint_densities(mean_variance: float) -> None:
    """It therefore equals the sum of the conditional ratios of eq. (3)."""
    h = Hypotheses(1.3, 0.2, 0.1, 0.4, mean_variance)
    z, y = np.array([0.1, 0.15, 0.4, 0.9]), np.array([0.2, 0.7, -1.0, 1.5])
    null, other = (
        multivariate_normal.logpdf(y, np.full(4, 0.4), k) for k in covariances(z, mean_variance)
    )
    assert h.of_values(z, y) == pytest.approx(other - null, rel=1e-9)


def test_moments_of_the_next_ratio_are_those_of_a_simulation() -> None:
    z, y, candidates = np.array([0.1, 0.15, 0.4]), np.array([0.2, 0.7, -1.0]), np.array([0.3, 0.95])
    before = H.of_values(z, y)
    mean, deviation = H.of_next(z, y, candidates)
    rng = np.random.default_rng(0)
    for k, at in enumerate(candidates):
        # The next observation under H1, by conditioning a joint normal.
        joint = covariances(np.append(z, at))[1]
        weights = np.linalg.solve(joint[:3, :3], joint[:3, 3])
        expected = 0.4 + weights @ (y - 0.4)
        spread = np.sqrt(joint[3, 3] - weights @ joint[:3, 3])
        draws = expected + spread * rng.normal(size=4000)
        gains = [H.of_values(np.append(z, at), np.append(y, new)) - before for new in draws]
        assert np.mean(gains) == pytest.approx(mean[k], abs=4 * deviation[k] / np.sqrt(4000))
        assert np.std(gains) == pytest.approx(deviation[k], rel=0.1)


def test_first_observation_tells_nothing_and_pending_ones_make_places_less_attractive() -> None:
    at = np.linspace(0, 1, 5)
    for moments in H.of_next([], [], at):
        np.testing.assert_allclose(moments, 0.0, atol=1e-7)
    z, y = [0.5], [1.0]
    without, with_pending = (H.of_next(z, y, [0.2, 0.8], p)[0] for p in ([], [0.2]))
    assert with_pending[0] < without[0]
    assert with_pending[0] < with_pending[1]
