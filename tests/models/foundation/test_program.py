"""Programs compiled in the background, before their first call."""

import logging
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from structbo.models.foundation import program
from structbo.models.foundation.program import Program


def summed(x: jax.Array, key: jax.Array, number: int) -> dict[str, jax.Array]:
    return {"sum": x.sum() + number, "key": jax.random.split(key, 2), "one": jnp.full(3, 1.0)}


def arguments(num_rows: int = 4) -> tuple[np.ndarray, jax.Array, int]:
    return np.ones((num_rows, 2)), jax.random.key(0), 5


def types(tree: Any) -> Any:
    """Shapes, types and weak types of arrays or of their descriptions."""
    return jax.make_jaxpr(lambda leaves: leaves)(tree).in_avals


@pytest.fixture
def compiled(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The functions compiled in the background."""
    noted = []
    compile_ = program.compile_lowered

    def noting(lowered: jax.stages.Lowered, *others: Any) -> None:
        noted.append(lowered)
        compile_(lowered, *others)

    monkeypatch.setattr(program, "compile_lowered", noting)
    return noted


def test_what_was_prepared_is_not_compiled_again(caplog: pytest.LogCaptureFixture) -> None:
    made = Program(summed, static=(2,))
    x, key, number = arguments()
    made.prepare(np.zeros_like(x), key, number)
    with caplog.at_level(logging.WARNING, "jax"), jax.log_compiles(True):
        assert made(x, key, number)["sum"] == 13.0
        assert not any("summed" in record.message for record in caplog.records)
        made(np.ones((5, 2)), key, number)
        assert any("summed" in record.message for record in caplog.records)


def test_zeros_have_the_shapes_and_types_of_the_result(compiled: list[Any]) -> None:
    made = Program(summed, static=(2,))
    zeros = made.prepare(*arguments())
    assert not zeros["one"].any()
    result = made(*arguments())
    assert types(zeros) == types(result)
    made.prepare(*arguments())
    assert len(compiled) == 1, "it was compiled by the call"
    again = made.prepare(*arguments())
    assert types(again) == types(result)


def test_results_have_strong_types() -> None:
    plain = jax.jit(lambda: 1.0)()
    assert plain.weak_type and not Program(lambda: 1.0)().weak_type


def test_constants_come_first() -> None:
    made = Program(lambda scale, x: scale * x, constants=(3.0,))
    assert made(2.0) == 6.0


@pytest.fixture
def may_end() -> Iterator[threading.Event]:
    """An event that background compilations of the fixture `ended` wait for."""
    event = threading.Event()
    yield event
    event.set()


@pytest.fixture
def ended(may_end: threading.Event, monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The functions compiled in the background, once `may_end` is set."""
    ended = []

    def slow(lowered: jax.stages.Lowered, *_: Any) -> None:
        may_end.wait()
        time.sleep(0.05)
        ended.append(lowered)

    monkeypatch.setattr(program, "compile_lowered", slow)
    return ended


def test_a_call_waits_for_the_same_shapes_only(may_end: threading.Event, ended: list[Any]) -> None:
    made = Program(summed, static=(2,))
    made.prepare(*arguments(4))
    assert made(*arguments(6))["sum"] == 17.0
    assert not ended
    may_end.set()
    assert made(*arguments(4))["sum"] == 13.0
    assert len(ended) == 1


def test_while_a_call_waits_other_threads_trace(may_end: threading.Event, ended: list[Any]) -> None:
    waiting, other = Program(summed, static=(2,)), Program(lambda x: 2.0 * x)
    waiting.prepare(*arguments())
    with ThreadPoolExecutor(2) as pool:
        waits = pool.submit(waiting, *arguments())
        time.sleep(0.05)
        try:
            assert pool.submit(other, 3.0).result(timeout=60) == 6.0
            assert not waits.done() and not ended
        finally:
            may_end.set()
        assert waits.result()["sum"] == 13.0


def test_threads_trace_one_after_the_other() -> None:
    """NumPyro's handlers are global to all threads."""
    traced, at_once, barrier = [], [], threading.Barrier(3)

    def slow(x: jax.Array) -> jax.Array:
        traced.append(threading.get_ident())
        at_once.append(len(traced))
        time.sleep(0.1)
        traced.pop()
        return x + 1.0

    def call(num_rows: int) -> int:
        made = Program(slow)
        barrier.wait()
        if num_rows > 1:
            made.prepare(np.ones(num_rows))
        return len(made(np.ones(num_rows)))

    with ThreadPoolExecutor(3) as pool:
        assert list(pool.map(call, [1, 2, 3])) == [1, 2, 3]
    assert at_once == [1, 1, 1]


def test_the_call_tells_what_went_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: Any) -> None:
        raise RuntimeError("out of memory")

    monkeypatch.setattr(program, "compile_lowered", fails)
    made = Program(summed, static=(2,))
    made.prepare(*arguments())
    assert made(*arguments())["sum"] == 13.0, "compiled by the call, which raises if it cannot"
