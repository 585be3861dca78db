"""A search with enough observations for inducing points."""

import logging

import numpy as np
import pytest

from structbo import Optimizer
from structbo.models import AdditiveGP, edges, likelihood

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
        for _ in range(18):
            trial = optimizer.ask()
            x = np.array([trial.params["a"], trial.params["b"]])
            optimizer.tell(trial, float(np.square(x - [0.3, 0.7]).sum()))
    assert waiting.params not in [trial.params for trial in optimizer.trials[1:]]
    values = [trial.value for trial in optimizer.trials[1:]]
    assert min(values[12:]) < 1e-3 < min(values[:12])
    assert [r.getMessage() for r in caplog.records] == [
        "with 12 observations, the model has 8 inducing points"
    ]
