"""Invalid input raises an error that names it, and no earlier value is lost.

Each row of the table is a call with one bad argument. The error is a `TypeError` or a `ValueError`
raised by this package, not by JAX, NumPyro or NumPy. Its message contains a word of the row, by
default the name of the argument.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pytest
from given_draws import PROBS, edge_draws, with_edges
from hypothesis import given, settings
from hypothesis import strategies as st

import structbo as sb
from structbo.models import AdditiveGP, edges, main_effects
from structbo.posterior import Posterior

NAN, INF = float("nan"), float("inf")
SPACE = sb.Space({"x": (0.0, 1.0), "k": sb.Integer(1, 8), "c": sb.Categorical(["u", "v"])})
POINT = {"x": 0.5, "k": 3, "c": "u"}
MANY = 100
"""Number of quasi-random points, which need no compilation."""
X, Y = np.random.default_rng(0).random((6, 2)), np.arange(6.0)
DRAWS = {
    "Z": np.zeros((2, 3, 2, 2), int),
    "lengthscale": np.ones((2, 3, 2)),
    "outputscale": np.ones((2, 3)),
    "noise": np.full((2, 3), 0.1),
}

Call = Callable[[Any], Any]


class Row(NamedTuple):
    """A call with a bad value, and a pattern that the message must match."""

    call: Call
    bad: Any
    words: str


def told(space: Any = SPACE, point: Any = POINT) -> sb.Optimizer:
    optimizer = sb.Optimizer(space, num_initial=MANY)
    optimizer.tell(point, 1.0)
    return optimizer


def keeps(method: str, *, plain: bool = False) -> Call:
    """A call of a method of an optimizer, which must keep all trials and continue."""

    def call(*bad: Any) -> None:
        optimizer = told([(0.0, 1.0), (0.0, 2.0)], [0.5, 0.5]) if plain else told()
        before = optimizer.trials
        try:
            getattr(optimizer, method)(*bad)
        finally:
            assert optimizer.trials == before and optimizer.ask().number == len(before)

    return call


def space_of(kind: type) -> Call:
    return lambda arguments: sb.Space({"x": kind(*arguments)})


def constraint(arguments: Any) -> sb.LinearConstraint:
    return sb.LinearConstraint(*arguments)


def with_argument(function: Callable[..., Any], name: str, **others: Any) -> Call:
    return lambda bad: function(**{**others, name: bad})


def minimize(**arguments: Any) -> sb.Result:
    defaults = {"objective": lambda point: point["x"], "space": SPACE, "n_trials": 2}
    defaults |= {"num_initial": MANY, "show_progress_bar": False}
    return sb.minimize(**{**defaults, **arguments})


def suggest(**arguments: Any) -> Any:
    defaults = {"space": SPACE, "X": [POINT], "y": [1.0], "num_initial": MANY}
    return sb.suggest(**{**defaults, **arguments})


def fit(**arguments: Any) -> Posterior:
    defaults = {"model": AdditiveGP(main_effects()), "X": X, "y": Y, "show_progress_bar": False}
    return sb.fit(**{**defaults, **arguments})


def optimizer_of(**arguments: Any) -> sb.Optimizer:
    return sb.Optimizer(SPACE, **arguments)


def posterior() -> Posterior:
    return with_edges(edge_draws(0.5), AdditiveGP(edges(PROBS)))


def rows(call: Call, words: str, bad: Sequence[Any]) -> Iterator[Row]:
    return (Row(call, value, words) for value in bad)


def rows_of(
    functions: Sequence[Callable[..., Any]], bad: dict[str, Sequence[Any]]
) -> Iterator[Row]:
    """Every bad value of every argument of every function; messages must name the argument."""
    for function in functions:
        for name, values in bad.items():
            yield from rows(with_argument(function, name), name, values)


NOT_COUNTS = (0, -1, 1.5, "3", NAN, [2], {})
NOT_NATURAL = (-1, *NOT_COUNTS[2:])
NOT_SEEDS = (-1, 1.5, "a", None, [1], 2**70, NAN)
BAD_POINTS: tuple[Any, ...] = (
    *(None, 3.5, "x", {}, {"x": 0.5}, {**POINT, "z": 1}, [POINT, POINT], object(), np.zeros(3)),
    *({**POINT, "x": x} for x in (NAN, INF, 2.0, "a", None, [0.5], np.ones(2), 1j, True)),
    *({**POINT, "k": k} for k in (2.5, 9, "3")),
    *({**POINT, "c": c} for c in ("w", None)),
)
OF_POINTS = "must (be|have|hold)"
SETTINGS: dict[str, Sequence[Any]] = {
    "seed": NOT_SEEDS,
    "num_initial": (-1, 1.5, "a", NAN, [3]),
    "criterion": ("eii", 3, None, [], sb.acquisition.UCB),
    "maximizer": ("drect", 3, None, []),
    "batch": ("qei", 3, None, []),
    "model": (3, "edges", [], AdditiveGP, edges(0.5)),
    "sampler": (3, "nuts", []),
    "inference": (3, "mcmc", []),
    "sede": (0,),
}

TABLE = [
    *rows(sb.Space, "spec|bounds|names|parameter", (None, 3, "x", {}, [], np.zeros((2, 3)))),
    *rows(
        sb.Space, "spec|bounds|names|low", (np.zeros((0, 2)), [[0.0, NAN]], [[1, 0]], {3: (0, 1.0)})
    ),
    *rows(lambda x: sb.Space({"x": x}), "'x'", (None, 3, "log", (1.0,), (0.0, 1.0, 2.0), [])),
    *rows(lambda x: sb.Space({"x": x}), "'x'", ((1.0, 0.0), (0.0, 0.0), (0.0, NAN), (-INF, 1.0))),
    *rows(lambda x: sb.Space({"x": x}), "'x'", ((0.0, 1.0, "log"), (1.0, 2.0, "lgo"), ("a", "b"))),
    *rows(lambda x: sb.Space({"x": x}), "'x'", (sb.Real, object(), (0, 1j))),
    *rows(space_of(sb.Real), "low|high", ((1.0, 0.0), (0.0, INF), (NAN, 1.0), ("a", "b"))),
    *rows(space_of(sb.Real), "low|log", ((None, 1.0), (0.0, 1.0, True), (0.0, 1.0, "yes"))),
    *rows(space_of(sb.Real), "step", [(0.0, 1.0, False, s) for s in (-1.0, 2.0, NAN, "x")]),
    *rows(space_of(sb.Integer), "low", ((8, 1), (1.5, 3), ("a", 3), (0, 8, True), (None, 3))),
    *rows(space_of(sb.Integer), "high", ((1, NAN), (1, INF))),
    *rows(space_of(sb.Categorical), "choices", [(c,) for c in ([], ["a", "a"], "ab", 3, None)]),
    *rows(space_of(sb.Categorical), "choices", [({"a": 1},), ({"a"},), ([["a"], {}],)]),
    *rows(space_of(sb.Ordinal), "choices", [(c,) for c in ([], [1, 1], "ab", 3)]),
    *rows(constraint, "weights", [(w, 0.0, 1.0) for w in (None, {}, {"a": 0.0}, {"a": NAN})]),
    *rows(constraint, "weight of 'a'", [({"a": w}, 0.0, 1.0) for w in ("x", None, 1j)]),
    *rows(constraint, "low|high", [({"a": 1.0}, *b) for b in ((), (1.0, 1.0), (NAN,), ("x",))]),
    *rows(
        lambda *given: sb.Space({"a": (0.0, 1.0), "k": sb.Integer(0, 3)}, constraints=given),
        "LinearConstraint|room",
        (
            {"a": 1.0},
            "a <= 1",
            sb.LinearConstraint({"b": 1.0}, high=1.0),
            sb.LinearConstraint({"k": 1.0}, high=1.0),
            sb.LinearConstraint({"a": 1.0}, low=1.0),
        ),
    ),
    # Ask and tell
    *rows(lambda point: keeps("tell")(point, 1.0), f"{OF_POINTS}|unknown", (*BAD_POINTS, 17, -1)),
    *rows(keeps("enqueue"), OF_POINTS, BAD_POINTS),
    *rows(
        lambda value: keeps("tell")(POINT, value),
        "value must be one number",
        (
            "a",
            [1.0],
            (1.0, 2.0, 3.0),
            np.ones(2),
            1j,
            {},
            object(),
            {"loss": 1.0},
            len,
            "1.0",
            b"1",
        ),
    ),
    *rows(
        lambda sem: keeps("tell")(POINT, (1.0, sem)),
        "sem must (be|fit)",
        (-1.0, 10**400, INF, "a", [1.0], 1j, {}, np.ones(2)),
    ),
    *rows(
        lambda point: keeps("tell", plain=True)(point, 1.0),
        OF_POINTS,
        ([0.5], [0.5] * 3, [NAN, 0.5], [3.0, 0.5], ["a", 0.5], None, "ab", [[0.5, 0.5]], {"x": 1}),
    ),
    *rows(keeps("ask"), "n must be", NOT_COUNTS),
    *rows(keeps("withdraw"), "trial", (None, "x", 17, -1, 1.5, POINT)),
    *rows(keeps("best_trials"), "n must be", (*NOT_COUNTS, None)),
    *rows(keeps("tell_frame"), "frame", (None, 3, "x", [], pd.DataFrame({"x": [1.0]}))),
    *rows(
        keeps("tell_frame"),
        "frame",
        [
            pd.DataFrame({"k": [1], **columns})
            for columns in (
                {"x": [0.5], "c": ["u"]},
                {"x": [NAN], "c": ["u"], "value": [1.0]},
                {"x": [0.5], "c": ["w"], "value": [1.0]},
                {"x": [0.5, 7.0], "c": ["u", "v"], "value": [1.0, 2.0], "k": [1, 2]},
            )
        ],
    ),
    # Settings
    *rows_of([optimizer_of, suggest, minimize], SETTINGS),
    *rows_of([optimizer_of, suggest], {"direction": ("min", "maximise", None, 1, -1, [])}),
    *rows_of([optimizer_of, minimize], {"screening": (3, "hds")}),
    # Tables of past runs
    *rows_of([suggest], {"n": NOT_COUNTS, "y": ([1.0, 2.0], [], 3, "x", None, ["a"], [1j], [{}])}),
    *rows(with_argument(suggest, "y"), "y", ([[1.0, 2.0]], {"a": 1})),
    *rows(
        with_argument(suggest, "X"),
        "X",
        (None, 3, "x", [POINT, POINT], [{}], [{**POINT, "x": NAN}], [{**POINT, "c": "w"}], [None]),
    ),
    *rows(
        with_argument(suggest, "X"), "X", (np.zeros((1, 2)), [[0.5] * 3], pd.DataFrame({"x": [0]}))
    ),
    *rows_of(
        [suggest],
        {"pending": (3, "x", [{}], [{**POINT, "x": NAN}], [{**POINT, "x": 7.0}], [None])},
    ),
    # Runs
    *rows_of(
        [minimize],
        {
            "objective": (None, 3, "x"),
            "n_trials": (*NOT_NATURAL, None),
            "timeout": ("10s", -1, NAN, [1], {}),
            "catch": (True, [ValueError], 3, "ValueError", (3,), ValueError("x")),
            "callbacks": (3, print, [3], "x", None),
            "executor": (3, "threads", []),
            "n_jobs": (*NOT_COUNTS, None, 2),
            "initial_points": (3, "x", [{}], [{**POINT, "x": NAN}], [{**POINT, "x": 7.0}], [None]),
            "optimizer": (3, "x", sb.Optimizer),
            "study_name": ("s",),
            "load_if_exists": (True,),
        },
    ),
    *rows(
        with_argument(minimize, "objective"),
        "objective <lambda> returned must be one number",
        [
            lambda _, value=value: value
            for value in ("a", [1.0], (1.0, 2.0), 1j, np.ones(2), {}, iter([1.0]), b"1", object())
        ],
    ),
    # Inference
    *rows_of(
        [fit],
        {
            "model": (None, 3, "x", AdditiveGP, lambda: 1),
            "X": (None, 3, "x", [], np.zeros(6), np.zeros((5, 2)), np.zeros((6, 0)), [[1, 2], [3]]),
            "y": (None, 3, "x", [], np.zeros(5), np.zeros((6, 2)), ["a"] * 6, np.zeros(6, complex)),
            "num_warmup": NOT_NATURAL,
            "num_samples": NOT_COUNTS,
            "num_chains": NOT_COUNTS,
            "seed": NOT_SEEDS,
            "sampler": (3, None, "nuts"),
            "names": (3, ["a"], ["a", "a"], ["a", "b", "c"], [1, 2], "abc", None),
        },
    ),
    *rows(with_argument(fit, "X"), "X", [np.full((6, 2), x) for x in (NAN, INF, 3.0, "a", 1j)]),
    *rows(with_argument(fit, "y"), "y", [np.full(6, value) for value in (NAN, INF)]),
    *rows(with_argument(fit, "model"), "MarginalGP", [lambda X, y=None, mask=None: 3]),
    *rows(lambda model: Posterior(model, X, Y, DRAWS), "model", (None, 3, "x", AdditiveGP)),
    *rows(lambda draws: Posterior(AdditiveGP(), X, Y, draws), "draws", (3, {}, [DRAWS])),
    *rows(
        lambda noise: Posterior(AdditiveGP(), X, Y, DRAWS | {"noise": noise}),
        "draws",
        (np.ones((2, 4)), np.ones(3), 0.1),
    ),
    *rows(lambda n: posterior().effect(n), "names", ("z", ["x0", "z"], ["x0", "x0"], 3, None, [])),
    *rows(lambda n: posterior().effect("x0", num_points=n), "num_points", NOT_COUNTS),
    *rows(
        lambda points: posterior().predict(points),
        "points",
        (3, "x", np.zeros((2, 2)), np.full((2, 3), NAN), np.full((2, 3), 3.0), [["a"] * 3]),
    ),
    *rows(lambda n: posterior().thinned(n), "max_draws", (*NOT_COUNTS, None)),
    *rows(lambda n: posterior().importances(max_draws=n), "max_draws", NOT_COUNTS),
    *rows(lambda seed: posterior().importances(seed=seed), "seed", NOT_SEEDS),
    *rows(lambda n: posterior().prior(num_draws=n), "num_draws", NOT_COUNTS),
    *rows(lambda seed: posterior().prior(seed=seed), "seed", NOT_SEEDS),
    # Screening and stopping
    *rows_of(
        [lambda **arguments: sb.HierarchicalDiagonalSampling(SPACE, **arguments)],
        {
            "test": ("GTP", 3, None),
            "budget": NOT_COUNTS,
            "thresholds": (3, (1.0,), (10.0, -10.0), ("a", "b"), (NAN, 1.0)),
            "noise": (-1.0, 0.0, "a", NAN),
            "outputscale": (-1.0, 0.0, "a"),
            "bandwidth": (-1.0, 0.0, "a"),
            "mean": ("a", NAN),
            "seed": NOT_SEEDS,
        },
    ),
    *rows_of([sb.StopBelowGain], {"least": (-1.0, "a", NAN, None)}),
    *rows(lambda patience: sb.StopBelowGain(1.0, patience), "patience", NOT_COUNTS),
]


def is_own_error(error: BaseException) -> bool:
    """Whether this package raised the error, by the last frame."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    assert trace is not None
    return trace.tb_frame.f_globals["__name__"].startswith("structbo.")


