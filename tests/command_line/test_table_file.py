"""Evaluations from CSV files, and points as CSV and JSON."""

import csv
import io
import json
import re
import tempfile
from collections.abc import Sequence
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from structbo import Categorical, Fixed, Integer, LinearConstraint, Optimizer, Ordinal, Space
from structbo.command_line.table_file import read_evaluations, written
from structbo.data import trial_values

SPACE = Space({"lr": (1e-4, 1.0, "log"), "k": Integer(1, 8), "act": Categorical([1, "b,c", None])})


def table(folder: Path, text: str) -> Path:
    path = folder / "runs.csv"
    path.write_text(text, encoding="utf-8")
    return path


def test_evaluations_failures_and_pending_points(tmp_path: Path):
    """Columns in any order, other columns, spaces, quotes, and a byte order mark."""
    text = '\ufeffnote,loss,act,k,lr\nfirst, 0.5 ,"b,c",3,0.01\n,NaN,1,8,1\n=1+1,,None,1,1e-4\n'
    found = read_evaluations(table(tmp_path, text), SPACE, "loss")
    assert found.points == [{"lr": 0.01, "k": 3, "act": "b,c"}, {"lr": 1.0, "k": 8, "act": 1}]
    np.testing.assert_array_equal(found.values, [0.5, np.nan])
    assert found.pending == [{"lr": 1e-4, "k": 1, "act": None}]


def test_the_one_other_column_has_the_values(tmp_path: Path):
    found = read_evaluations(table(tmp_path, "k,act,lr,y\n1,1,1,-2e3\n\n"), SPACE, None)
    assert found.values == [-2000.0]


def test_fixed_values_may_have_a_column(tmp_path: Path):
    space = Space({"n": Fixed(3), "x": (0.0, 1.0)})
    for text in ("x,y\n0.5,1\n", "x,n,y\n0.5,3,1\n"):
        assert space.as_legal(read_evaluations(table(tmp_path, text), space, None).points) == [
            {"n": 3, "x": 0.5}
        ]
    with pytest.raises(ValueError, match=r"line 2, column n: value is fixed at 3, got '4'"):
        read_evaluations(table(tmp_path, "x,n,y\n0.5,4,1\n"), space, None)
    assert written(space, [{"n": 3, "x": 0.5}], is_json=False) == "n,x\n3,0.5\n"


BAD: dict[str, tuple[str, str | None]] = {
    "lr,k,y\n": ("has no column 'act'; its columns are lr, k, y", None),
    "lr,k,Act,y\n": ("has no column 'act' (did you mean 'Act'?)", None),
    "": ("has no column 'lr'", None),
    "lr,k,act\n": ("has parameters only", None),
    "lr,k,act,a,b\n": ("--value must name the column of values: ", None),
    "lr,k,act,y\n": ("the column of values, got 'loss'", "loss"),
    "lr,k,act,y\n1,1,1,0,5\n": ("line 2 must have 4 cells, like the first line, got 5", None),
    "lr,k,act,y\n1,1,1,0\n5,1,1,0\n": ("line 3, column lr: ", None),
    "lr,k,act,y\n1,1.5,1,0\n": ("line 2, column k: ", None),
    "lr,k,act,y\n,1,1,0\n": ("line 2, column lr is empty", None),
    "lr,k,act,y\n1\n": ("line 2, column k is empty", None),
    "lr,k,lr,act,y\n1,1,1,1,0\n": ("has 2 columns 'lr': rename all but one", None),
    "lr,k,act,y,y\n1,1,1,0,0\n": ("has 2 columns 'y': rename all but one", "y"),
    "lr,k,act,y,sem\n1,1,1,0,-1\n": ("line 2, column sem must be a standard error", None),
    "lr,k,act,y,sem\n1,1,1,0,x\n": ("line 2, column sem must be a number, got 'x'", None),
    'lr,k,act,y\n\n1,1,"b,c",0\n"1\n2",1,1,0\n': ("line 4, column lr must be a number", None),
    "lr,k,act,y\n1,1,d,0\n": ("line 2, column act: ", None),
    "lr,k,act,y\n1,1,1,good\n": ("line 2, column y must be a number, got 'good'", None),
    'lr,k,act,y\n1,1,"1,0\n': ("is not a CSV file", None),
}


@pytest.mark.parametrize("text", BAD)
def test_what_is_no_table(text: str, tmp_path: Path):
    message, value = BAD[text]
    with pytest.raises(ValueError, match=re.escape(message)):
        read_evaluations(table(tmp_path, text), SPACE, value)


