"""Evaluations from CSV files, and points as CSV and JSON."""

import csv
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from structbo import Categorical, Fixed, Integer, Space
from structbo.command_line.table_file import read_evaluations, written

SPACE = Space({"lr": (1e-4, 1.0, "log"), "k": Integer(1, 8), "act": Categorical([1, "b,c", None])})


def table(folder: Path, text: str) -> Path:
    path = folder / "runs.csv"
    path.write_text(text, encoding="utf-8")
    return path


def test_evaluations_failures_and_pending_points(tmp_path: Path):
    """Columns in any order, others beside them, spaces, quotes, and a mark of the encoding."""
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
    "lr,k,act,a,b\n": ("say with --value which column has the values", None),
    "lr,k,act,y\n": ("'loss' is not the one that has the values", "loss"),
    "lr,k,act,y\n1,1,1\n": ("line 2 must have 4 cells", None),
    "lr,k,act,y\n1,1,1,0,5\n": ("line 2 must have 4 cells", None),
    "lr,k,act,y\n1,1,1,0\n5,1,1,0\n": ("line 3, column lr: ", None),
    "lr,k,act,y\n1,1.5,1,0\n": ("line 2, column k: ", None),
    "lr,k,act,y\n,1,1,0\n": ("line 2, column lr must be a number, got ''", None),
    "lr,k,act,y\n1,1,d,0\n": ("line 2, column act: ", None),
    "lr,k,act,y\n1,1,1,good\n": ("line 2, column y must be a number, got 'good'", None),
    'lr,k,act,y\n1,1,"1,0\n': ("is no CSV file", None),
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
