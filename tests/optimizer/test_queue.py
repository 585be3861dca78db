"""A user's points, which are evaluated before any proposal."""

import pickle
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import pytest

import structbo
from structbo import Categorical, HierarchicalDiagonalSampling, Integer, Optimizer, SpaceExhausted
from structbo.optimizer import Engine

SPACE = {"a": (0.0, 1.0), "c": Categorical(["u", "v"])}
MANY = 100
"""More quasi-random points than any test here evaluates: no model, hence fast."""
OWN: list[dict[str, Any]] = [{"a": 0.25, "c": "v"}, {"a": 0.75, "c": "u"}]
minimize = partial(structbo.minimize, show_progress_bar=False)


@pytest.fixture
def optimizer() -> Optimizer:
    return Optimizer(SPACE, num_initial=MANY)


def states(optimizer: Optimizer) -> list[str]:
    return [t.state for t in optimizer.trials]


def cost(params: dict[str, Any]) -> float:
    return float(params["a"] + (params["c"] == "u"))


def test_the_queue_comes_first_and_in_its_order(optimizer: Optimizer) -> None:
    assert [optimizer.enqueue(point).state for point in OWN] == ["waiting"] * 2
    optimizer = pickle.loads(pickle.dumps(optimizer))
    trials = [optimizer.ask(), *optimizer.ask(2)]
    assert [t.params for t in trials[:2]] == OWN
    assert [t.number for t in trials] == [0, 1, 2]
    assert states(optimizer) == ["pending"] * 3
    assert optimizer.tell(trials[1], 2.0).state == "complete"


def test_a_point_may_be_evaluated_again(optimizer: Optimizer) -> None:
    for point in (OWN[0], OWN[0]):
        optimizer.enqueue(point)
        optimizer.tell(optimizer.ask(), 1.0)
    assert [t.params for t in optimizer.trials] == [OWN[0]] * 2


def test_points_of_the_queue_are_pending_for_those_proposed_with_them(
    monkeypatch: pytest.MonkeyPatch, optimizer: Optimizer
) -> None:
    """They count as asked for: the quasi-random sequence continues after them."""
    seen: list[tuple[np.ndarray, int]] = []

    def propose(
        self: Engine, x: np.ndarray, y: np.ndarray, pending: np.ndarray, n: int, *, sem: None
    ) -> np.ndarray:
        seen.append((pending, n))
        return np.full((n, 2), 0.5)

    first = optimizer.ask()
    optimizer.enqueue(OWN[1])
    monkeypatch.setattr(Engine, "propose", propose)
    assert len(optimizer.ask(3)) == 3
    ((pending, n),) = seen
    np.testing.assert_array_equal(pending, optimizer.space.to_unit([first.params, OWN[1]]))
    assert n == 2


def test_withdrawn_points_of_the_queue_wait_again(optimizer: Optimizer) -> None:
    optimizer.enqueue(OWN[0])
    lost = optimizer.ask()
    assert optimizer.withdraw(lost).state == "waiting"
    assert optimizer.ask() == lost
    optimizer.withdraw(lost)
    assert optimizer.withdraw(lost).state == "withdrawn"
    assert optimizer.ask().number == 1


def test_a_waiting_trial_cannot_be_told(optimizer: Optimizer) -> None:
    trial = optimizer.enqueue(OWN[0])
    with pytest.raises(ValueError, match="trial 0 waits in the queue: ask for it first"):
        optimizer.tell(trial, 1.0)
    assert states(optimizer) == ["waiting"]


def test_a_value_at_a_point_of_the_queue_completes_its_trial(optimizer: Optimizer) -> None:
    """A pending trial at the point goes first."""
    asked = [optimizer.enqueue(OWN[0]), optimizer.ask(), optimizer.enqueue(OWN[0])][1]
    optimizer.enqueue(OWN[1])
    told = [optimizer.tell(OWN[0], 1.0), optimizer.tell(OWN[0], 2.0)]
    assert [t.number for t in told] == [asked.number, 1]
    optimizer.tell_frame(pd.DataFrame([{**OWN[1], "value": 3.0}]))
    assert [t.value for t in optimizer.trials] == [1.0, 2.0, 3.0]
    assert optimizer.tell(OWN[1], 4.0).number == 3, "it is new, since none waits"
    assert optimizer.ask().params not in OWN


def test_points_outside_of_the_space_are_named(optimizer: Optimizer) -> None:
    with pytest.raises(ValueError, match=r"point\['a'\]: value must be in"):
        optimizer.enqueue({"a": 2.0, "c": "u"})
    with pytest.raises(ValueError, match=r"initial_points\[1\]\['c'\]: value must be one of"):
        minimize(cost, SPACE, 3, initial_points=[OWN[0], {"a": 0.0, "c": "w"}])
    assert optimizer.trials == ()


def test_an_exhausted_space_leaves_the_queue_as_it_was() -> None:
    optimizer = Optimizer({"k": Integer(1, 2)})
    optimizer.enqueue({"k": 2})
    with pytest.raises(SpaceExhausted):
        optimizer.ask(3)
    assert states(optimizer) == ["waiting"]
    assert {t.params["k"] for t in optimizer.ask(2)} == {1, 2}


def test_the_queue_comes_before_a_screening() -> None:
    screening = HierarchicalDiagonalSampling({"a": (0.0, 1.0), "b": (0.0, 1.0)}, budget=20)
    optimizer = Optimizer(screening.space, screening=screening)
    optimizer.enqueue({"a": 0.5, "b": 0.5})
    own, first = optimizer.ask(2)
    optimizer.tell(own, 1.0)
    optimizer.tell(first, 2.0)
    assert own.params == {"a": 0.5, "b": 0.5}
    assert [t.value for t in screening.trials] == [2.0]


@pytest.mark.parametrize("table", [OWN, pd.DataFrame(OWN)], ids=["dicts", "DataFrame"])
def test_initial_points_are_evaluated_first_and_count(table: Any) -> None:
    result = minimize(cost, SPACE, 3, initial_points=table, num_initial=MANY)
    assert [t.params for t in result.trials[:2]] == OWN
    assert len(result.trials) == 3
    more = minimize(cost, None, 1, initial_points=table, optimizer=result.optimizer)
    assert len(more.trials) == 4, "points that it has had already are left out"


def test_initial_points_that_were_interrupted_are_evaluated_after_the_break() -> None:
    calls = iter(range(MANY))

    def breaking(params: dict[str, Any]) -> float:
        if next(calls) == 1:
            raise KeyboardInterrupt
        return cost(params)

    run = partial(minimize, initial_points=OWN, num_initial=MANY)
    with pytest.raises(KeyboardInterrupt) as info:
        run(breaking, SPACE, 4)
    optimizer = info.value.optimizer  # type: ignore[attr-defined]
    assert states(optimizer) == ["complete", "waiting"]
    assert run(cost, None, 3, optimizer=optimizer).trials == run(cost, SPACE, 4).trials


def test_initial_points_beyond_the_budget_wait() -> None:
    result = minimize(cost, SPACE, 1, initial_points=OWN, num_initial=MANY)
    assert states(result.optimizer) == ["complete", "waiting"]
    assert result.to_frame()["state"].tolist() == ["complete", "waiting"]
