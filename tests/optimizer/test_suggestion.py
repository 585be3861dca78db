"""From a table to the next points: reproducible, legal and new for any table."""

import itertools
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from typing import Any

import jax
import numpy as np
import pandas as pd
import pytest
from short_runs import given_graphs

from structbo import Categorical, Integer, Space, SpaceExhausted, suggest
from structbo.draws import chain as chain_module
from structbo.maximizers.ascent import gradient_ascent
from structbo.optimizer import Engine

SPACE = Space({"lr": (1e-3, 1.0, "log"), "k": Integer(1, 5), "act": Categorical(["a", "b", "c"])})
FINITE = Space({"i": Integer(1, 5), "k": Integer(1, 2), "act": Categorical(["a", "b", "c"])})
BOX = np.array([[-1.0, 1.0], [0.0, 10.0]])
RUN_IN_SWEEPS = chain_module.RUN_IN_SWEEPS
NUM_INITIAL = 6
"""The default for three dimensions: with fewer values, points are quasi-random."""


def table(num_points: int, space: Space = SPACE, seed: int = 0) -> tuple[Any, np.ndarray]:
    rng = np.random.default_rng(seed)
    unit = space.snap(rng.random((num_points, space.num_dims)))
    y = np.sin(4.0 * unit[:, 0]) + unit[:, 1] * (unit[:, -1] == 0.5)
    return space.from_unit(unit), y


def keys(points: Any) -> list[tuple[Any, ...]]:
    return [tuple(point.values()) for point in points]


def assert_legal_and_new(points: Any, known: Any = (), space: Space = SPACE) -> None:
    space.to_unit(points)
    assert len({*keys(points), *keys(known)}) == len(points) + len({*keys(known)})


quick = partial(suggest, inference=given_graphs)


@pytest.fixture(scope="module", autouse=True)
def short_run_in() -> Iterator[None]:
    """Few tests here need a converged chain."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(chain_module, "RUN_IN_SWEEPS", 10)
        yield


@pytest.fixture
def full_run_in(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chain_module, "RUN_IN_SWEEPS", RUN_IN_SWEEPS)


def test_no_table_is_no_data() -> None:
    assert suggest(SPACE, None, None, 2) == suggest(SPACE, [], [], 2) == suggest(SPACE, n=2)
    with pytest.raises(ValueError, match="X has 1 points but y has 0 values"):
        suggest(SPACE, [{"lr": 0.1, "k": 3, "act": "b"}], None)


@pytest.fixture(scope="module")
def proposal() -> Any:
    return suggest(SPACE, *table(10), n=3, seed=1)


@pytest.fixture(scope="module")
def quick_proposal() -> Any:
    return quick(SPACE, *table(10), n=3, seed=1)


def test_the_seed_and_the_table_decide_the_points(proposal: Any, quick_proposal: Any) -> None:
    assert suggest(SPACE, *table(10), n=3, seed=1) == proposal
    assert suggest(SPACE, *table(10), n=3, seed=2) != proposal
    X, y = table(10)
    assert quick(SPACE, X, y[::-1], n=3, seed=1) != quick_proposal


def test_several_points_are_legal_new_and_distinct(proposal: Any) -> None:
    assert len(proposal) == 3
    assert_legal_and_new(proposal, table(10)[0])
    assert [type(value) for value in proposal[0].values()] == [float, int, str]


def test_points_are_legal_and_not_worse_than_the_best_start(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Starts: message-passing maxima, random points and neighbors. The best k is not an integer."""
    unit = SPACE.snap(np.random.default_rng(3).random((10, 3)))
    y = np.sin(4.0 * unit[:, 0]) + 20.0 * (unit[:, 1] - 0.6) ** 2
    searches: list[tuple[np.ndarray, np.ndarray]] = []

    def watched(function: Any, starts: np.ndarray, *rest: Any) -> Any:
        points, values = gradient_ascent(function, starts, *rest)
        searches.append((starts, points))
        # The number of points equals the number of starts, to avoid recompilation.
        for others in (starts, np.resize(unit, starts.shape)):
            assert values.max() >= np.max(function(others)[0])
        return points, values

    monkeypatch.setattr("structbo.maximizers.ascent.gradient_ascent", watched)
    suggest(SPACE, SPACE.from_unit(unit), y, n=3)
    assert len(searches) == 3
    for legal in itertools.chain(*searches):
        assert np.array_equal(SPACE.snap(legal), legal)


def test_maximizing_is_minimizing_the_negative(quick_proposal: Any) -> None:
    X, y = table(10)
    assert quick(SPACE, X, -y, n=3, seed=1, direction="maximize") == quick_proposal
    assert quick(SPACE, X, y, n=3, seed=1, direction="maximize") != quick_proposal


def test_numpyro_is_not_asked_to_change_the_precision(proposal: Any) -> None:
    with jax.enable_x64(False):
        assert suggest(SPACE, *table(10), n=3, seed=1) == proposal
        assert not jax.config.jax_enable_x64


