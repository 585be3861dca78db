"""Batches from `suggest` and `Optimizer`, by every strategy."""

import math
from functools import cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from short_runs import given_graphs

import structbo as sb
from structbo.acquisition import (
    CRITERIA,
    EST,
    MES,
    UCB,
    AdditiveUCB,
    Constant,
    JointCriterion,
    LogEI,
    Thompson,
)
from structbo.batches import BATCH_STRATEGIES, CriterionScore, GroundSet, Hallucination

SPACE = sb.Space({"a": (0.0, 1.0), "k": sb.Integer(0, 4), "c": sb.Categorical(["u", "v"])})
KNOWN = SPACE.from_unit(SPACE.snap(np.random.default_rng(0).random((9, 3))))
VALUES = [(p["a"] - 0.4) ** 2 + p["k"] / 4 + (p["c"] == "v") for p in KNOWN]
PENDING = [{"a": 0.4, "k": 0, "c": "u"}]
OWN = ("constant_liar", "local_penalization", "thompson", "two_stage")
"""Strategies that do not start with the criterion's maximum if points are pending."""


SETTINGS: Any = {"inference": given_graphs}
"""Settings with given draws, since the tests are about batches only."""


def batch(of: Any, n: int = 4, **kwargs: Any) -> Any:
    kwargs |= SETTINGS | {"num_initial": 5, "pending": PENDING}
    return sb.suggest(SPACE, KNOWN, VALUES, n, batch=of, **kwargs)


first_batch = cache(batch)
"""Cached batches, shared by several tests."""


def keys(points: Any) -> list[tuple[Any, ...]]:
    return [tuple(point.values()) for point in points]


@pytest.fixture(scope="module")
def single() -> Any:
    return batch("believer", 1)


@pytest.mark.parametrize("name", BATCH_STRATEGIES)
def test_batches_are_legal_new_and_distinct(name: str, single: Any) -> None:
    """One point is pending.

    The first point of a batch is the believer's single proposal, unless the pending point has a lie
    as its value or counts as the start of the batch.
    """
    points = first_batch(name)
    assert len({*keys(points), *keys(KNOWN), *keys(PENDING)}) == len(KNOWN) + len(PENDING) + 4
    SPACE.to_unit(points)
    assert name != "constant_liar" or points[0] != single[0]
    assert name in OWN or points[0] == single[0]
    assert keys(batch(name)) == keys(points)


def asked_one_by_one(name: str) -> Any:
    optimizer = sb.Optimizer(SPACE, num_initial=5, batch=name, **SETTINGS)
    for point, value in zip(KNOWN, VALUES, strict=True):
        optimizer.tell(point, value)
    return [optimizer.ask().params for _ in range(3)]


@pytest.fixture(scope="module")
def believed() -> Any:
    return asked_one_by_one("believer")


@pytest.mark.parametrize("name", ["local_penalization", "thompson"])
def test_points_asked_one_by_one_are_a_batch_too(name: str, believed: Any) -> None:
    points = asked_one_by_one(name)
    assert points[0] == believed[0] and points[1] != believed[1]
    assert len(set(keys(points))) == 3


def test_pure_exploration_is_greedy_maximization_of_the_determinant() -> None:
    """Kathuria et al. 2016, section 3.2, with the same candidates and region."""
    assert keys(first_batch("pure_exploration")) == keys(first_batch("dpp_max"))


def test_explored_points_are_far_apart() -> None:
    """Points of the believer are close together."""

    def spread(name: str) -> float:
        unit = SPACE.to_unit(batch(name, 6))
        return np.linalg.norm(unit[:, None] - unit, axis=2)[np.triu_indices(6, 1)].mean()

    assert spread("dpp_max") > spread("believer")