def test_what_is_written_can_be_read_again(tmp_path: Path):
    points: list[dict[str, Any]] = [
        {"lr": 0.1 + 0.2, "k": 3, "act": "b,c"},
        {"lr": 1e-4, "k": 1, "act": 1},
    ]
    text = written(SPACE, points, is_json=False)
    rows = list(csv.reader(text.splitlines()))
    done = "\n".join(f"{line},0" if n else f"{line},y" for n, line in enumerate(text.splitlines()))
    assert read_evaluations(table(tmp_path, done), SPACE, None).points == points
    assert rows[0] == ["lr", "k", "act"]
    assert json.loads(written(SPACE, points, is_json=True)) == points


CHOICES = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.text(max_size=5)
    | st.text(alphabet="\"',;\n\r\t \\aA1.0", max_size=4)
    | st.sampled_from(["1", "1.0", "True", "TRUE", "true", "None", "nan", "", " ", "yes", '"1"'])
    | st.dates()
    | st.datetimes()
    | st.tuples(st.integers(0, 1) | st.booleans(), st.text(max_size=2))
    | st.decimals(allow_nan=False, allow_infinity=False, places=2)
)


def distinct(kind: type) -> st.SearchStrategy[Any]:
    """Parameters of one kind with choices that the kind distinguishes."""

    def made(choices: list[Any]) -> Any:
        try:
            return kind(choices)
        except ValueError:  # 1 beside 1.0
            return None

    return st.lists(CHOICES, min_size=1, max_size=8).map(made).filter(bool)


@settings(max_examples=200, deadline=None, derandomize=True)
@given(distinct(Categorical), distinct(Ordinal), st.data())
def test_what_is_written_can_be_read_whatever_the_choices(
    a: Categorical, b: Ordinal, data: st.DataObject
):
    """The result is the same choice, never another one or an error."""
    space = Space({"a": a, "b": b, "x": (0.0, 1.0), "n": Fixed(a.choices[0])})
    rows = st.tuples(*map(st.sampled_from, (a.choices, b.choices)), st.floats(0.0, 1.0))
    given = data.draw(st.lists(rows, min_size=1, max_size=4))
    points = [{"a": p, "b": q, "x": x, "n": a.choices[0]} for p, q, x in given]
    with tempfile.TemporaryDirectory() as folder:
        lines = written(space, points, is_json=False).splitlines(keepends=True)
        text = "".join(
            [lines[0].replace("\n", ",y\n"), *(s.replace("\n", ",1\n") for s in lines[1:])]
        )
        found = read_evaluations(table(Path(folder), text), space, None)
    assert len(found.points) == len(points) and not found.pending
    for one, other in zip(found.points, points, strict=True):
        assert all(one[name] is other[name] for name in ("a", "b", "n"))
        assert one["x"] == other["x"]


@pytest.mark.parametrize(
    ("choices", "texts"),
    [
        ([None, "a", ""], ["None", "a", '""']),
        ([1, "1", True, "true"], ["1", '"1"', "True", '"true"']),
        (["yes", "no"], ["yes", "no"]),
        (["1e3", "1000", "x"], ['"1e3"', '"1000"', "x"]),
        ([" a", "a", "a\nb"], ['" a"', '"a"', '"a\\nb"']),
        (["Lab's", '5" tube', "x, y; z", "°C"], ["Lab's", '5" tube', "x, y; z", "°C"]),
    ],
)
def test_texts_are_plain_where_they_are_clear(choices: list[Any], texts: list[str]):
    space = Space({"a": Categorical(choices)})
    rows = csv.reader(written(space, [{"a": c} for c in choices], is_json=False).splitlines())
    assert [text for (text,) in rows] == ["a", *texts]


def read(folder: Path, parameter: Any, texts: Sequence[str]) -> list[Any]:
    """The values of the cells of one column."""
    text = io.StringIO()
    csv.writer(text).writerows([["y", "a"], *([1, cell] for cell in texts)])
    found = read_evaluations(table(folder, text.getvalue()), Space({"a": parameter}), None)
    return [point["a"] for point in found.points]