def test_tables_come_in_several_formats(quick_proposal: Any) -> None:
    X, y = table(10)
    frame = pd.DataFrame(X)[["act", "lr", "k"]]
    assert quick(SPACE, frame, pd.Series(y), n=3, seed=1) == quick_proposal
    assert quick(SPACE, [list(p.values()) for p in X], y[:, None], n=3, seed=1) == quick_proposal
    spec = dict(zip(SPACE.names, SPACE.parameters, strict=True))
    assert quick(spec, X, list(y), 3, seed=1) == quick_proposal


def test_pending_points_are_not_proposed_again_and_matter(quick_proposal: Any) -> None:
    X, y = table(10)
    frame = pd.DataFrame(quick_proposal[:2])
    others = quick(SPACE, X, y, n=2, seed=1, pending=frame)
    assert_legal_and_new(others, [*X, *quick_proposal[:2]])
    assert quick(SPACE, X, y, n=2, seed=1, pending=quick_proposal[:2]) == others


@pytest.mark.parametrize("failure", [np.nan, np.inf, -np.inf, None])
def test_failures_are_as_bad_as_the_worst_value(failure: float | None) -> None:
    X, y = table(10)
    expected = quick(SPACE, X, np.append(y[:9], y[:9].max()), seed=0)
    assert quick(SPACE, X, [*y[:9], failure], seed=0) == expected


@pytest.mark.parametrize("factor", [2.0**900, 2.0**-900])
def test_the_scale_of_the_values_does_not_matter(quick_proposal: Any, factor: float) -> None:
    X, y = table(10)
    assert quick(SPACE, X, factor * y, n=3, seed=1) == quick_proposal


HARD_VALUES = {
    "zero": np.zeros(8),
    "constant": np.full(8, 0.1),
    "huge constant": np.full(8, -1e308),
    "widest": 1.7e308 * np.linspace(-1.0, 1.0, 8),
    "tiniest": np.linspace(0.0, 5e-324, 8),
    "offset": 1e8 + np.linspace(0.0, 1e-6, 8),
    "outlier": np.array([1e300, *range(7)]),
    "failures": np.array([np.nan, np.inf, *range(6)]),
}


@pytest.mark.parametrize("y", HARD_VALUES.values(), ids=HARD_VALUES)
def test_no_values_break_the_search(y: np.ndarray) -> None:
    X, _ = table(8)
    assert_legal_and_new(quick(SPACE, X, y), X)


@pytest.mark.usefixtures("full_run_in")
@pytest.mark.parametrize(
    "y",
    [
        pytest.param(y, marks=() if name == "constant" else pytest.mark.nightly)
        for name, y in HARD_VALUES.items()
    ],
    ids=HARD_VALUES,
)
def test_no_values_break_it(y: np.ndarray) -> None:
    X, _ = table(8)
    assert_legal_and_new(suggest(SPACE, X, y, n=3), X)


@pytest.mark.usefixtures("full_run_in")
def test_repeated_points_are_no_problem() -> None:
    X, y = table(8)
    assert_legal_and_new(suggest(SPACE, [*X, *X], [*y, *(y + 0.1)], n=3), X)
    assert_legal_and_new(suggest(SPACE, X[:1] * 8, y, n=3), X[:1])


@pytest.mark.parametrize("num_points", [0, 1, 2, NUM_INITIAL - 1])
def test_first_points_are_quasi_random(num_points: int) -> None:
    """They depend on the number of points, and not on values."""
    X, y = table(num_points)
    points = suggest(SPACE, X, y, n=4)
    assert_legal_and_new(points, X)
    assert points == suggest(SPACE, X, -3.0 * y, n=4)
    assert points != suggest(SPACE, X, y, n=4, seed=1)


def test_points_without_any_finite_value_are_quasi_random() -> None:
    X, _ = table(10)
    points = suggest(SPACE, X, [np.nan] * 10, n=2)
    assert_legal_and_new(points, X)
    assert points == suggest(SPACE, X, [np.inf] * 10, n=2)


def test_num_initial_says_when_the_model_takes_over() -> None:
    X, y = table(10)
    late = quick(SPACE, X, y, num_initial=11)
    assert late == quick(SPACE, X, -y, num_initial=11)
    assert late != quick(SPACE, X, y, num_initial=10)
    assert_legal_and_new(quick(SPACE, X[:1], y[:1], num_initial=1), X[:1])


def test_first_points_fill_the_space_evenly() -> None:
    """In 32 points of a Sobol sequence, levels of a discrete variable are equally frequent."""
    points = suggest(SPACE, None, [], n=32)
    for name, levels in (("k", range(1, 6)), ("act", "abc")):
        counts = [sum(point[name] == level for point in points) for level in levels]
        assert max(counts) - min(counts) <= 3
    halves = sum(point["lr"] < 10**-1.5 for point in points)
    assert halves == 16


def test_the_points_of_one_after_the_other_are_those_of_many() -> None:
    points: Any = []
    for _ in range(4):
        points += suggest(SPACE, points, [0.0] * len(points))
    assert points == suggest(SPACE, [], [], n=4)


