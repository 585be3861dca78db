"""Bounds on the cumulative regret of confidence bounds, EST and batches (Kathuria et al. 2016).

The function has a Gaussian process prior with variances of at most one on a finite domain, and
observations have a known noise variance. All bounds grow with the largest information gain, see
`largest_information_gain`. Three constants of the paper are corrected, see `ucb_regret`,
`est_confidence` and `dpp_sample_regret`.
"""

import math
from collections.abc import Sequence

from structbo.models.foundation.arguments import check_fraction, check_positive, checked_count


def est_confidence(t: int, delta: float, *, is_batch: bool = False) -> float:
    """The exploration parameter zeta of EST, which the algorithm does not use.

    ``2 log(pi^2 t^2 / (6 delta))``, so that ``exp(-zeta / 2)`` over all t sums to delta. For
    batches, which need two confidence bounds at each step, delta is halved. Theorem 2.1 prints
    delta in place of 6 delta, and theorem 3.3 calls its own 3 delta twice the sequential one.

    Args:
        t: number of the step, from 1.
        delta: the bound holds with probability ``1 - delta``.
        is_batch: whether t counts batches.

    References:
        Kathuria et al. 2016, theorems 2.1 and 3.3.

    Example:
        >>> round(sum(math.exp(-0.5 * est_confidence(t, 0.1)) for t in range(1, 9999)), 4)
        0.1
    """
    check_fraction("delta", delta)
    share = 3.0 if is_batch else 6.0
    return 2.0 * math.log((math.pi * checked_count("t", t)) ** 2 / (share * delta))


def ucb_regret(num_steps: int, width: float, gain: float, noise: float) -> float:
    """A bound on the cumulative regret of an upper confidence bound, one point at a time.

    ``sqrt(C T gamma) 2 w``, with ``C = 2 / log(1 + 1 / noise)``. Theorem 2.1 prints half of it. A
    regret of two widths, which the confidence bounds allow at every step, exceeds that: with
    independent values of variance 1 the sum is exactly the bound.

    Args:
        num_steps: number of points T.
        width: the square root of beta at the last step.
        gain: the largest information gain of T observations.
        noise: noise variance.

    References:
        Srinivas et al. 2010, theorem 1; Kathuria et al. 2016, theorem 2.1; Rolland et al. 2018,
        eq. (11).

    Example:
        >>> round(ucb_regret(5, 3.0, 2.5 * math.log(2.0), noise=1.0), 6)
        30.0
    """
    return 2.0 * width * _deviations(num_steps, gain, noise)


def est_regret(num_steps: int, width: float, zeta: float, gain: float, noise: float) -> float:
    """A bound on the cumulative regret of EST, one point at a time.

    ``sqrt(C T gamma) (w + sqrt(zeta))``, with C as in `ucb_regret`.

    Args:
        num_steps: number of points T.
        width: the largest width of EST over all steps, see `EstimationWidth`.
        zeta: `est_confidence` at the last step.
        gain: the largest information gain of T observations.
        noise: noise variance.

    References:
        Wang, Zhou and Jegelka 2016, theorem 3.1; Kathuria et al. 2016, theorem 2.1.

    Example:
        >>> round(est_regret(5, 3.0, 4.0, 2.5 * math.log(2.0), noise=1.0), 6)
        25.0
    """
    return (width + math.sqrt(zeta)) * _deviations(num_steps, gain, noise)


def two_stage_regret(
    sequential: float, widening: float, largest: float, num_uncertain: int
) -> float:
    """A bound on the cumulative regret of two-stage BUCB and B-EST, see `TwoStage`.

    ``C' R + 2 |f| T_init``: the first stage may lose the range of the function at each point.

    Args:
        sequential: bound on the regret one point at a time, `ucb_regret` or `est_regret`.
        widening: the factor C' of confidence bounds, see `widening`.
        largest: the largest absolute value of the function.
        num_uncertain: number of points of the first stage.

    References:
        Desautels, Krause and Burdick 2014, theorem 5; Kathuria et al. 2016, theorem 3.2.

    Example:
        >>> two_stage_regret(10.0, widening=1.5, largest=2.0, num_uncertain=3)
        27.0
    """
    return widening * sequential + 2.0 * largest * num_uncertain


def dpp_max_regret(
    num_batches: int, batch_size: int, width: float, gain: float, noise: float
) -> float:
    """A bound on the cumulative regret of all points of UCB-DPP-MAX or EST-DPP-MAX.

    ``6 w sqrt(T B gamma / log(1 + 1 / noise))``.

    Args:
        num_batches: number of batches T.
        batch_size: their size B.
        width: the square root of beta at the last batch; for EST, the largest width plus the square
            root of `est_confidence`.
        gain: the largest information gain of ``T B`` observations.
        noise: noise variance.

    References:
        Kathuria et al. 2016, theorem 3.3; for EST, it prints the square root of the width.

    Example:
        >>> round(dpp_max_regret(2, 5, 1.0, 5.0 * math.log(2.0), noise=1.0) ** 2, 6)
        1800.0
    """
    return 3.0 * math.sqrt(2.0) * width * _deviations(num_batches * batch_size, gain, noise)


def dpp_sample_regret(
    num_batches: int,
    batch_size: int,
    width: float,
    gain: float,
    noise: float,
    entropies: Sequence[float],
    num_points: int,
) -> float:
    """A bound on the expected cumulative regret of UCB-DPP-SAMPLE or EST-DPP-SAMPLE.

    The gain of `dpp_max_regret` is replaced by twice ``gamma - sum_t H_t + T B log(N)``. Theorem
    3.4 prints ``B log(N)``. An entropy may be close to ``(B - 1) log(N)``, so after some batches
    that sum is negative. Each batch has its own ``B log(N)``, from the number of its sets. Since
    no entropy exceeds it, the bound is never below `dpp_max_regret`.

    Args:
        num_batches: number of batches T.
        batch_size: their size B.
        width: as in `dpp_max_regret`.
        gain: the largest information gain of ``T B`` observations.
        noise: noise variance.
        entropies: entropy of the k-DPP of each batch with ``k = B - 1``, see
            `structbo.samplers.kdpp_entropy`.
        num_points: number of points of the domain, N.

    Raises:
        ValueError: if there are not T entropies.

    References:
        Kathuria et al. 2016, theorem 3.4.

    Example:
        >>> most = dpp_max_regret(2, 3, 1.0, 4.0, noise=0.1)
        >>> dpp_sample_regret(2, 3, 1.0, 4.0, 0.1, entropies=[2.0, 2.5], num_points=10) > most
        True
    """
    if len(entropies) != num_batches:
        raise ValueError(
            f"entropies must have one entry for each of num_batches={num_batches}, got "
            f"{len(entropies)}."
        )
    freedom = num_batches * batch_size * math.log(checked_count("num_points", num_points))
    loose = 2.0 * (gain - sum(entropies) + freedom)
    return dpp_max_regret(num_batches, batch_size, width, loose, noise)


def _deviations(number: int, gain: float, noise: float) -> float:
    """A bound on the sum of the deviations at chosen points.

    Variances v of at most one are bounded by ``log(1 + v / noise) / log(1 + 1 / noise)``, whose sum
    is twice the gain.
    """
    check_positive("noise", noise)
    return math.sqrt(2.0 * number * gain / math.log1p(1.0 / noise))
