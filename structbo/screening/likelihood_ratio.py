"""Log likelihood ratios of a varying against a constant function of one variable.

Under ``H1`` the function is drawn from a Gaussian process with the covariance ``outputscale *
exp(-(z - z')^2 / bandwidth^2)``; under ``H0`` it is a constant with the same variance. Observations
have normal noise.
"""

from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Float
from numpy.typing import ArrayLike
from scipy.linalg import cho_solve, cholesky, solve_triangular


@dataclass(frozen=True)
class Hypotheses:
    """Both hypotheses about functions on [0, 1].

    Args:
        outputscale: variance of the function, ``sigma_s^2``.
        noise: variance of the noise, ``sigma^2``.
        bandwidth: ``b``, in units of the interval.
        mean: prior mean of the function.
        mean_variance: variance of a constant offset under both hypotheses, for an unknown mean. A
            large value makes the ratio independent of the mean.

    References:
        Chen, Castro and Krause 2012, sections 3.2 and 3.3.

    Example:
        >>> h = Hypotheses(outputscale=1.0, noise=0.1, bandwidth=0.05)
        >>> h.of_differences([0.1]) < 0 < h.of_differences([1.5])
        True
    """

    outputscale: float
    noise: float
    bandwidth: float
    mean: float = 0.0
    mean_variance: float = 0.0

    def with_noise(self, noise: float) -> "Hypotheses":
        """The hypotheses with another variance of the noise, at least 1e-4 of the outputscale."""
        return replace(self, noise=max(noise, LEAST_NOISE * self.outputscale))

    @property
    def spacing(self) -> float:
        """The minimum distance of finite differences: three bandwidths, at most 1/3."""
        return min(3.0 * self.bandwidth, 1.0 / 3.0)

    def pair(self, rng: np.random.Generator, *, is_fixed: bool) -> tuple[float, float]:
        """Two random positions for a finite difference, at least `spacing` apart.

        Args:
            rng: the random numbers.
            is_fixed: whether they are exactly three bandwidths apart, as in the paper.

        Raises:
            ValueError: if three bandwidths do not fit into the interval.
        """
        if not is_fixed:
            z = rng.random()
            return z, self.partner(z, rng)
        distance = 3.0 * self.bandwidth
        if distance >= 1.0:
            raise ValueError(
                f"three bandwidths must be less than the range, got bandwidth={self.bandwidth}: "
                "give a smaller bandwidth, or as_printed=False."
            )
        z = (1.0 - distance) * rng.random()
        return z, z + distance

    def partner(self, z: float, rng: np.random.Generator) -> float:
        """A random position at least `spacing` away from z, for a finite difference.

        Values of the process three bandwidths apart are almost independent. Differences over larger
        distances have the same variance, and detect smoother functions too.
        """
        left, right = max(z - self.spacing, 0.0), max(1.0 - z - self.spacing, 0.0)
        u = rng.random() * (left + right)
        return u if u < left else z + self.spacing + u - left

    def of_differences(self, differences: ArrayLike) -> float:
        """The log likelihood ratio of finite differences, as if they were independent.

        Args:
            differences: differences of observations at a distance of `spacing` or more, shape (n,).

        Returns:
            The sum of eq. (1) with the terms of eq. (2). The variance of a difference under ``H1``
            follows from the spacing: at three bandwidths it is ``2 (1 - e^-9) outputscale + 2
            noise``.
        """
        dy = np.asarray(differences, float)
        decorrelated = 1.0 - np.exp(-((self.spacing / self.bandwidth) ** 2))
        null = 2.0 * self.noise
        other = null + 2.0 * decorrelated * self.outputscale
        terms = 0.5 * (1.0 / null - 1.0 / other) * dy**2 - 0.5 * np.log(other / null)
        return float(terms.sum())

    def of_values(self, z: ArrayLike, y: ArrayLike) -> float:
        """The log likelihood ratio of observations, with all their correlations.

        Args:
            z: positions of the observations, shape (n,).
            y: the observations, shape (n,).

        Returns:
            The sum of eq. (3): by the chain rule, the ratio of the joint densities.
        """
        z, y = np.asarray(z, float), np.asarray(y, float)
        return self._log_density(z, y, 1) - self._log_density(z, y, 0)

    def of_next(
        self, z: ArrayLike, y: ArrayLike, candidates: ArrayLike, pending: ArrayLike = ()
    ) -> tuple[Float[np.ndarray, " m"], Float[np.ndarray, " m"]]:
        """Mean and deviation, under ``H1``, of the log likelihood ratio of the next observation.

        With ``y ~ N(mu_1, s_1^2)`` the ratio is a quadratic function of a normal variable, a
        shifted non-central chi-square. Its moments are written to include the case ``s_1 = s_0``.

        Args:
            z: positions of the observations, shape (n,).
            y: the observations, shape (n,).
            candidates: possible positions of the next observation, shape (m,).
            pending: positions of pending observations, shape (p,).

        Returns:
            Both for every candidate.

        References:
            Chen, Castro and Krause 2012, section 3.3, "Sampling Strategy".
        """
        null_mean, null = self._predict(z, y, candidates, pending, 0)
        mean, variance = self._predict(z, y, candidates, pending, 1)
        gap = mean - null_mean
        expected = 0.5 * (np.log(null / variance) - 1.0 + (variance + gap**2) / null)
        spread = 0.5 * (variance / null - 1.0) ** 2 + variance * gap**2 / null**2
        return expected, np.sqrt(spread)

    def _covariance(
        self, z: Float[np.ndarray, " n"], other: Float[np.ndarray, " k"], num_active: int
    ) -> Float[np.ndarray, "n k"]:
        squares = (z[:, None] - other) ** 2
        correlation = np.exp(-num_active * squares / self.bandwidth**2)
        return self.mean_variance + self.outputscale * correlation

    def _cholesky(self, z: Float[np.ndarray, " n"], num_active: int) -> Float[np.ndarray, "n n"]:
        noise = self.noise * np.eye(len(z))
        return cholesky(self._covariance(z, z, num_active) + noise, lower=True)

    def _log_density(
        self, z: Float[np.ndarray, " n"], y: Float[np.ndarray, " n"], num_active: int
    ) -> float:
        """The log density of observations, up to a constant common to both hypotheses."""
        factor = self._cholesky(z, num_active)
        whitened = solve_triangular(factor, y - self.mean, lower=True)
        return float(-0.5 * whitened @ whitened - np.log(np.diagonal(factor)).sum())

    def _predict(
        self, z: ArrayLike, y: ArrayLike, at: ArrayLike, pending: ArrayLike, num_active: int
    ) -> tuple[Float[np.ndarray, " m"], Float[np.ndarray, " m"]]:
        """Mean and variance of new observations; pending ones only reduce the variance."""
        z, y, at = (np.asarray(a, float) for a in (z, y, at))
        factor = (self._cholesky(z, num_active), True)
        mean = self.mean + self._covariance(at, z, num_active) @ cho_solve(factor, y - self.mean)
        known = np.concatenate([z, np.asarray(pending, float)])
        cross = solve_triangular(
            self._cholesky(known, num_active), self._covariance(known, at, num_active), lower=True
        )
        prior = self.mean_variance + self.outputscale + self.noise
        return mean, prior - (cross**2).sum(0)


