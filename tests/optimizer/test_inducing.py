"""A search with enough observations for inducing points."""

import logging
from typing import Any

import numpy as np
import pytest

from structbo import Optimizer, suggest
from structbo.models import AdditiveGP, edges, likelihood
from structbo.optimizer import Engine

MODEL = AdditiveGP(edges(0.432))
"""A model of this test alone, so that it does not reuse programs with another limit."""


def test_a_search_finds_the_minimum_and_says_that_there_are_inducing_points(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
):
    monkeypatch.setattr(likelihood, "MAX_EXACT", 10)
    monkeypatch.setattr(likelihood, "NUM_INDUCING", 8)
    space = {"a": (0.0, 1.0), "b": (0.0, 1.0)}
    optimizer = Optimizer(space, "minimize", seed=0, num_initial=12, model=MODEL)
    waiting = optimizer.ask()
    with caplog.at_level(logging.INFO, "structbo.optimizer.engine"):
        for _ in range(20):
            trial = optimizer.ask()
            x = np.array([trial.params["a"], trial.params["b"]])
            optimizer.tell(trial, float(np.square(x - [0.3, 0.7]).sum()))
    assert waiting.params not in [trial.params for trial in optimizer.trials[1:]]
    values = [trial.value for trial in optimizer.trials[1:]]
    assert min(values[12:]) < 1e-3 < min(values[:12])
    assert [r.getMessage() for r in caplog.records] == [
        "with 12 observations, the model has 8 inducing points"
    ]


def test_a_wait_of_minutes_is_announced_before_it_begins(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def compiles(*_: Any, **__: Any) -> None:
        raise TimeoutError

    monkeypatch.setattr(Engine, "compile", compiles)
    for num_rows, num_dims, words in [
        (9_000, 2, ""),
        (30, 2_000, ""),
        (40_000, 2, "from 40000 observations takes about 3 minutes: pass fewer rows"),
        (30, 5_000, "for 5000 parameters takes about 6 minutes: fix parameters"),
    ]:
        caplog.clear()
        x = np.random.default_rng(0).random((num_rows, num_dims))
        with pytest.raises(TimeoutError):
            suggest([(0.0, 1.0)] * num_dims, x, x.sum(1))
        assert words in caplog.text and bool(words) == bool(caplog.text)
