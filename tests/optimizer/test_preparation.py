"""The schedule on which a run prepares the programs of its next padded size."""

import math
from typing import Any

import pytest

from structbo import Space, minimize
from structbo.optimizer import Engine
from structbo.optimizer.preparation import NUM_NEXT, Ahead, num_soon


def numbers(seconds_each: float, first: int = 20, last: int = 64) -> list[int]:
    """The number of programs prepared after each observation, for a duration of evaluations."""
    now = 0.0
    ahead = Ahead(lambda: now)
    ahead.begin(first, seconds=5.0)
    found = [0]
    for n in range(first + 1, last + 1):
        now += seconds_each
        found.append(max(ahead.due(n), found[-1]))
    return found[1:]


def test_a_fast_run_begins_at_once_with_one_program_per_ask() -> None:
    found = numbers(0.3)
    assert found[:NUM_NEXT] == [*range(1, NUM_NEXT + 1)]
    assert {*found[NUM_NEXT:]} == {NUM_NEXT}


@pytest.mark.parametrize(
    ("seconds_each", "start"),
    [
        pytest.param(1.0, 45, id="four first proposals before the next size"),
        pytest.param(5.0, 52, id="when most of the size is used"),
    ],
)
def test_a_slower_run_begins_later(seconds_each: float, start: int) -> None:
    found = numbers(seconds_each)
    assert next(n for n, number in enumerate(found, start=21) if number) == start
    assert sorted(found) == found and found[-1] == NUM_NEXT
    assert all(number >= min(num_soon(n), NUM_NEXT) for n, number in enumerate(found, start=21))


@pytest.mark.parametrize("first", [52, 60, 62])
def test_a_first_proposal_from_many_observations_prepares_nothing(first: int) -> None:
    """It has just waited; the rest of the size is long enough for all other programs."""
    found = numbers(3600.0, first - 1)
    assert found[0] > 0, "another proposal with as many observations prepares"
    ahead = Ahead(lambda: 0.0)
    ahead.begin(first, seconds=5.0)
    assert ahead.due(first) == 0
    assert max(numbers(3600.0, first)) == NUM_NEXT


def test_every_size_begins_anew() -> None:
    ahead = Ahead(lambda: 0.0)
    ahead.begin(20, seconds=5.0)
    assert [ahead.due(n) for n in (21, 22)] == [1, 2]
    numbers_due = [ahead.due(n) for n in range(23, 30)]
    assert numbers_due == [*range(3, NUM_NEXT + 1), 0, 0], "nothing is left to do"
    ahead.begin(65, seconds=0.1)
    assert 64 in ahead and 128 in ahead and 256 not in ahead
    assert ahead.due(66) == 1


@pytest.mark.parametrize(("num_expected", "is_prepared"), [(65, False), (66, True)])
def test_nothing_is_prepared_that_no_proposal_will_need(
    num_expected: int, is_prepared: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The last of 65 points is proposed with 64 observations, which still fit."""
    engine = Engine(Space({"x": (0.0, 1.0)}), seed=0)
    engine.ahead.begin(20, seconds=5.0)
    prepared: list[int] = []
    monkeypatch.setattr(engine, "compile", lambda x, *_, **__: prepared.append(len(x)))
    x = engine.space.to_unit([{"x": k / 64} for k in range(63)])
    engine.prepare(x, 1, num_expected=num_expected)
    assert prepared == [65] * is_prepared


def test_minimize_says_how_many_evaluations_there_will_be(monkeypatch: pytest.MonkeyPatch) -> None:
    expected: list[float] = []
    prepare = Engine.prepare

    def recorded(self: Engine, *args: Any, num_expected: float, **options: Any) -> None:
        expected.append(num_expected)
        prepare(self, *args, num_expected=num_expected, **options)

    def failing(params: dict[str, float]) -> float:
        raise RuntimeError

    monkeypatch.setattr(Engine, "prepare", recorded)
    result = minimize(lambda p: p["x"], {"x": (0.0, 1.0)}, 3, show_progress_bar=False)
    optimizer = result.optimizer
    minimize(lambda p: p["x"], n_trials=2, optimizer=optimizer, show_progress_bar=False)
    with pytest.raises(RuntimeError):
        minimize(failing, n_trials=2, optimizer=optimizer, show_progress_bar=False)
    optimizer.ask()
    assert expected == [3, 3, 5, 5, 7, math.inf], "at every ask but the very first"
