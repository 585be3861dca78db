"""The test of a fixed sample size for an active group, and bounds on sample sizes.

The test rejects "no active parameter" if finite differences vary more than noise does. It is for
comparison: its sample sizes are far larger than a sequential test's, see `Hypotheses`.
"""

import math

import numpy as np
from numpy.typing import ArrayLike

from structbo.models.foundation.arguments import check_fraction, check_positive, checked_count


def difference_statistic(differences: ArrayLike, noise: float) -> float:
    """The sum of squared differences in units of their noise, a chi-square of a constant function.

    Args:
        differences: differences of pairs of observations at random places of a diagonal, shape
            (n,).
        noise: variance of the noise of one observation.

    Returns:
        ``X_n = sum(differences^2) / (2 noise)``. It is a chi-square with n degrees of freedom if no
        parameter of the group is active, otherwise a non-central one.

    References:
        Chen, Castro and Krause 2012, section 3.2, before proposition 3.1.

    Example:
        >>> difference_statistic([1.0, -2.0], noise=0.5)
        5.0
    """
    check_positive("noise", noise)
    return float(np.square(np.asarray(differences, float)).sum() / (2.0 * noise))


def threshold(num_pairs: int, alpha: float) -> float:
    """The statistic above which a group is active, with a type I error of alpha.

    Args:
        num_pairs: number of differences n.
        alpha: probability of the error.

    Returns:
        A quantile of the chi-square. The type II error is at most alpha too for the n of
        `pairs_needed`, because the proposition's threshold is no smaller.

    References:
        Chen, Castro and Krause 2012, proposition 3.1 (tau_n).

    Example:
        >>> round(threshold(1, 0.05), 2)
        3.84
    """
    from scipy.stats import chi2

    check_fraction("alpha", alpha)
    return float(chi2.isf(alpha, checked_count("num_pairs", num_pairs)))


def is_active(differences: ArrayLike, noise: float, alpha: float) -> bool:
    """Whether a group has an active parameter, by a test with a fixed number of differences.

    For the arguments see `difference_statistic` and `threshold`.

    Example:
        >>> is_active([2.0, -1.0, 0.7], noise=0.1, alpha=0.01)
        True
    """
    num_pairs = len(np.asarray(differences))
    return difference_statistic(differences, noise) > threshold(num_pairs, alpha)


def pairs_needed(alpha: float, variance: float, bound: float) -> int:
    """The number of differences for which both errors of `is_active` are at most alpha.

    Squared differences of the function, in units of ``2 noise``, must lie in ``[0, bound]``.

    Args:
        alpha: probability of each error.
        variance: c, a lower bound of their mean.
        bound: M, an upper bound of all of them, at least c.

    Returns:
        ``max(2, 16 (1 + sqrt(1 + c))^2 / c^2, 2 M^2 / c^2) log(2 / alpha)``, rounded up.

    Raises:
        ValueError: if alpha is not between 0 and 1, or the others are not ``0 < c <= M``.

    References:
        Chen, Castro and Krause 2012, proposition 3.1.

    Example:
        >>> pairs_needed(0.05, variance=5.0, bound=10.0)
        30
    """
    check_fraction("alpha", alpha)
    check_positive("variance", variance)
    if not variance <= bound < math.inf:
        raise ValueError(f"bound must be finite and at least variance={variance}, got {bound}.")
    central = 16.0 * (1.0 + math.sqrt(1.0 + variance)) ** 2 / variance**2
    return math.ceil(max(2.0, central, 2.0 * (bound / variance) ** 2) * math.log(2.0 / alpha))


def least_variance(
    outputscale: float,
    bandwidth: float,
    delta: float,
    constants: tuple[float, float] = (1.0, 1.0),
) -> float:
    """The variance of differences that a sample of the process exceeds with high probability.

    Args:
        outputscale: variance of the process on [-1, 1].
        bandwidth: h of its kernel ``exp(-(x - x')^2 / h^2)``, at most ``2 / log(8 / delta)^2``.
        delta: the bound holds with probability ``1 - delta``.
        constants: a and b, which exist but which the paper does not print; with ones the value is a
            matter of scale only.

    Returns:
        ``outputscale h^2 / (4096 b^2 log(2 a / (h delta)))``. Divided by ``2 noise``, it is the
        variance of `pairs_needed`.

    Raises:
        ValueError: if a number is out of range.

    References:
        Chen, Castro and Krause 2012, theorem 3.1.

    Example:
        >>> f"{least_variance(1.0, 0.05, delta=0.1):.1e}"
        '1.0e-07'
    """
    check_fraction("delta", delta)
    for name, value in (("outputscale", outputscale), ("bandwidth", bandwidth)):
        check_positive(name, value)
    check_positive("constants", np.asarray(constants))
    largest = 2.0 / math.log(8.0 / delta) ** 2
    if bandwidth > largest:
        raise ValueError(
            f"bandwidth must be at most 2 / log(8 / delta)^2 = {largest:.3g}, got {bandwidth}."
        )
    a, b = constants
    return outputscale * bandwidth**2 / (4096.0 * b**2 * math.log(2.0 * a / (bandwidth * delta)))


def expected_evaluations(num_active: int, num_dims: int, alpha: float, per_group: float) -> float:
    """The bound on the expected number of evaluations of Hierarchical Diagonal Sampling.

    The printed bound leaves out the test of all parameters, which is the first one: with exact
    tests, one active parameter among 16 takes nine groups, and the bound is eight.

    Args:
        num_active: the number of active parameters d.
        num_dims: the number of dimensions D.
        alpha: type I error of every test, less than 1/2.
        per_group: largest expected number of evaluations of a group, ``T_max``.

    Returns:
        ``2 (1 - alpha) / (1 - 2 alpha) d ceil(log2 D) T_max``.

    Raises:
        ValueError: if alpha is not between 0 and 1/2, or another number is out of range.

    References:
        Chen, Castro and Krause 2012, eq. (4).

    Example:
        >>> expected_evaluations(2, 400, alpha=0.0, per_group=10.0)
        360.0
    """
    if not 0.0 <= alpha < 0.5:
        raise ValueError(f"alpha must be at least 0 and less than 1/2, got {alpha}.")
    checked_count("num_active", num_active)
    checked_count("num_dims", num_dims, least=2)
    check_positive("per_group", per_group)
    growth = 2.0 * (1.0 - alpha) / (1.0 - 2.0 * alpha)
    return growth * num_active * math.ceil(math.log2(num_dims)) * per_group
