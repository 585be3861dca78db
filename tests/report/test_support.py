"""Claims of a report about the whole space, from runs that a search has chosen."""

import numpy as np
import pytest
from adaptive_runs import FUNCTIONS, greedy_search, total_shares
from scipy.stats import norm

from structbo import Categorical, Integer, Ordinal, Space
from structbo.posterior import Calibration, Importances, Shares
from structbo.report.evidence import Evidence
from structbo.report.support import MAX_UNEXPLAINED, Support, most_frequent, outranked

SPREAD = np.full(64, 4.0)
"""Variances of predictions over the space."""


def calibration(observed: np.ndarray, mean: np.ndarray, deviation: np.ndarray) -> Calibration:
    level = norm.cdf((observed - mean) / deviation)
    return Calibration(observed, mean, deviation, level, np.full(len(mean), 100.0))


def clustered(far_error: float) -> Calibration:
    """20 runs side by side that others predict, and 10 far from all others, with some error."""
    rng = np.random.default_rng(0)
    observed = np.concatenate([50.0 + rng.normal(size=20), 10.0 * rng.normal(size=10)])
    error = np.concatenate([np.full(20, 0.1), far_error * rng.normal(size=10)])
    return calibration(observed, observed + error, np.repeat([0.1, 3.0], [20, 10]))


def shares(mean: list[float], half: float) -> Shares:
    center = np.array(mean)
    lower, upper = np.maximum(center - half, 0.0), np.minimum(center + half, 1.0)
    return Shares(center, lower, upper, *np.zeros((2, *center.shape)))


def importances(total: Shares) -> Importances:
    names = tuple("abcdefgh"[: len(total.mean)])
    zero = Shares(*(np.zeros_like(total.mean) for _ in total))
    square = Shares(*(np.zeros((len(names),) * 2) for _ in total))
    return Importances(names, zero, total, square, Shares(*np.zeros((5, 1))))


def test_runs_beside_others_are_no_test_of_predictions_elsewhere():
    """Nearly all of the variation is between the cluster and the rest, and well predicted."""
    runs = clustered(far_error=12.0)
    assert runs.explained > 0.8
    support = Support.of(runs, 10.0 * np.random.default_rng(1).normal(size=64), SPREAD)
    np.testing.assert_array_equal(np.flatnonzero(support.is_far), np.arange(20, 30))
    assert support.unexplained == 1.0
    good = Support.of(clustered(far_error=1.0), 10.0 * np.sin(np.arange(64)), SPREAD)
    assert good.unexplained < 0.15


def test_what_the_model_says_it_does_not_know_counts():
    mean = 2.0 * np.sqrt(2.0) * np.sin(2.0 * np.pi * np.arange(64) / 64)  # of variance 4
    assert Support.of(clustered(far_error=0.0), mean, SPREAD).unexplained == pytest.approx(0.5)


def test_without_runs_far_from_others_nothing_is_known():
    runs = clustered(far_error=0.0).chosen(np.arange(30) < 24)
    mean = 100.0 * np.sin(np.arange(64))
    assert Support.of(runs, mean, SPREAD).unexplained == 1.0


def test_widened_intervals_contain_the_share_whatever_is_unexplained():
    """A predicted part with known shares, and an unexplained one of a single parameter."""
    unexplained = 0.3
    known = np.array([0.6, 0.3, 0.1])
    for culprit in range(3):
        truth = (1.0 - unexplained) * known + unexplained * np.eye(3)[culprit]
        support = Support(np.ones(9, bool), unexplained)
        found = support.widened(importances(shares(known.tolist(), 0.0))).total
        assert (found.lower <= truth + 1e-12).all() and (truth <= found.upper + 1e-12).all()


def test_whether_a_share_matters_is_unknown_once_its_interval_is_widened():
    """A share of at least 0.5 % in all draws may be smaller in the whole function."""
    certain = shares([0.2, 0.005], 0.0)._replace(matters=np.ones(2))
    found = Support(np.ones(9, bool), 0.1).widened(importances(certain))
    assert all(np.isnan(kind.matters).all() for kind in found[1:])


def test_only_intervals_that_separate_are_ranked():
    top, is_less = outranked(importances(shares([0.2, 0.6, 0.5, 0.1], 0.15)))
    assert top == 1 and is_less.tolist() == [True, False, False, True]
    widened = Support(np.ones(9, bool), 0.4).widened(importances(shares([0.2, 0.6], 0.15)))
    assert not outranked(widened)[1].any()


def test_most_frequent_values():
    space = Space(
        {
            "t": (20.0, 120.0),
            "rate": (1e-4, 1.0, "log"),
            "base": Categorical(["K2CO3", None]),
            "acid": Categorical(["HCl", "HBr", "HI", "HF", "H2SO4", "HNO3"]),
            "size": Ordinal([16, 32, 64]),
            "layers": Integer(1, 9),
            "nm": (1549.0, 1551.0),
        }
    )
    X = space.snap(
        [
            [0.6, 0.3, 1.0, 0.2, 0.5, 0.0, 0.1],
            [0.7, 0.3, 1.0, 0.2, 0.0, 0.1, 0.2],
            [1.0, 0.9, 0.0, 0.2, 0.5, 0.9, 0.9],
        ]
    )
    assert most_frequent(space, X) == [
        "70 to 95 in 2 of 3 runs",
        "0.001 to 0.01 in 2 of 3 runs",
        "None in 2 of 3 runs",
        "HBr in 3 of 3 runs; never HCl, HI, HF, H2SO4 and 1 more",
        "32 in 2 of 3 runs; never 64",
        "1 to 3 in 2 of 3 runs",
        "1549.0 to 1549.5 in 2 of 3 runs",
    ]


@pytest.mark.nightly
def test_claims_from_runs_that_a_search_has_chosen_hold():
    """At least 11 of 12 greedy searches lead to no wrong claim.

    A claim is an interval of a share in the table, or an order of two parameters. The posterior by
    itself is wrong more often, so the test would notice if nothing were widened.
    """
    right, right_by_posterior, num_tables = [], [], 0
    for name in FUNCTIONS:
        for seed in range(2):
            optimizer = greedy_search(name, seed)
            evidence, truth = Evidence(optimizer, 0), total_shares(name, optimizer)
            assert evidence.importances is not None
            raw = optimizer.posterior.importances()
            right_by_posterior.append(holds(raw, truth))
            is_told = evidence.support.unexplained <= MAX_UNEXPLAINED
            num_tables += is_told
            right.append(not is_told or holds(evidence.importances, truth))
    assert np.mean(right) >= 0.9
    assert np.mean(right_by_posterior) < 0.8
    assert num_tables >= 4


def holds(importances: Importances, truth: np.ndarray) -> bool:
    """Whether all shares are in their intervals, up to two percentage points, and orders right."""
    total = importances.total
    inside = (total.lower - 0.02 <= truth) & (truth <= total.upper + 0.02)
    top, is_less = outranked(importances)
    return bool(inside.all() and (truth[is_less] < truth[top]).all())