@pytest.mark.parametrize(("call", "bad", "words"), TABLE)
def test_it_is_an_error_that_names_it(call: Call, bad: Any, words: str):
    with pytest.raises((TypeError, ValueError), match=words) as raised:
        call(bad)
    assert is_own_error(raised.value), "raised by another library"


def test_there_are_hundreds():
    assert len(TABLE) >= 300


ODD = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=3), st.complex_numbers(),
    st.binary(max_size=2), st.lists(st.floats(), max_size=3), st.dictionaries(st.text(), st.none()),
)  # fmt: skip


@settings(max_examples=300, deadline=None)
@given(name=st.sampled_from(["x", "k", "c"]), odd=ODD, value=ODD)
def test_anything_is_told_or_refused(name: str, odd: Any, value: Any):
    """An optimizer keeps its state after an error."""
    optimizer = told()
    before = optimizer.trials
    try:
        trial = optimizer.tell({**POINT, name: odd}, value)
    except (TypeError, ValueError) as error:
        assert is_own_error(error) and optimizer.trials == before
    else:
        assert optimizer.trials == (*before, trial) and trial.is_told


@settings(max_examples=300, deadline=None)
@given(name=st.sampled_from(sorted(SETTINGS)), odd=ODD)
def test_any_setting_is_taken_or_refused(name: str, odd: Any):
    try:
        optimizer_of(**{name: odd})
    except (TypeError, ValueError) as error:
        assert is_own_error(error) and name in str(error)