def test_a_lie_is_told_what_was_observed() -> None:
    heard = []

    def lie(values: np.ndarray) -> float:
        heard.append(values)
        return 0.0

    batch(Hallucination(lie), 2)
    assert [len(values) for values in heard] == [9, 10]  # for the pending point, and the first
    observed = -np.array(VALUES)
    np.testing.assert_allclose(heard[0], (observed - observed.mean()) / observed.std())
    assert heard[1][-1] == 0.0


def test_every_point_of_a_finite_space_is_found() -> None:
    space = sb.Space(
        {"i": sb.Integer(0, 1), "k": sb.Integer(0, 4), "c": sb.Categorical(["u", "v"])}
    )
    grid = [{"i": i, "k": k, "c": c} for i in (0, 1) for k in range(5) for c in "uv"]
    known = grid[3:18]
    optimizer = sb.Optimizer(space, num_initial=2, batch="dpp_sample", **SETTINGS)
    for value, point in enumerate(known):
        optimizer.tell(point, value)
    asked = [trial.params for trial in optimizer.ask(5)]
    assert sorted(keys([*asked, *known])) == keys(grid)
    with pytest.raises(sb.SpaceExhausted, match="20 points in all and 20 of them"):
        optimizer.ask(2)


def test_width_is_that_of_the_criterion() -> None:
    half_log = math.sqrt(0.5 * math.log(2 * 7))
    mean, deviation = jnp.array([0.0, 0.2]), jnp.ones(2)
    for criterion in (LogEI(), UCB(), MES(), AdditiveUCB(), Thompson()):
        assert float(criterion.width(mean, deviation, 0.5, 7, 3)) == pytest.approx(half_log)
    for criterion in (UCB(Constant(4.0)), AdditiveUCB(4.0)):
        assert float(criterion.width(mean, deviation, 0.5, 7, 3)) == 2.0
    assert float(EST().width(mean, deviation, jnp.array(0.5), 7, 3)) == pytest.approx(0.3)
    assert float(EST().width(mean, deviation, jnp.array(0.1), 7, 3)) == 0.0


QUICK = {("log_ei", "dpp_max")}
CROSSED = [
    pytest.param(
        criterion,
        strategy,
        marks=() if (criterion, strategy) in QUICK else pytest.mark.nightly,
    )
    for strategy in ("local_penalization", "dpp_max", "thompson", "believer")
    for criterion in CRITERIA
]


@pytest.mark.parametrize(("criterion", "strategy"), CROSSED)
def test_every_strategy_works_with_every_criterion(criterion: str, strategy: str) -> None:
    points = batch(strategy, 3, criterion=criterion)
    assert len({*keys(points), *keys(KNOWN), *keys(PENDING)}) == len(KNOWN) + len(PENDING) + 3


@pytest.mark.parametrize("name", [n for n, c in CRITERIA.items() if isinstance(c, JointCriterion)])
def test_one_formula_serves_points_and_ground_sets(name: str) -> None:
    """A ground set is scored like points of one process."""
    criterion = CRITERIA[name]
    ground = GroundSet(
        np.zeros((2, 1)), np.array([0.0, 0.2]), np.diag([1.0, 0.5]), 0.1, np.ones(2, bool)
    )
    pairs = {"mes": (0.9, 1.2), "log_eqi": (0.9, 0.1), "interior_ei": (0.9, 0.25, 0.975)}
    contexts = np.array([pairs.get(name, 0.9)])
    expected = jax.jit(criterion.score)(ground.mean, ground.deviation, contexts[0])
    scores = CriterionScore(criterion, jax.jit(criterion.pooled)(contexts))(ground)
    np.testing.assert_allclose(scores, np.exp(expected) if criterion.is_log else expected)


@pytest.mark.parametrize(
    ("bad", "error"), [("qei", ValueError), (3, TypeError), (sb.batches.DPPMax, TypeError)]
)
def test_bad_strategies_are_named(bad: Any, error: type[Exception]) -> None:
    with pytest.raises(error, match="batch must be one of 'believer'"):
        sb.Optimizer(SPACE, batch=bad)
