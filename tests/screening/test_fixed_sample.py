"""The test of a fixed sample size: exact errors, and counts of groups over all placements."""

from functools import cache
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom, chi2, kstest, ncx2

from structbo.screening import fixed_sample
from structbo.screening.fixed_sample import (
    difference_statistic,
    expected_evaluations,
    is_active,
    least_variance,
    pairs_needed,
    threshold,
)


def test_differences_of_a_constant_are_a_chi_square() -> None:
    rng = np.random.default_rng(0)
    first, second = 3.0 + np.sqrt(0.2) * rng.normal(size=(2, 2000, 7))
    statistics = [difference_statistic(row, 0.2) for row in first - second]
    assert kstest(statistics, chi2(7).cdf).pvalue > 0.01


@pytest.mark.parametrize("alpha", [0.3, 0.05, 1e-4])
@pytest.mark.parametrize(("variance", "bound"), [(0.5, 0.5), (0.5, 3.0), (4.0, 4.0), (2.0, 20.0)])
def test_both_errors_are_bounded(alpha: float, variance: float, bound: float) -> None:
    """Squared differences are 0 or the bound, so that the type II error is a finite sum."""
    n = pairs_needed(alpha, variance, bound)
    limit = threshold(n, alpha)
    assert chi2.sf(limit, n) == pytest.approx(alpha)
    counts = np.arange(n + 1)
    chance = binom.pmf(counts, n, variance / bound)
    errors = np.where(counts == 0, chi2.cdf(limit, n), 0.0)
    errors[1:] = ncx2.cdf(limit, n, bound * counts[1:])
    assert chance @ errors <= alpha


def test_the_printed_count() -> None:
    """By hand: 16 (1 + sqrt 4)^2 / 9 = 16, 2 (12 / 3)^2 = 32, and at least 2."""
    assert pairs_needed(0.1, 3.0, 3.0) == int(np.ceil(16 * np.log(20)))
    assert pairs_needed(0.1, 3.0, 12.0) == int(np.ceil(32 * np.log(20)))
    assert pairs_needed(0.1, 1e4, 1e4) == int(np.ceil(2 * np.log(20)))
    assert least_variance(2.0, 0.1, 0.2, (3.0, 4.0)) == pytest.approx(
        2.0 * 0.01 / (4096 * 16 * np.log(6.0 / 0.02))
    )


def test_decisions() -> None:
    """Two differences of deviation one: the chi-square exceeds 4.6 with probability .1."""
    assert not is_active([1.5, 1.5], noise=0.5, alpha=0.1)
    assert is_active([1.6, 1.5], noise=0.5, alpha=0.1)


def groups_tested(num_dims: int, active: frozenset[int], alpha: float) -> float:
    """The expected number of groups, if only inactive ones are misjudged, by recursion."""

    @cache
    def expected(first: int, last: int) -> float:
        chance = 1.0 if active & frozenset(range(first, last)) else alpha
        middle = (first + last) // 2
        if last - first == 1:
            return 1.0
        return 1.0 + chance * (expected(first, middle) + expected(middle, last))

    return expected(0, num_dims)


@pytest.mark.parametrize("alpha", [0.0, 0.1, 0.3])
@pytest.mark.parametrize("num_active", [1, 2, 3])
def test_the_bound_holds_below_the_root_for_all_placements(alpha: float, num_active: int) -> None:
    counts = [
        groups_tested(16, frozenset(active), alpha)
        for active in combinations(range(16), num_active)
    ]
    bound = expected_evaluations(num_active, 16, alpha, per_group=1.0)
    assert max(counts) - 1.0 <= bound
    if num_active == 1 and alpha == 0.0:
        assert max(counts) == bound + 1.0  # the printed bound leaves out the root


@pytest.mark.parametrize(
    ("name", "arguments", "message"),
    [
        ("threshold", (0, 0.1), "num_pairs must be"),
        ("threshold", (3, 1.0), "alpha must be a number between 0 and 1"),
        ("pairs_needed", (0.1, 2.0, 1.0), "bound must be finite and at least variance=2.0, got 1"),
        ("pairs_needed", (0.1, 0.0, 1.0), "variance must be positive"),
        ("least_variance", (1.0, 1.0, 0.1), "bandwidth must be at most .* 0.104, got 1.0"),
        ("expected_evaluations", (2, 8, 0.5, 1.0), "alpha must be at least 0 and less than 1/2"),
        ("difference_statistic", ([1.0], 0.0), "noise must be positive"),
    ],
)
def test_numbers_out_of_range(name: str, arguments: tuple[Any, ...], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        getattr(fixed_sample, name)(*arguments)
