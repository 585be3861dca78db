"""Objectives that raise, are interrupted, or do not return a number."""

import math
import re
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from short_runs import BOX, MANY, bowl, failing_at, maximize, minimize

from structbo import Optimizer, Trial


def test_an_exception_is_raised_with_a_note_and_the_trials_are_kept(optimizer: Optimizer) -> None:
    with pytest.raises(MemoryError, match="out of memory") as caught:
        minimize(failing_at(2, MemoryError), optimizer=optimizer)
    assert "trial 2 failed at" in caught.value.__notes__[0]
    assert "catch=Exception" in caught.value.__notes__[0]
    assert "minimize(objective, optimizer=error.optimizer)" in caught.value.__notes__[1]
    assert caught.value.optimizer is optimizer
    assert [t.state for t in optimizer.trials] == ["complete", "complete", "failed"]


def test_an_interruption_is_passed_on_with_the_optimizer() -> None:
    """This includes catch=Exception, which no interruption matches; the note has the best value."""
    with pytest.raises(KeyboardInterrupt) as caught:
        maximize(failing_at(2, KeyboardInterrupt), BOX, num_initial=MANY, catch=Exception)
    optimizer: Optimizer = caught.value.optimizer
    assert [t.state for t in optimizer.trials] == ["complete", "complete", "withdrawn"]
    (note,) = caught.value.__notes__
    assert f"best {optimizer.best.value:.6g} at" in note
    assert "maximize(objective, optimizer=error.optimizer)" in note
    maximize(bowl, None, 2, optimizer=optimizer)
    assert [t.state for t in optimizer.trials][3:] == ["complete", "complete"]


def test_an_interruption_between_evaluations_is_passed_on_with_the_optimizer() -> None:
    """The interruption comes during a callback or the search for the next point."""

    def callback(optimizer: Optimizer, trial: Trial) -> None:
        if trial.number == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt) as caught:
        minimize(bowl, BOX, num_initial=MANY, callbacks=[callback])
    assert [t.value for t in caught.value.optimizer.trials] == [
        bowl(t.params) for t in caught.value.optimizer.trials
    ]
    assert len(caught.value.optimizer.trials) == 3


def test_the_optimizer_is_kept_when_the_end_of_a_run_fails_too(
    optimizer: Optimizer, monkeypatch: pytest.MonkeyPatch
) -> None:
    def failing(trial: Trial) -> Trial:
        raise OSError("the disk is full")

    monkeypatch.setattr(optimizer, "withdraw", failing)
    with pytest.raises(OSError, match="the disk is full") as caught:
        minimize(failing_at(1, KeyboardInterrupt), optimizer=optimizer)
    first = caught.value.__context__
    assert isinstance(first, KeyboardInterrupt)
    assert first.optimizer is optimizer  # type: ignore[attr-defined]
    assert "optimizer=error.optimizer" in first.__notes__[0]


@pytest.mark.parametrize("catch", [ValueError, (KeyError, ValueError), Exception])
def test_caught_exceptions_are_failures_and_the_run_goes_on(catch: Any) -> None:
    with pytest.warns(
        UserWarning, match=r"trial 1 failed: ValueError\('out of memory'\)"
    ) as warned:
        result = minimize(failing_at(1, ValueError), BOX, 4, num_initial=MANY, catch=catch)
    assert [t.state for t in result.trials] == ["complete", "failed", "complete", "complete"]
    assert [w.filename for w in warned] == [__file__]


def test_other_exceptions_than_those_to_catch_are_raised() -> None:
    with pytest.raises(ValueError, match="out of memory"):
        minimize(failing_at(1, ValueError), BOX, 4, num_initial=MANY, catch=KeyError)


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, None])
def test_values_that_are_not_finite_are_failures(value: Any) -> None:
    with pytest.warns(UserWarning, match=f"<lambda> returned {value}, which counts as") as warned:
        result = minimize(lambda p: value if p[0] < 0 else bowl(p), BOX, 8, num_initial=MANY)
    assert {w.filename for w in warned} == {__file__}
    assert len({str(w.message) for w in warned}) == 1, "Python shows the same text once"
    assert ("return statement" in str(warned[0].message)) == (value is None)
    for trial in result.trials:
        assert trial.state == ("failed" if trial.params[0] < 0 else "complete")
    assert {t.state for t in result.trials} == {"failed", "complete"}
    assert math.isfinite(result.best_value)


@pytest.mark.filterwarnings("ignore:the objective:UserWarning")
@pytest.mark.filterwarnings("ignore:trial .* failed:UserWarning")
@pytest.mark.parametrize("objective", [lambda p: None, lambda p: math.nan, lambda p: 1 / 0])
def test_a_run_stops_when_all_initial_points_fail(objective: Callable[[Any], Any]) -> None:
    """One value is enough to continue; a continued run may fail equally often again."""
    with pytest.raises(RuntimeError, match="all 3 initial points failed") as caught:
        minimize(objective, BOX, 9, num_initial=3, catch=ZeroDivisionError)
    optimizer: Optimizer = caught.value.optimizer
    assert [t.state for t in optimizer.trials] == ["failed"] * 3
    minimize(objective, None, 2, optimizer=optimizer, catch=ZeroDivisionError)
    assert [t.state for t in optimizer.trials] == ["failed"] * 5
    optimizer.tell([0.0, 0.0], 1.0)
    minimize(objective, None, 4, optimizer=optimizer, catch=ZeroDivisionError)


@pytest.mark.parametrize(
    "value",
    ["low", "0.5", (0.1, 0.2), [0.1], np.array([0.1, 0.2]), 1j, np.complex64(1j), {"loss": 0.1}],
    ids=repr,
)
def test_an_objective_that_returns_no_number_is_named(value: Any) -> None:
    """This holds for any value of catch; the point is withdrawn, because it has no value."""

    def train(point: np.ndarray) -> Any:
        return value

    message = f"trial 0: what the objective train returned must be one number, got {value!r}."
    with pytest.raises(ValueError, match=re.escape(message)) as caught:
        minimize(train, BOX, 4, num_initial=MANY, catch=Exception)
    assert [t.state for t in caught.value.optimizer.trials] == ["withdrawn"]


def test_an_objective_that_yields_is_named() -> None:
    def train(point: np.ndarray) -> Any:
        yield bowl(point)

    with pytest.raises(ValueError, match=r"the objective train returned .* got <generator"):
        minimize(train, BOX, 4, num_initial=MANY)


@pytest.mark.parametrize(
    "number", [2, True, np.float32(2), np.array(2.0), np.array([[2.0]]), Fraction(2), Decimal(2)]
)
def test_numbers_of_all_kinds_are_values(number: Any) -> None:
    value = minimize(lambda p: number, BOX, 1).best_value
    assert type(value) is float and value == (1.0 if number is True else 2.0)