def every_point() -> list[dict[str, Any]]:
    return [{"i": i, "k": k, "act": a} for i in range(1, 6) for k in (1, 2) for a in "abc"]


@pytest.mark.parametrize("num_initial", [1, 100], ids=["model", "quasi-random"])
def test_the_last_points_of_a_finite_space_are_found(num_initial: int) -> None:
    grid = every_point()
    ask = partial(quick, FINITE, grid[2:], np.arange(28.0), num_initial=num_initial)
    assert sorted(keys(ask(n=2))) == sorted(keys(grid[:2]))
    assert ask(pending=[grid[0]]) == [grid[1]]
    with pytest.raises(SpaceExhausted, match=r"3 new points .* 30 points in all and 28 of them"):
        ask(n=3)
    with pytest.raises(SpaceExhausted, match=r"1 new points .* and 30 of them"):
        ask(pending=[*grid[:2], grid[0]])
    assert issubclass(SpaceExhausted, ValueError)


def test_the_last_points_of_a_large_finite_space_are_found() -> None:
    """Random points rarely hit them: here 2 of 20 000."""
    space = Space([Integer(0, 19_999)])
    X = np.delete(np.arange(20_000), [77, 12_345])[:, None]
    points = suggest(space, X, np.full(19_998, np.nan), n=2)
    assert sorted(point["x0"] for point in points) == [77, 12_345]


def test_a_box_has_arrays_for_points(monkeypatch: pytest.MonkeyPatch) -> None:
    assert np.array_equal(suggest(BOX, np.empty((0, 2)), [], n=1), suggest(BOX, [], []))
    unit = np.random.default_rng(0).random((6, 2))
    X, y = BOX[:, 0] + unit * np.ptp(BOX, axis=1), (unit**2).sum(1)

    def propose(_: Engine, x: np.ndarray, values: np.ndarray, *rest: Any, sem: None) -> np.ndarray:
        assert np.allclose(x, unit) and np.array_equal(values, -y)
        return np.array([[0.0, 0.5], [0.25, 1.0]])

    monkeypatch.setattr(Engine, "propose", propose)
    for space, table, column in ((BOX, X, y[:, None]), (Space.box(BOX), X.tolist(), y)):
        points = suggest(space, table, column, n=2)
        assert isinstance(points, np.ndarray)
        assert np.allclose(points, [[-1.0, 5.0], [-0.5, 10.0]])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"y": [1.0]}, "X has 2 points but y has 1 values"),
        ({"y": [[1.0, 2.0]]}, r"y must have shape \(m,\), got \(1, 2\)"),
        ({"y": 1.0}, r"y must have shape \(m,\), got \(\)"),
        ({"y": ["low", "high"]}, "y must be numbers"),
        ({"y": ["1.0", "2.0"]}, "y must be numbers"),
        ({"y": [1.0, "2.0"]}, "y must be numbers"),
        ({"y": [1.0, 2.0j]}, "y must be numbers"),
        ({"y": np.array([1.0, 2.0j])}, "y must be numbers"),
        ({"y": np.array([None, 2.0j], object)}, "y must be numbers"),
        ({"n": 0}, "n must be .* at least 1, got 0"),
        ({"n": 1.5}, "n must be an integer"),
        ({"n": True}, "n must be an integer"),
        ({"direction": "min"}, "direction must be .* got 'min'"),
        ({"X": [{"lr": 2.0, "k": 1, "act": "a"}] * 2}, "'lr'.*2.0"),
        ({"X": [{"lr": 0.1, "k": 6, "act": "a"}] * 2}, "'k'.*6"),
        ({"X": [{"lr": 0.1, "k": 1, "act": "d"}] * 2}, "'act'.*'d'"),
        ({"X": [{"lr": 0.1, "k": 1, "akt": "a"}] * 2}, "unknown 'akt'.*mean 'act'"),
        ({"X": [[0.1, 1]] * 2}, "must hold 3 values"),
        ({"pending": [{"lr": 9.0, "k": 1, "act": "a"}]}, "'lr'.*9.0"),
    ],
)
def test_bad_input_is_named(arguments: dict[str, Any], message: str) -> None:
    X, y = table(2)
    with pytest.raises(ValueError, match=message):
        suggest(**{"space": SPACE, "X": X, "y": y, **arguments})


FRESH = """
import jax, structbo
assert not jax.config.jax_enable_x64
space = {"x": (0.0, 1.0)}
result = structbo.minimize(lambda p: (p["x"] - 0.3) ** 2, space, 7, show_progress_bar=False)
assert not jax.config.jax_enable_x64
assert jax.numpy.ones(1).dtype == "float32"
assert abs(result.best_params["x"] - 0.3) < 0.05, result.best_params
"""


@pytest.mark.nightly
def test_a_process_in_single_precision_stays_there() -> None:
    """Imports and compilation run under JAX's default flags, for one variable."""
    subprocess.run([sys.executable, "-W", "error", "-c", FRESH], check=True, timeout=600)
