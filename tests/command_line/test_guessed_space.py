"""Spaces guessed from tables."""

import re
from pathlib import Path

import pytest

from structbo import Categorical, Integer, Real, Space
from structbo.command_line.guessed_space import guess_space


def table(folder: Path, text: str) -> Path:
    path = folder / "runs.csv"
    path.write_text(text, encoding="utf-8")
    return path


def test_ranges_and_choices_are_those_of_the_table(tmp_path: Path):
    rows = ["1e-4,1,16,relu,3,0.5", "0.1,8,32,gelu,4,failed", "0.5,2,64,3,5,"]
    text = "\n".join(["lr,depth,width,act, note,loss", *rows])
    space, column = guess_space(table(tmp_path, text), None)
    assert column == "loss"
    assert space == Space(
        {
            "lr": Real(1e-4, 0.5, log=True),
            "depth": Integer(1, 8),
            "width": Integer(16, 64),
            "act": Categorical(["3", "gelu", "relu"]),
            "note": Integer(3, 5),
        }
    )


def test_a_table_of_trials_as_results_write_it(tmp_path: Path):
    text = ",number,x,value,state\n0,0,0.5,1.0,complete\n1,1,-1,,pending\n"
    assert guess_space(table(tmp_path, text), None) == (Space({"x": Real(-1.0, 0.5)}), "value")


def test_parameters_may_have_the_names_of_what_a_table_of_trials_has(tmp_path: Path):
    lines = ["1,3,solid,0.1", "2,4,liquid,0.2", "3,5,gas,0.3", "4,5,gas,0.4"]
    space, column = guess_space(table(tmp_path, "\n".join(["t,number,state,value", *lines])), None)
    assert column == "value"
    assert space == Space(
        {
            "t": Integer(1, 4),
            "number": Integer(3, 5),
            "state": Categorical(["gas", "liquid", "solid"]),
        }
    )


def test_numbers_and_states_of_trials_may_be_missing(tmp_path: Path):
    """People add rows, and spreadsheets change the case."""
    text = "number,x,value,state\n0,0.5,1.0,COMPLETE\n1,-1,,Failed\n,0.1,2.0,\n"
    assert guess_space(table(tmp_path, text), None) == (Space({"x": Real(-1.0, 0.5)}), "value")


def test_only_one_column_has_the_standard_errors(tmp_path: Path):
    path = table(tmp_path, "sem,x,loss,se\n1,0.5,1.0,0.1\n2,-1,2.0,0.2\n")
    assert guess_space(path, "loss")[0].names == ("x", "se")
    assert guess_space(path, None, "se") == (
        Space({"sem": Integer(1, 2), "x": Real(-1.0, 0.5)}),
        "loss",
    )


def test_too_many_whole_numbers_are_real(tmp_path: Path):
    rows = [
        "100000,1,0.1,10000000000000002",
        "5000000,1e8,0.2,10000000000000000",
        "200000,5,0.3,10000000000000002",
    ]
    text = "\n".join(["population,count,value,large", *rows])
    space, _ = guess_space(table(tmp_path, text), None)
    assert space == Space(
        {
            "population": Real(1e5, 5e6),
            "count": Real(1.0, 1e8, log=True),
            "large": Real(1e16, 1e16 + 2),
        }
    )


def test_columns_that_are_no_parameters(tmp_path: Path):
    """Constant columns and columns of very many texts; the value may be in any column."""
    lines = [f"{k},1,run {k},{k / 2}" for k in range(30)]
    path = table(tmp_path, "\n".join(["score,seed,name,x", *lines]))
    with (
        pytest.warns(UserWarning, match="column seed has one value"),
        pytest.warns(UserWarning, match="column name has 30 different texts"),
    ):
        assert guess_space(path, "score") == (Space({"x": Real(0.0, 14.5)}), "score")


def rows_with(*columns: list[str]) -> str:
    """A table of these columns and of two more, with a number and the value."""
    rows = zip(*columns, strict=True)
    lines = [",".join([*row, str(0.5 + k % 3), str(k)]) for k, row in enumerate(rows)]
    return "\n".join([",".join([*"abcd"[: len(columns)], "x", "y"]), *lines])


@pytest.mark.parametrize("number", [5, 6])
def test_texts_that_all_differ_and_counts_are_identifiers(tmp_path: Path, number: int):
    """Few rows may have few choices that all differ, and other whole numbers are no counts."""
    names, counts = [f"S{k}" for k in range(number)], [str(k + 1) for k in range(number)]
    later = [str(k + 20) for k in range(number)]
    path = table(tmp_path, rows_with(names, counts, counts[::-1], later))
    if number < 6:
        assert guess_space(path, None)[0].names == ("a", "b", "c", "d", "x")
        return
    with (
        pytest.warns(UserWarning, match="column a has 6 different texts: it is not a parameter"),
        pytest.warns(UserWarning, match="column b has the numbers of the rows: it is not a param"),
    ):
        assert guess_space(path, None)[0].names == ("c", "d", "x")


@pytest.mark.parametrize(
    "date",
    [
        "3/{}/2024 10:00 AM",
        "3/{}/2024 1:05:09pm",
        "2024-05-0{}T10:00:00Z",
        "2024-05-0{} 10:00:00.5+02:00",
        "2024-05-0{} 10:00 UTC",
    ],
)
def test_dates_of_all_kinds_are_no_parameters(tmp_path: Path, date: str):
    path = table(tmp_path, rows_with([date.format(day) for day in (1, 2, 2)]))
    with pytest.warns(UserWarning, match="column a has dates: it is not a parameter"):
        assert guess_space(path, None)[0].names == ("x",)


@pytest.mark.parametrize(
    ("text", "value", "message"),
    [
        ("", None, "is empty"),
        ("a,b\n1,2\n2,3\n", "c", "has no column 'c'"),
        ("a,loss\n1,2\n2,3\n", "los", "did you mean 'loss'?"),
        ("loss\n1\n2\n", None, "has no column that could be a parameter"),
        ('a,loss\n"1,2', None, "is not a CSV file"),
    ],
)
def test_what_has_no_parameters(text: str, value: str | None, message: str, tmp_path: Path):
    with pytest.raises(ValueError, match=re.escape(message)):
        guess_space(table(tmp_path, text), value)


def test_the_only_texts_of_a_cell_are_choices_never_code(tmp_path: Path):
    space, _ = guess_space(table(tmp_path, "a,y\n=cmd(),1\n__import__('os'),2\n"), None)
    assert space == Space({"a": Categorical(["=cmd()", "__import__('os')"])})
