"""Pandas tables: rows matched by index, named columns, and trials."""

import numpy as np
import pandas as pd
import pytest

from structbo import Categorical, Fixed, Integer, Space, Trial
from structbo.data import checked_data, column_names, in_order_of, trial_frame, trials_in

X = pd.DataFrame({"b": [0.1, 0.2, 0.3], "a": [0.4, 0.5, 0.6]}, index=["p", "q", "r"])


def test_values_follow_the_index_of_their_points():
    shuffled = pd.Series([3.0, 1.0, 2.0], index=["r", "p", "q"])
    for y in (shuffled, shuffled.to_frame()):
        assert np.ravel(in_order_of(X, y)).tolist() == [1.0, 2.0, 3.0]
    points, values = checked_data(X, shuffled)
    np.testing.assert_array_equal(points, X.to_numpy())
    np.testing.assert_array_equal(values, [1.0, 2.0, 3.0])


@pytest.mark.parametrize("y", [[3.0, 1.0, 2.0], (3.0, 1.0, 2.0), np.array([3.0, 1.0, 2.0])])
def test_values_without_an_index_keep_their_order(y):
    assert in_order_of(X, y) is y
    series = pd.Series(y, index=["r", "p", "q"])
    assert in_order_of(X.to_numpy(), series) is series


def test_the_same_index_may_repeat_labels():
    repeated, y = X.set_axis([0, 0, 1]), pd.Series([1.0, 2.0, 3.0], index=[0, 0, 1])
    assert in_order_of(repeated, y) is y


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        ([0, 1, 2], "'p' is only in the index of X"),
        (["p", "q", "r", "s"], "'s' is only in the index of y"),
        (["p", "q", "q"], "'r' is only in the index of X"),
        (["p", "q", "r", "r"], "'r' is twice in the index of y"),
    ],
)
def test_another_index_is_refused(labels, message):
    y = pd.Series(np.arange(len(labels), dtype=float), index=labels)
    with pytest.raises(ValueError, match=rf"same index.*{message}.*y\.to_numpy\(\)"):
        in_order_of(X, y)


def test_names_of_columns():
    assert column_names(X) == ("b", "a")
    assert column_names(pd.DataFrame(np.eye(2))) == ()
    assert column_names(X.to_numpy()) == ()


SPACE = Space(
    {
        "x": (-1.0, 1.0),
        "value": Integer(1, 5),
        "f": Fixed("adam"),
        "act": Categorical(["a", None, True, (1, 2)]),
    }
)
TRIALS = [
    Trial(0, {"x": 0.1, "value": 3, "f": "adam", "act": None}).told(0.1),
    Trial(1, {"x": -1.0, "value": 5, "f": "adam", "act": True}).told(np.nan),
    Trial(2, {"x": 0.3, "value": 1, "f": "adam", "act": "a"}, "waiting"),
    Trial(3, {"x": 0.7, "value": 1, "f": "adam", "act": (1, 2)}, "pending"),
    Trial(4, {"x": 1.0}, "withdrawn"),
]


def test_trials_come_back_from_their_table():
    frame = trial_frame(TRIALS, SPACE)
    assert list(frame.columns) == ["number", "x", "params_value", "f", "act", "value", "state"]
    assert trials_in(frame, SPACE) == TRIALS[:4]
    assert trials_in(frame.iloc[:, ::-1].drop(columns=["f", "number"]), SPACE) == TRIALS[:4]
    assert [type(t.params["value"]) for t in trials_in(frame, SPACE)] == [int] * 4


def test_trials_come_back_from_a_file(tmp_path):
    box = Space.box([[-1.0, 1.0], [0.0, 10.0]])
    trials = [Trial(i, np.array([0.1 * i, 0.7])).told(np.exp(i)) for i in range(3)]
    trial_frame(trials, box).to_csv(tmp_path / "trials.csv", index=False)
    assert trials_in(pd.read_csv(tmp_path / "trials.csv"), box) == trials


def test_without_states_values_that_are_not_finite_are_failures():
    table = pd.DataFrame({"x0": [0.1, 0.2, 0.3], "value": [1.0, np.nan, np.inf]}, index=[7, 7, 0])
    states = [(t.number, t.state) for t in trials_in(table, Space([(0.0, 1.0)]))]
    assert states == [(0, "complete"), (1, "failed"), (2, "failed")]