BANDWIDTHS = (0.02, 0.05, 0.1, 0.2, 0.4)
LEAST_NOISE = 1e-4
"""Minimum variance of the noise, relative to the variance of the function."""
SAFETY = 2.0
"""Divisor of the observed variance, so that functions of less variance are found too."""
VAGUE = 100.0
"""Variance of an unknown mean, relative to the variance of the function."""


def fit_hypotheses(
    z: ArrayLike,
    y: ArrayLike,
    repeats: ArrayLike,
    *,
    outputscale: float | None = None,
    noise: float | None = None,
    bandwidth: float | None = None,
    mean: float | None = None,
) -> Hypotheses:
    """Estimates the hyper-parameters that are not given.

    Args:
        z: positions of the observations, shape (n,).
        y: the observations, shape (n,).
        repeats: repeated observations of one point.
        outputscale, noise, bandwidth, mean: known values.

    Returns:
        The noise is estimated from the repeats, at least ``1e-4`` of the outputscale; the
        outputscale from the observations, as half of their variance and at least the noise; the
        bandwidth is the most likely one of a grid. A mean that is not given stays unknown.
    """
    z, y, repeats = (np.asarray(a, float) for a in (z, y, repeats))
    if noise is None:
        noise = float(np.var(repeats, ddof=1))
    if outputscale is None:
        outputscale = max((float(np.var(y, ddof=1)) - noise) / SAFETY, noise) or 1.0
    noise = max(noise, LEAST_NOISE * outputscale)
    if mean is None:
        location = (float(np.mean([*y, *repeats] or [0.0])), VAGUE * outputscale)
    else:
        location = (mean, 0.0)
    bandwidths = BANDWIDTHS if bandwidth is None else (bandwidth,)
    fits = [Hypotheses(outputscale, noise, b, *location) for b in bandwidths]
    return max(fits, key=lambda fit: fit._log_density(z, y, 1))
