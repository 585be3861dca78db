"""Tables of evaluations in CSV files, and tables of points in CSV or JSON."""

import csv
import io
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from structbo.space import Fixed, Parameter, Space
from structbo.space.spelling import did_you_mean

FAILED = {"nan", "failed", "inf", "-inf", "none", "null"}
"""What stands, in any case of its letters, for the value of an evaluation that failed."""


class Evaluations(NamedTuple):
    """Points with their values, and points without.

    Args:
        points: dicts by name.
        values: of these points; NaN for failed evaluations.
        pending: points that are still being evaluated.
    """

    points: list[dict[str, Any]]
    values: list[float]
    pending: list[dict[str, Any]]


def read_evaluations(path: Path, space: Space, value: str | None) -> Evaluations:
    """Reads a CSV file with a column for every parameter and one for the value.

    An empty value is that of a point still being evaluated; one of `FAILED` marks a failed
    evaluation.

    Args:
        path: of the file, whose first line has the names of the columns.
        space: the search space.
        value: the name of the value's column; None if it is the only one that is no parameter.

    Raises:
        OSError: if the file cannot be read.
        ValueError: if a column is missing, or a cell is not a value of its parameter; the line and
            the column are named.
    """
    rows = read_rows(path)
    columns = rows[0] if rows else []
    column = _value_column(path, columns, space, value)
    found = Evaluations([], [], [])
    for line, cells in enumerate(rows[1:], start=2):
        if not cells:
            continue
        where = f"{path}, line {line}"
        if len(cells) != len(columns):
            raise ValueError(f"{where} must have {len(columns)} cells, as the first line has.")
        row = {name: cell.strip() for name, cell in zip(columns, cells, strict=True)}
        point = {
            name: _cell(f"{where}, column {name}", parameter, row[name])
            for name, parameter in space.spec.items()
            if name in row
        }
        if row[column]:
            found.points.append(point)
            found.values.append(_value(f"{where}, column {column}", row[column]))
        else:
            found.pending.append(point)
    return found


def read_rows(path: Path) -> list[list[str]]:
    """The cells of a CSV file, line by line.

    Raises:
        OSError: if the file cannot be read.
        ValueError: if it is no CSV file.
    """
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            return list(csv.reader(file, strict=True))
    except (csv.Error, UnicodeDecodeError) as error:
        raise ValueError(f"{path} is no CSV file: {error}.") from None


def check_columns(path: Path, columns: Sequence[str], needed: Sequence[str]) -> None:
    """Raises ValueError if a file lacks a column that is needed."""
    if missing := [name for name in needed if name not in columns]:
        raise ValueError(
            f"{path} has no column {missing[0]!r}{did_you_mean(missing[0], columns)}; its columns "
            f"are {', '.join(columns)}."
        )


def _value_column(path: Path, columns: Sequence[str], space: Space, value: str | None) -> str:
    check_columns(path, columns, space.names)
    others = [name for name in columns if name not in space.columns]
    if value is None and len(others) == 1:
        return others[0]
    if value not in others:
        given = (
            "say with --value which column" if value is None else f"{value!r} is not the one that"
        )
        raise ValueError(
            f"{given} has the values: {path} has {', '.join(others) or 'parameters only'}."
        )
    return value


def _cell(where: str, parameter: Parameter | Fixed, text: str) -> Any:
    """The value of a parameter that a text stands for."""
    choices = getattr(parameter, "choices", None)
    if choices is None:
        value: Any = _float(where, text)
    else:
        by_text = {str(choice): choice for choice in choices}
        value = by_text.get(text, text)
    try:
        parameter.as_legal(value)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{where}: {error}") from None
    return value


def _value(where: str, text: str) -> float:
    return float("nan") if text.lower() in FAILED else _float(where, text)


def _float(where: str, text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise ValueError(f"{where} must be a number, got {text!r}.") from None


def written(space: Space, points: Sequence[dict[str, Any]], is_json: bool) -> str:
    """Points as a text: JSON, a list of objects, or CSV with a line of names.

    Example:
        >>> print(written(Space({"a": (0.0, 1.0)}), [{"a": 0.5}], is_json=False), end="")
        a
        0.5
    """
    if is_json:
        return json.dumps(list(points), indent=2) + "\n"
    text = io.StringIO()
    rows = csv.DictWriter(text, space.columns, lineterminator="\n")
    rows.writeheader()
    rows.writerows(points)
    return text.getvalue()