@pytest.mark.parametrize(
    ("frame", "error", "message"),
    [
        ([{"x": 0.5}], TypeError, "frame must be a pandas DataFrame with a row per trial"),
        (pd.DataFrame({"x": [0.5]}), ValueError, "must have the column 'value', got .'x'"),
        (
            pd.DataFrame({"x": [0.5, 2.0], "value": 1.0}),
            ValueError,
            r"frame\[1\]\['x'\]: value must",
        ),
        (pd.DataFrame({"value": [1.0]}), ValueError, "missing 'x'"),
        (
            pd.DataFrame({"xs": [0.5], "value": 1.0}),
            ValueError,
            r"missing 'x' \(did you mean 'xs'",
        ),
        (
            pd.DataFrame({"x": [0.5, 0.6], "value": ["48.7", "48,7"]}),
            ValueError,
            "'value' of frame must be numbers, got '48,7'",
        ),
        (
            pd.DataFrame({"x": [0.5], "value": 1, "state": "done"}),
            ValueError,
            "must hold wai.*'done'",
        ),
    ],
)
def test_tables_of_trials_that_are_none_are_named(frame, error, message):
    with pytest.raises(error, match=message):
        trials_in(frame, Space({"x": (0.0, 1.0)}))


def test_other_columns_of_a_spreadsheet_are_ignored_with_one_message():
    """Other columns may stand between the parameters."""
    frame = pd.DataFrame(
        {"date": ["1 May", "8 May"], "x": [0.1, 0.2], "value": [1.0, 2.0], "note": [None, "hot"]}
    )
    with pytest.warns(UserWarning) as record:
        trials = trials_in(frame, Space({"x": (0.0, 1.0)}))
    assert [str(w.message) for w in record] == [
        "frame has other columns, which are ignored: 'date', 'note'."
    ]
    assert trials == [Trial(0, {"x": 0.1}).told(1.0), Trial(1, {"x": 0.2}).told(2.0)]


def test_a_row_at_fault_has_its_label_also_beside_withdrawn_ones():
    states = ["withdrawn", "complete", "complete"]
    frame = pd.DataFrame({"x": [0.1, 0.2, 3.0], "value": 1.0, "state": states})
    with pytest.raises(ValueError, match=r"frame\[2\]\['x'\]: value must be in"):
        trials_in(frame, Space({"x": (0.0, 1.0)}))


def test_a_parameter_with_the_name_of_a_column_needs_its_own():
    frame = pd.DataFrame({"number": [1], "value": [1.0]})
    with pytest.raises(ValueError, match=r"column 'params_number' for the parameter 'number'"):
        trials_in(frame, Space({"number": Integer(1, 3)}))


def test_parameters_with_the_name_and_the_column_of_another_one_keep_their_columns():
    names = ("value", "params_value", "params_params_value", "sem", "params_number")
    space = Space({name: Integer(1, 9) for name in names})
    trials = [Trial(0, {name: k for k, name in enumerate(names, 1)}).told(0.5)]
    frame = trial_frame(trials, space)
    assert frame.columns.tolist() == [
        "number",
        "params_params_params_value",
        "params_value",
        "params_params_value",
        "params_sem",
        "params_number",
        "value",
        "state",
    ]
    assert trials_in(frame, space) == trials


def test_missing_values_and_errors_of_every_form():
    values = pd.array([1.0, None, 2.0], dtype="Float64")
    frame = pd.DataFrame({"x": [0.1, 0.2, 0.3], "value": values, "sem": [pd.NA, None, 0.5]})
    assert [(t.value, t.sem) for t in trials_in(frame, Space({"x": (0.0, 1.0)}))] == [
        (1.0, None),
        (None, None),
        (2.0, 0.5),
    ]


def test_a_pending_row_with_a_value_is_complete():
    frame = pd.DataFrame({"x": [0.1, 0.2], "value": [1.0, np.nan], "state": "pending"})
    assert trials_in(frame, Space({"x": (0.0, 1.0)})) == [
        Trial(0, {"x": 0.1}).told(1.0),
        Trial(1, {"x": 0.2}),
    ]


@pytest.mark.parametrize("empty", [None, np.nan, pd.NA, ""], ids=repr)
def test_rows_without_a_state_are_pending_until_they_have_a_value(empty):
    states = ["complete", empty, empty, "waiting"]
    values = pd.Series([1.0, 2.0, None, None], dtype=object)
    frame = pd.DataFrame({"x": [0.1, 0.2, 0.3, 0.4], "value": values, "state": states})
    found = [(t.state, t.value) for t in trials_in(frame, Space({"x": (0.0, 1.0)}))]
    assert found == [("complete", 1.0), ("complete", 2.0), ("pending", None), ("waiting", None)]


@pytest.mark.parametrize("states", [{}, {"state": None}, {"state": "complete"}], ids=str)
def test_values_may_be_texts_as_in_files(states):
    texts = ["48.7", "failed", " Failed", "\N{MINUS SIGN}2", "n/a", "inf"]
    frame = pd.DataFrame({"x": np.arange(6) / 6.0, "value": texts, **states})
    trials = trials_in(frame, Space({"x": (0.0, 1.0)}))
    assert [t.value for t in trials] == [48.7, None, None, -2.0, None, None]
    assert [t.state for t in trials].count("failed") == 4
