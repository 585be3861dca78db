"""An objective waits for no compilation before its first call, nor does its exception."""

from collections.abc import Callable, Iterator
from threading import Event
from typing import Any

import pytest
from short_runs import minimize

from structbo import Optimizer
from structbo.models.foundation.program import Program, background
from structbo.optimizer import Engine

SPACE = {"x": (0.0, 1.0), "y": (0.0, 1.0)}


@pytest.fixture
def events(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Events: a program is compiled, by its call or in advance, or an objective is called."""
    noted: list[str] = []

    def compiles(self: Any, *args: Any, **kwargs: Any) -> None:
        noted.append("program")

    monkeypatch.setattr(Program, "__call__", compiles)
    monkeypatch.setattr(Program, "prepare", compiles)
    monkeypatch.setattr(Engine, "compile", compiles)
    return noted


def noting(events: list[str], objective: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def noted(params: dict[str, float]) -> Any:
        events.append("objective")
        return objective(params)

    return noted


def test_a_bug_in_the_objective_shows_before_anything_is_compiled(events: list[str]) -> None:
    with pytest.raises(ZeroDivisionError):
        minimize(noting(events, lambda params: 1 / 0), SPACE)
    assert events == ["objective"]


def test_several_objectives_are_refused_before_anything_is_compiled(events: list[str]) -> None:
    with pytest.raises(ValueError, match="must be one number, got"):
        minimize(noting(events, lambda params: (params["x"], params["y"])), SPACE)
    assert events == ["objective"]


def test_programs_are_compiled_from_the_first_value_on(events: list[str]) -> None:
    """They are ready when the model needs them, after four values."""
    minimize(noting(events, lambda params: params["x"]), SPACE, 3)
    assert events == ["objective", "program", "objective", "program", "objective"]


def test_the_first_points_of_ask_and_tell_wait_for_nothing(events: list[str]) -> None:
    optimizer = Optimizer(SPACE)
    trial, *_ = optimizer.ask(3)
    assert events == []
    optimizer.tell(trial, 1.0)
    optimizer.ask()
    assert events == ["program"]


@pytest.fixture
def compiling(monkeypatch: pytest.MonkeyPatch) -> Iterator[Event]:
    """An event that every preparation waits for."""
    may_end = Event()

    def slow(*_: Any, **__: Any) -> None:
        background().submit(may_end.wait, 600.0)

    monkeypatch.setattr(Engine, "compile", slow)
    yield may_end
    may_end.set()


def test_an_exception_does_not_wait_for_what_is_being_compiled(compiling: Event) -> None:
    def fails_later(params: dict[str, float]) -> float:
        if next(calls):
            raise ZeroDivisionError
        return 0.0

    calls = iter(range(9))
    with pytest.raises(ZeroDivisionError) as caught:
        minimize(fails_later, SPACE)
    assert not compiling.is_set()
    assert [t.state for t in caught.value.optimizer.trials] == ["complete", "failed"]