@pytest.mark.parametrize(
    ("choices", "texts", "expected"),
    [
        (
            [True, False],
            ["TRUE", "false", "Yes", "NO", "1", "0", "WAHR", "FAUX"],
            [True, False] * 4,
        ),
        (["yes", "no"], ["yes", "TRUE", "No", "FALSE", "falsch"], ["yes", "yes", "no", "no", "no"]),
        ([True, "true"], ["TRUE", '"true"'], [True, "true"]),
        ([None, "a"], ["", "None", "null", "NaN", "<NA>", "NA", " a "], [None] * 6 + ["a"]),
        ([None, "NA"], ["NA", "na", ""], ["NA", "NA", None]),
        ([1, 2.5, 1000], ["1.0", "2,5", "1E+03", "1.00", "2.50"], [1, 2.5, 1000, 1, 2.5]),
        (["001", "002"], ["1", "002"], ["001", "002"]),
        (["relu", "gelu"], ["RELU", " gelu ", '"gelu"'], ["relu", "gelu", "gelu"]),
        (["Zürich", "Bern"], ["Zu\u0308rich", "z\u00fcrich"], ["Zürich"] * 2),
    ],
)
def test_choices_are_known_after_a_spreadsheet_has_changed_them(
    choices: list[Any], texts: list[str], expected: list[Any], tmp_path: Path
):
    found = read(tmp_path, Categorical(choices), texts)
    assert found == expected and list(map(type, found)) == list(map(type, expected))


@pytest.mark.parametrize(
    ("choices", "text", "message"),
    [
        ([1, 1000], "1,000", "column a may be any of 1, 1000, got '1,000'; write one of these"),
        (["a", "A"], "á", "column a: value must be one of ['a', 'A'], got 'á'"),
        (["ya", "yes", "on"], "TRUE", "may be any of yes, on, got 'TRUE'"),
    ],
)
def test_texts_that_may_be_two_choices_or_none_are_refused(
    choices: list[Any], text: str, message: str, tmp_path: Path
):
    with pytest.raises(ValueError, match=re.escape(message)):
        read(tmp_path, Categorical(choices), [text])


def test_standard_errors_have_a_column(tmp_path: Path):
    """The column is named sem or by an option; an empty cell is an unknown error."""
    space = Space({"x": (0.0, 1.0)})
    path = table(tmp_path, "x,y,sem,half\n0.1,1,0.5,2\n0.2,2,,\n0.3,3,NA,0\n0.4,,0.5,1\n")
    assert read_evaluations(path, space, "y").errors == [0.5, None, None]
    assert read_evaluations(path, space, "y", "half").errors == [2.0, None, 0.0]
    alone = table(tmp_path, "x,sem,y\n0.1,0.5,1\n")
    assert read_evaluations(alone, space, None).values == [1.0]
    is_parameter = Space({"x": (0.0, 1.0), "sem": (0.0, 1.0)})
    assert read_evaluations(alone, is_parameter, None).errors == [None]
    with pytest.raises(ValueError, match="--sem x is a parameter"):
        read_evaluations(alone, space, "y", "x")
    with pytest.raises(ValueError, match=r"has no column 'half'"):
        read_evaluations(alone, space, "y", "half")


@pytest.mark.parametrize("names", ["x,y,sem,sem", "x,sem,y,SEM,sem"])
def test_two_columns_of_standard_errors_are_ambiguous(names: str, tmp_path: Path):
    path = table(tmp_path, f"{names}\n0.1,1,2,3\n")
    with pytest.raises(ValueError, match="has 2 columns 'sem': rename all but one"):
        read_evaluations(path, Space({"x": (0.0, 1.0)}), "y")


def test_a_row_that_breaks_a_constraint_is_named_by_its_line(tmp_path: Path):
    """This holds for rows with and without a value, and after blank rows."""
    limit = LinearConstraint({"a": 1.0, "b": 1.0}, high=1.0)
    space = Space({"a": (0.0, 1.0), "b": (0.0, 1.0), "n": Fixed(3)}, constraints=[limit])
    for value in ("1.5", ""):
        path = table(tmp_path, f"a,b,y\n0.5,0.5,1\n\n0.5,0.75,{value}\n0.1,0.1,2\n")
        message = f"{path}, line 4 breaks a constraint: 1 * a + 1 * b must be at most 1, got 1.25"
        with pytest.raises(ValueError, match=re.escape(message)):
            read_evaluations(path, space, None)


