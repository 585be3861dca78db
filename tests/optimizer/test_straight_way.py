"""The number of model runs and of package calls in a suggestion."""

import sys
from collections import Counter
from collections.abc import Callable
from itertools import combinations
from pathlib import Path
from traceback import walk_stack
from typing import Any

import numpy as np
import pytest
from import_graph import FLOORS, ROOT

import structbo as sb
from structbo.maximizers import dependency_graph, make_layout, triangulate
from structbo.models import AdditiveGP

MAX_CALLS, MAX_RUNS = 1500, 12
NUM_DIMS, NUM_POINTS = 6, 25


def objective(x: np.ndarray) -> float:
    return float(np.sin(5.0 * x[0] * x[1]) + x[2] * x[3])


def counted_runs(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, ...]]:
    """The files of the package that are on the stack of every run of the model from here on."""
    runs: list[tuple[str, ...]] = []
    run = AdditiveGP.__call__

    def counted(self: AdditiveGP, *args: Any, **kwargs: Any) -> Any:
        files = [Path(frame.f_code.co_filename) for frame, _ in walk_stack(None)]
        runs.append(tuple(str(f.relative_to(ROOT)) for f in files if f.is_relative_to(ROOT)))
        return run(self, *args, **kwargs)

    monkeypatch.setattr(AdditiveGP, "__call__", counted)
    return runs


def package_calls(function: Callable[[], Any]) -> Counter[str]:
    """How often each function of the package is called in a call of a function."""
    folders = tuple(str(ROOT / floor) for floor in FLOORS)
    calls = Counter[str]()

    def count(frame: Any, event: str, _: Any) -> None:
        if event == "call" and frame.f_code.co_filename.startswith(folders):
            calls[f"{Path(frame.f_code.co_filename).name}: {frame.f_code.co_qualname}"] += 1

    sys.setprofile(count)
    try:
        function()
    finally:
        sys.setprofile(None)
    return calls


def warm_optimizer(num_dims: int, num_points: int) -> sb.Optimizer:
    """An optimizer with compiled programs."""
    optimizer = sb.Optimizer(sb.Space.box([[0.0, 1.0]] * num_dims))
    for point in np.random.default_rng(0).random((num_points, num_dims)):
        optimizer.tell(point, objective(point))
    trial = optimizer.ask()
    optimizer.tell(trial, objective(trial.params))
    return optimizer


@pytest.fixture(scope="module")
def optimizer() -> sb.Optimizer:
    return warm_optimizer(NUM_DIMS, NUM_POINTS)


def test_a_warm_ask_calls_few_functions(optimizer: sb.Optimizer) -> None:
    calls = package_calls(optimizer.ask)
    assert 100 < calls.total() <= MAX_CALLS, calls.most_common(20)


def test_a_warm_ask_that_prepares_the_next_size_calls_few_functions() -> None:
    """Another run has compiled the programs of that size."""
    warm_optimizer(10, 61).ask()
    calls = package_calls(warm_optimizer(10, 61).ask)
    assert calls["posteriors.py: Posteriors.prepared"] >= 1
    assert calls.total() <= MAX_CALLS, calls.most_common(20)


def test_message_passing_on_a_dense_graph_is_planned_in_few_calls() -> None:
    """The calls do not grow with the number of components."""
    num_dims = 20
    scopes = [np.array(list(combinations(range(num_dims), size))) for size in (1, 2, 3)]

    def plan() -> None:
        tree = triangulate(dependency_graph(scopes, num_dims), max_width=2)
        assert len(tree.clamped) == num_dims - 3
        make_layout(tree, scopes, num_grid=17, width=2)

    calls = package_calls(plan)
    assert 3 <= calls.total() <= 3 * num_dims, calls.most_common(20)


def test_a_proposal_runs_the_model_once(
    optimizer: sb.Optimizer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """When the padded size grows, one run serves all uses of posteriors, also fantasies."""
    runs = counted_runs(monkeypatch)
    for point in np.random.default_rng(1).random((70 - NUM_POINTS, NUM_DIMS)):
        optimizer.tell(point, objective(point))
    optimizer.ask(3)
    assert any("structbo/draws/chain.py" in run for run in runs)
    assert sum("structbo/draws/posteriors.py" in run for run in runs) == 1, runs


def test_a_first_suggestion_runs_the_model_few_times(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each program traces the model once or twice, in Python; what it computes does not count.

    The prior takes two runs, the start of the chain three, its steps four, the transform of the
    values one, and the posteriors of the draws one.
    """
    runs = counted_runs(monkeypatch)
    num_dims = NUM_DIMS + 1  # no other test has compiled these shapes
    X = np.random.default_rng(2).random((NUM_POINTS, num_dims))
    sb.suggest(sb.Space.box([[0.0, 1.0]] * num_dims), X, [objective(x) for x in X])
    assert 5 <= len(runs) <= MAX_RUNS, runs
