"""Calibration: how well the process predicts every observation from all others."""

from typing import NamedTuple

import numpy as np
from jax import Array
from jaxtyping import Bool, Float, Key

from structbo.models import MarginalGP
from structbo.posterior.draws import PosteriorDraws


class Calibration(NamedTuple):
    """Predictions of every observation from all others, in the units of `Posterior.units`.

    Args:
        observed: the observations.
        mean: means of their predictive distributions.
        deviation: standard deviations of the predictive distributions, noise included.
        level: predicted probability of a value below the observed one. Calibrated predictions have
            levels spread evenly over [0, 1].
        effective_draws: effective number of draws behind each prediction, after weighting.
    """

    observed: Float[np.ndarray, " n"]
    mean: Float[np.ndarray, " n"]
    deviation: Float[np.ndarray, " n"]
    level: Float[np.ndarray, " n"]
    effective_draws: Float[np.ndarray, " n"]

    def num_inside(self, probability: float = 0.9) -> int:
        """How many observations are inside their central predictive interval.

        Args:
            probability: mass of the interval, the expected share of observations inside.

        Example:
            >>> evenly = np.linspace(0.05, 0.95, 10)
            >>> Calibration(*4 * [evenly], np.ones(10)).num_inside(0.8)
            8
        """
        return int((np.abs(self.level - 0.5) <= probability / 2).sum())

    def chosen(self, which: Bool[np.ndarray, " n"]) -> "Calibration":
        """The predictions of some observations.

        Args:
            which: whether to keep each observation.
        """
        return Calibration(*(values[which] for values in self))

    @property
    def explained(self) -> float:
        """The share of the variance of the observations that the predictions explain.

        One minus the ratio of two mean squared errors: the predictive means over the averages of
        all other observations. Zero or less if the process predicts no better than these averages.
        """
        n = len(self.observed)
        size = np.abs(self.observed).max(initial=0.0) or 1.0  # squares of huge values overflow
        observed, mean = self.observed / size, self.mean / size
        by_average = (observed - observed.mean()) * n / max(n - 1, 1)
        squares = np.square(by_average).sum()
        return 1.0 - float(np.square(observed - mean).sum() / squares) if squares else 0.0


def posterior_calibration(posterior: PosteriorDraws) -> Calibration:
    """The predictions of all observations; see `Posterior.calibration`."""
    from scipy.stats import norm

    n = len(posterior.y)
    if n < 2:
        raise ValueError(f"calibration needs at least two observations, got {n}.")
    mean, variance = map(np.asarray, posterior.map_observations(_predictions))
    scaled = (posterior.y - mean) / np.sqrt(variance)
    weights = truncated_weights(0.5 * (np.log(variance) + scaled**2))

    units = posterior.units
    below = (weights * norm.cdf(scaled)).sum(0)
    center, deviation = units.moments(mean, variance, weights)
    return Calibration(
        units.values(posterior.y),
        center,
        deviation,
        below if units.is_increasing else 1.0 - below,
        1.0 / np.square(weights).sum(0),
    )


def truncated_weights(log_ratios: Float[np.ndarray, "S n"]) -> Float[np.ndarray, "S n"]:
    """Importance weights of draws, truncated so that no single draw dominates.

    Args:
        log_ratios: log of the target density over the density of the S draws, up to a constant.

    Returns:
        Weights that sum to one over the draws.

    References:
        Ionides 2008, "Truncated importance sampling": ratios are cut at their mean times the square
        root of the number of draws.

    Example:
        >>> truncated_weights(np.log([[1.0], [1.0], [1.0], [97.0]])).ravel().round(3).tolist()
        [0.019, 0.019, 0.019, 0.943]
    """
    ratios = np.exp(log_ratios - log_ratios.max(0))
    kept = np.minimum(ratios, ratios.mean(0) * np.sqrt(len(ratios)))
    return np.asarray(kept / kept.sum(0))


def _predictions(
    likelihood: MarginalGP, key: Key[Array, ""], y: Float[Array, " n"]
) -> tuple[Float[Array, " n"], Float[Array, " n"]]:
    return likelihood.leave_one_out(y)
