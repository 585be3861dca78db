"""Screenings of functions that fail at the same points whenever they are evaluated there."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

import structbo as sb

BOX = sb.Space.box([[0.0, 1.0]] * 32)


def failing_above(limit: float) -> Callable[[np.ndarray], float]:
    """A function of one parameter that fails where another one is large."""
    return lambda x: np.nan if x[5] > limit else float(x[3] ** 2)


def failed_points(trials: Sequence[sb.Trial]) -> list[tuple[float, ...]]:
    return [tuple(np.ravel(trial.params)) for trial in trials if trial.state == "failed"]


@pytest.mark.parametrize("test", ["GPT", "FDT"])
@pytest.mark.parametrize("limit", [0.99, 0.7])
def test_a_point_that_failed_is_not_asked_again(test: Any, limit: float) -> None:
    hds = sb.HierarchicalDiagonalSampling(BOX, test, budget=300, seed=1)
    hds.run(failing_above(limit))
    assert hds.is_decided and hds.active == ("x3",)
    failed = failed_points(hds.trials)
    assert 0 < len(failed) < 20
    assert len(set(failed)) == len(failed)


@pytest.mark.parametrize("test", ["GPT", "FDT"])
@pytest.mark.parametrize("noise", [None, 1e-4])
@pytest.mark.parametrize("seed", [0, 2])
def test_a_background_point_that_fails_is_replaced(
    test: Any, noise: float | None, seed: int
) -> None:
    """If the noise is known, the background point is only evaluated once a group fails."""
    hds = sb.HierarchicalDiagonalSampling(BOX, test, budget=300, seed=seed, noise=noise)
    first = hds.background
    hds.run(failing_above(0.7))
    assert hds.background[5] < 0.7 < first[5]
    assert hds.is_decided and hds.active == ("x3",)
    failed = failed_points(hds.trials)
    assert tuple(first) in failed
    assert len(set(failed)) == len(failed)
    for group in hds.groups:
        others = np.setdiff1d(np.arange(32), group.members)
        fixed = [hds.trials[number].params[others] for number in group.evaluations]
        assert len(np.unique(fixed, axis=0)) == 1, "values of two backgrounds are not compared"


def test_a_background_point_that_fails_at_times_is_kept() -> None:
    hds = sb.HierarchicalDiagonalSampling(BOX, seed=1)
    first = hds.background
    for value in (1.0, np.nan, 1.1, np.nan, np.nan):
        np.testing.assert_array_equal(hds.background, first)
        hds.tell(hds.ask(), value)
    assert not np.isclose(hds.background, first).any()


def test_many_background_points_that_fail_are_reported() -> None:
    hds = sb.HierarchicalDiagonalSampling(BOX, budget=20)
    cws = sb.CoordinatewiseSampling(BOX, 1, budget=20)
    for screening in (hds, cws):
        with pytest.warns(UserWarning, match="5 random background points failed") as warned:
            screening.run(lambda x: np.nan)
        assert len(warned) == 1
        assert len(set(failed_points(screening.trials))) == 20


@pytest.mark.parametrize("num_pending", [1, 3])
def test_coordinatewise_sampling_replaces_a_background_point_that_fails(num_pending: int) -> None:
    cws = sb.CoordinatewiseSampling(BOX, 1, num_differences=2, seed=0)
    first, objective = cws.background, failing_above(0.7)
    while not cws.is_done:
        trials = [cws.ask() for _ in range(min(num_pending, 128 - len(cws.trials)))]
        for trial in trials:
            cws.tell(trial, objective(trial.params))
    assert cws.background[5] < 0.7 < first[5]
    assert cws.active == ("x3",)
    assert len(failed_points(cws.trials)) < 12
    x = np.array([trial.params for trial in cws.trials])
    assert ((x[1::2] != x[::2]).sum(1) == 1).all(), "values of two backgrounds are not compared"


def test_pending_points_of_a_failed_background_do_not_replace_the_next_one() -> None:
    hds = sb.HierarchicalDiagonalSampling(BOX, seed=1)
    trials = [hds.ask() for _ in range(4)]
    hds.tell(trials[0])
    second = hds.background
    for trial in trials[1:]:
        hds.tell(trial)
    np.testing.assert_array_equal(hds.background, second)
    np.testing.assert_array_equal(hds.ask().params, second)


def test_levels_that_failed_are_not_asked_again() -> None:
    """All positions above one half are the same point of the binary parameter."""
    space = {"a": (0.0, 1.0), "b": sb.Integer(0, 1)}
    hds = sb.HierarchicalDiagonalSampling(space, budget=200)
    hds.run(lambda p: np.nan if p["b"] == 1 and p["a"] == hds.background[0] else 3.0 * p["a"])
    failed = [t.params for t in hds.trials if t.state == "failed"]
    assert len(failed) == 1
    assert hds.is_decided and hds.active == ("a",)
    decisions = {group.names: group.decision for group in hds.groups}
    assert decisions["b",] == "undetermined", "one level says nothing"


@pytest.mark.parametrize("test", ["GPT", "FDT"])
def test_a_screening_ends_if_all_parameters_together_cannot_be_tested(test: Any) -> None:
    hds = sb.HierarchicalDiagonalSampling([sb.Integer(0, 1)] * 8, test, budget=100)
    with pytest.warns(UserWarning, match="the screening ends without a result"):
        hds.run(lambda p: np.nan if p["x1"] == p["x2"] else float(p["x0"]))
    assert hds.is_done and len(hds.trials) < 30
    np.testing.assert_allclose(hds.active_probabilities(), 0.1)


def test_a_withdrawn_trial_did_not_fail() -> None:
    hds = sb.HierarchicalDiagonalSampling(BOX, seed=1)
    first = hds.ask()
    assert hds.withdraw(first).state == "withdrawn"
    np.testing.assert_array_equal(hds.ask().params, first.params)
    for change in (hds.tell, hds.withdraw):
        with pytest.raises(ValueError, match="trial 0 was already told or withdrawn"):
            change(first)
    assert [trial.state for trial in hds.trials] == ["withdrawn", "pending"]