def test_a_table_of_trials_is_read_as_it_was_written(tmp_path: Path):
    """Failed, pending and withdrawn trials keep their numbers."""
    optimizer = Optimizer({"x": (0.0, 1.0), "act": Categorical(["a", None])})
    for k, value in enumerate([1.0, None, (2.0, 0.5)]):
        optimizer.tell({"x": k / 10, "act": None}, value)
    optimizer.withdraw(optimizer.ask())
    asked = optimizer.ask()
    optimizer.tell({"x": 0.9, "act": "a"}, 3.0)
    optimizer.to_frame().to_csv(tmp_path / "runs.csv", index=False)
    found = read_evaluations(tmp_path / "runs.csv", optimizer.space, None)
    told = [trial for trial in optimizer.trials if trial.is_told]
    assert found.points == [trial.params for trial in told]
    np.testing.assert_array_equal(found.values, [1.0, np.nan, 2.0, 3.0])
    assert found.errors == [None, None, 0.5, None]
    assert found.numbers == [trial.number for trial in told] == [0, 1, 2, 5]
    assert found.pending == [asked.params]


def test_a_value_of_a_pending_row_counts(tmp_path: Path):
    """People fill in values and leave the state unchanged; an unknown state is a remark."""
    space = Space({"x": (0.0, 1.0)})
    text = "x,value,state\n0.1,1,pending\n0.2,2,waiting\n0.3,,failed\n0.4,,waiting\n0.5,,\n"
    found = read_evaluations(table(tmp_path, text), space, None)
    np.testing.assert_array_equal(found.values, [1.0, 2.0, np.nan])
    assert [point["x"] for point in found.pending] == [0.4, 0.5]
    solid = table(tmp_path, "x,value,state\n0.1,1,solid\n0.2,,failed\n")
    assert len(read_evaluations(solid, space, None).pending) == 1


def test_a_row_that_failed_or_was_withdrawn_has_no_value_as_in_a_frame(tmp_path: Path):
    space = Space({"x": (0.0, 1.0)})
    text = "x,value,state\n0.1,1,complete\n0.2,2,failed\n0.3,3,withdrawn\n0.4,4,pending\n"
    path = table(tmp_path, text)
    found = read_evaluations(path, space, None)
    np.testing.assert_array_equal(found.values, [1.0, np.nan, 4.0])
    told = Optimizer(space).tell_frame(pd.read_csv(path))
    assert [trial.params for trial in told] == found.points and not found.pending
    np.testing.assert_array_equal(trial_values(told), found.values)


def test_rows_have_their_own_numbers_or_their_lines(tmp_path: Path):
    space = Space({"x": (0.0, 1.0)})
    rows = "0.1,1,11\n\n0.2,,12\n0.3,failed,{}\n,,\n0.4,2,14\n"
    path = table(tmp_path, "x,value,number\n" + rows.format(13))
    assert read_evaluations(path, space, None).numbers == [11, 13, 14]
    for other in ("", "12", "x", "-1"):
        path = table(tmp_path, "x,value,number\n" + rows.format(other))
        assert read_evaluations(path, space, None).numbers == [2, 5, 7]


def test_rows_of_remarks_are_no_points(tmp_path: Path):
    text = "x,y,note\n0.1,1,\n,,to be planned\n"
    found = read_evaluations(table(tmp_path, text), Space({"x": (0.0, 1.0)}), "y")
    assert len(found.points) == 1 and found.pending == []


def test_json_takes_choices_of_every_kind():
    space = Space({"day": Categorical([date(2024, 1, 31)]), "n": Categorical([(1, None), "a"])})
    text = written(space, [{"day": date(2024, 1, 31), "n": (1, None)}], is_json=True)
    assert json.loads(text) == [{"day": "2024-01-31", "n": [1, None]}]


@pytest.mark.parametrize("other", ["x", "params_value"])
@pytest.mark.parametrize("name", ["number", "value", "sem", "state"])
def test_a_parameter_may_have_the_name_of_a_column_of_trials(name: str, other: str, tmp_path: Path):
    optimizer = Optimizer({name: Integer(0, 50), other: (0.0, 1.0)})
    for value in (2.0, 3.0, 4.0):
        optimizer.tell(optimizer.ask(), value)
    frame = optimizer.to_frame().to_csv(index=False)
    found = read_evaluations(table(tmp_path, frame), optimizer.space, None)
    assert found.points == [trial.params for trial in optimizer.trials]
    assert found.values == [2.0, 3.0, 4.0] and found.numbers == [0, 1, 2]


def test_the_minus_sign_of_a_typesetter_goes_with_decimal_commas(tmp_path: Path):
    text = "x;y\n0,5;\N{MINUS SIGN}2,5\n0,25;1,5e\N{MINUS SIGN}3\n"
    found = read_evaluations(table(tmp_path, text), Space({"x": (0.0, 1.0)}), None)
    assert found.values == [-2.5, 0.0015]
