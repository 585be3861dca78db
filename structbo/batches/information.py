"""The information that observations give about a Gaussian process at finitely many points."""

import math

import numpy as np
from jaxtyping import Float


def information_gain(covariance: Float[np.ndarray, "n n"], noise: float) -> float:
    """The mutual information of the function at n points and noisy observations there, in nats.

    It is ``log det(I + K / noise) / 2``.

    Args:
        covariance: prior covariance K of the function at the points.
        noise: noise variance of an observation.

    References:
        Srinivas et al. 2010, section 2; Kathuria et al. 2016, section 2.

    Example:
        >>> round(information_gain(np.eye(3), 1.0) / math.log(2.0), 6)
        1.5
    """
    scaled = np.eye(len(covariance)) + np.asarray(covariance) / noise
    return 0.5 * float(np.linalg.slogdet(scaled)[1])


def greedy_information_gain(
    covariance: Float[np.ndarray, "m m"], noise: float, number: int
) -> float:
    """The gain of points chosen sequentially, each with the largest variance given the ones before.

    It is at least ``1 - 1 / e`` of the largest gain of any set of this size.

    Args:
        covariance: prior covariance of the function at the candidates.
        noise: noise variance of an observation.
        number: how many points to choose; all candidates if there are fewer.

    References:
        Krause and Guestrin 2005, "Near-optimal nonmyopic value of information in graphical models";
        Srinivas et al. 2010, section 2.

    Example:
        >>> greedy_information_gain(np.diag([1.0, 3.0, 0.5]), 1.0, 1) == 0.5 * math.log(4.0)
        True
    """
    rest, gain = np.array(covariance, float), 0.0
    variances = np.diagonal(rest).copy()
    for _ in range(min(number, len(rest))):
        index = int(np.argmax(variances))
        gain += 0.5 * math.log1p(rest[index, index] / noise)
        column = rest[:, index] / math.sqrt(rest[index, index] + noise)
        rest -= np.outer(column, column)
        variances = np.where(np.isneginf(variances), -np.inf, np.diagonal(rest))
        variances[index] = -np.inf
    return gain


def largest_information_gain(
    covariance: Float[np.ndarray, "m m"], noise: float, number: int
) -> float:
    """An upper bound on the gain of any set of this size, gamma in bounds of the regret.

    The smaller of the greedy gain divided by ``1 - 1 / e`` and the gain of all candidates.

    Args:
        covariance: prior covariance of the function at the candidates.
        noise: noise variance of an observation.
        number: the size of the sets.

    References:
        Srinivas et al. 2010, section 2.

    Example:
        >>> largest_information_gain(np.eye(3), 1.0, 3) == information_gain(np.eye(3), 1.0)
        True
    """
    greedy = greedy_information_gain(covariance, noise, number) / (1.0 - math.exp(-1.0))
    return min(greedy, information_gain(covariance, noise))
