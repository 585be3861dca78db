"""Tables as spreadsheets of any locale save them."""

import re
from pathlib import Path

import pytest

from structbo import Categorical, Space
from structbo.command_line.guessed_space import guess_space
from structbo.command_line.table import read_table
from structbo.command_line.table_file import read_evaluations

SPACE = Space({"t °C": (0.0, 1.0), "water": Categorical(["yes", "no"])})
SAVED = {
    "comma": "t °C,water,y\n0.5,yes,1.5\n0.25,no,2\n",
    "semicolon": "t °C;water;y\n0.5;yes;1.5\n0.25;no;2\n",
    "decimal comma": "t °C;water;y\n0,5;yes;1,5\n0,25;no;2\n",
    "quoted decimal comma": 't °C,water,y\n"0,5",yes,"1,5"\n"0,25",no,2\n',
    "tab": "t °C\twater\ty\n0,5\tyes\t1,5\n0,25\tno\t2\n",
    "declared": "sep=;\nt °C;water;y\n0,5;yes;1,5\n0,25;no;2\n",
    "declared tab": "sep=\t\nt °C\twater\ty\n0,5\tyes\t1,5\n0,25\tno\t2\n",
    "trailing columns": "t °C,water,y,,\n0.5,yes,1.5,,\n0.25,no,2,,\n",
    "longer rows": "t °C,water,y\n0.5,yes,1.5,,\n0.25,no,2,,,\n",
    "blank rows": "\nt °C,water,y\n\n0.5,yes,1.5\n,,\n  , ,\n0.25,no,2\n,,\n\n",
    "quotes": '"t °C","water","y"\n"0.5","yes","1.5"\n"0.25","no","2"\n',
    "blanks": " t  °C , water,y \n 0.5 , yes ,1.5\n0.25,no , 2\n",
    "no-break space": "t\u00a0°C,water,y\n0.5,yes,1.5\n0.25,no,2\n",
    "TRUE": "t °C,water,y\n0.5,TRUE,1.5\n0.25,FALSE,2\n",
    "remarks": 'day;t °C;note, if any;water;y\n1.5.;0,5;"a;b";yes;1,5\n2.5.;0,25;;no;2\n',
    "exponents": "t °C;water;y\n5,0E-01;yes;1,5E+00\n2,5E-01;no;2,0E+00\n",
    "index": ",t °C,water,y\n0,0.5,yes,1.5\n1,0.25,no,2\n",
}


def saved(folder: Path, text: str, encoding: str = "utf-8") -> Path:
    path = folder / "runs.csv"
    path.write_bytes(text.encode(encoding))
    return path


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "cp1252"])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("how", SAVED)
def test_a_table_is_read_however_it_was_saved(how: str, end: str, encoding: str, tmp_path: Path):
    path = saved(tmp_path, SAVED[how].replace("\n", end), encoding)
    value = "y" if "note" in SAVED[how] else None
    found = read_evaluations(path, SPACE, value)
    assert found.points == [{"t °C": 0.5, "water": "yes"}, {"t °C": 0.25, "water": "no"}]
    assert (found.values, found.pending) == ([1.5, 2.0], [])


@pytest.mark.parametrize("how", ["comma", "decimal comma", "tab", "trailing columns", "index"])
def test_a_space_is_guessed_however_it_was_saved(how: str, tmp_path: Path):
    space, column = guess_space(saved(tmp_path, SAVED[how], "cp1252"), None)
    assert column == "y" and space.spec["water"] == Categorical(["no", "yes"])
    assert (space.spec["t °C"].low, space.spec["t °C"].high) == (0.25, 0.5)


@pytest.mark.parametrize(
    ("y", "message"),
    [
        ("50%", "line 2, column y has a percent sign, '50%': format the column as plain numbers"),
        ("50 %", "has a percent sign"),
        ('"1,234.5"', "has a thousands separator, '1,234.5': format the column without it"),
        ("1.234.567", "has a thousands separator"),
        ("1 234", "has a thousands separator"),
        ("1'234.5", "has a thousands separator"),
        ('"1,234"', "is ambiguous, '1,234': decimals or thousands?"),
        ('"1,5"', "has a comma, '1,5', and other numbers have points, such as '0.5'"),
        ("#DIV/0!", "has a spreadsheet error, '#DIV/0!': correct or empty the cell"),
        ("5 mg", "must be a number, got '5 mg'"),
        ("1_000", "must be a number, got '1_000'"),
        ("<0.1", "must be a number, got '<0.1'"),
    ],
)
def test_numbers_that_cannot_be_read_say_what_to_change(y: str, message: str, tmp_path: Path):
    t = "0.5" if "other numbers" in message else "0"
    path = saved(tmp_path, f"t °C,water,y\n{t},yes,{y}\n")
    with pytest.raises(ValueError, match=re.escape(message)):
        read_evaluations(path, SPACE, None)


def test_a_point_may_divide_thousands_where_commas_are_usual(tmp_path: Path):
    with pytest.raises(ValueError, match=r"is ambiguous, '1\.234'"):
        read_evaluations(saved(tmp_path, "t °C;water;y\n1;yes;1.234\n"), SPACE, None)
    clear = saved(tmp_path, "t °C;water;y\n0.5;yes;1.234\n")
    assert read_evaluations(clear, SPACE, None).values == [1.234]
    clear = saved(tmp_path, "t °C;water;y\n1;yes;1,234\n1;yes;0,5\n")
    assert read_evaluations(clear, SPACE, None).values == [1.234, 0.5]


def test_a_guess_names_numbers_that_it_cannot_read(tmp_path: Path):
    path = saved(tmp_path, 't,y\n"1,234",1\n"2,345",2\n')
    with pytest.raises(ValueError, match=r"column t is ambiguous, '1,234'"):
        guess_space(path, None)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"PK\x03\x04rest", "is a spreadsheet workbook: save the sheet with the table as CSV"),
        (b"\xd0\xcf\x11\xe0rest", "is a spreadsheet workbook"),
        ("t °C,y\n".encode("utf-16-le"), "is not readable as text: save it as UTF-8"),
        (b"t \x81C,y\n", "is not readable as text: save it as UTF-8"),
        (b't,y\n"1,2\n', "is not a CSV file"),
    ],
)
def test_files_that_are_no_tables_say_what_to_do(data: bytes, message: str, tmp_path: Path):
    (tmp_path / "runs.csv").write_bytes(data)
    with pytest.raises(ValueError, match=re.escape(message)):
        read_table(tmp_path / "runs.csv")


def test_json_is_no_table(tmp_path: Path):
    (tmp_path / "next.json").write_text('[{"x": 1}]')
    with pytest.raises(ValueError, match=r"next\.json is JSON: tables are read from CSV"):
        read_table(tmp_path / "next.json")


def test_names_that_differ_by_blanks_only_are_told_apart(tmp_path: Path):
    table = read_table(saved(tmp_path, "a,a ,y\n1,2,3\n"), ["a", "a "])
    assert table.columns == ["a", "a ", "y"] and table.cells("a ") == ["2"]


def test_dates_and_empty_cells_are_no_parameters(tmp_path: Path):
    """A column of numbers with an empty cell stays numeric."""
    text = "day,x,act,y\n2024-05-01,0.5,a,1\n2024-05-02,,a,2\n2024-05-03,2,,\n"
    with pytest.warns(UserWarning, match="column day has dates: it is not a parameter"):
        space, _ = guess_space(saved(tmp_path, text), None)
    assert list(space.spec) == ["x", "act"] and space.spec["x"].high == 2.0
    assert space.spec["act"] == Categorical([None, "a"])
