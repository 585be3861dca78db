"""Tables of evaluations in CSV files, and tables of points in CSV or JSON."""

import csv
import io
import json
import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, get_args

from structbo.command_line.choice_cells import cells_of_choices
from structbo.command_line.numerals import Numerals
from structbo.command_line.table import Row, Table, read_table
from structbo.data import FAILED, MISSING, State, parameter_columns
from structbo.space import Fixed, Parameter, Space

VALUE, SEM, STATE, NUMBER = "value", "sem", "state", "number"
"""Columns of a table from `to_frame`, unless parameters have these names."""


@dataclass(frozen=True)
class TableRows:
    """Evaluated points with their values, and pending points.

    Args:
        points: evaluated points, dicts by name.
        values: values of these points; NaN for failed evaluations.
        pending: points that are still being evaluated.
        errors: standard errors of the values; None for an unknown one.
        numbers: numbers of the points: the column `NUMBER` if it is unique, else the lines of the
            file.
        value_name: name of the column of the values.
    """

    points: list[dict[str, Any]]
    values: list[float]
    pending: list[dict[str, Any]]
    errors: list[float | None] = field(default_factory=list)
    numbers: list[int] = field(default_factory=list)
    value_name: str = VALUE


def read_evaluations(
    path: Path, space: Space, value: str | None, sem: str | None = None
) -> TableRows:
    """Reads a CSV file with a column for every parameter and one for the value.

    An empty value marks a point that is still being evaluated, a value in `FAILED` a failed
    evaluation. In a table of trials, the column `STATE` marks failed points, whatever their value,
    and withdrawn ones, which are ignored. Other columns are ignored.

    Args:
        path: path of the file, whose first line has the names of the columns.
        space: the search space.
        value: name of the column of values; None for `VALUE`, or the only column that is not a
            parameter.
        sem: name of the column of standard errors; None for `SEM` if it exists.

    Raises:
        OSError: if the file cannot be read.
        ValueError: if a column is missing or ambiguous, a cell is not a value of its parameter, or
            a row breaks a constraint; the message names the line, and the column of the cell.
    """
    table = read_table(path, [*space.columns, *filter(None, (value, sem))])
    names = _parameter_columns(table, space)
    optional = [name for name in space.fixed if names[name] not in table.columns]
    table.check_columns([column for name, column in names.items() if name not in optional])
    column = _value_column(table, names.values(), value)
    reader = _Reader(table, space, names, column, _sem_column(table, names.values(), sem))
    found, numbers = TableRows([], [], [], value_name=column), reader.numbers()
    for row, number in zip(table.rows, numbers, strict=True):
        if reader.is_remark(row) or reader.state(row) == "withdrawn":
            continue
        point, known = reader.point(row), reader.value(row)
        if known is not None:
            found.points.append(point)
            found.values.append(known)
            found.errors.append(reader.error(row))
            found.numbers.append(number)
        else:
            found.pending.append(point)
    return found


class _Reader:
    """The cells of a table of evaluations as Python objects."""

    def __init__(
        self, table: Table, space: Space, names: Mapping[str, str], value: str, sem: str | None
    ) -> None:
        self._table, self._space, self._value, self._sem = table, space, value, sem
        known = {name: column for name, column in names.items() if column in table.columns}
        self._parameters = {name: (known[name], space.spec[name]) for name in known}
        self._choices = cells_of_choices(space)
        others = [*filter(None, (value, sem))]
        self._columns = [*known.values(), *others]
        numbers = [*(known[name] for name in known if name not in self._choices), *others]
        texts = (text for column in numbers for text in table.cells(column))
        self._numerals = Numerals.of(texts, is_point_usual=table.delimiter != ";")
        self._own_numbers, self._states = self._own(NUMBER), self._own(STATE)
        if not are_states(self._states.values()):
            self._states = {}  # another column of this name

    def _own(self, column: str) -> dict[int, str]:
        """The texts of a column other than parameters, by line."""
        if column in self._columns or column not in self._table.columns:
            return {}
        lines = [row.line for row in self._table.rows]
        return dict(zip(lines, map(str.lower, self._table.cells(column)), strict=True))

    def numbers(self) -> list[int]:
        """The numbers of the rows."""
        own = self._own_numbers.values()
        if own and are_numbers(own):
            return list(map(int, own))
        return [row.line for row in self._table.rows]

    def is_remark(self, row: Row) -> bool:
        """Whether a row has text in ignored columns only."""
        return not any(self._text(row, column).strip() for column in self._columns)

    def state(self, row: Row) -> str:
        """The state of a trial; empty without a column of states."""
        return self._states.get(row.line, "")

    def point(self, row: Row) -> dict[str, Any]:
        """The point, which keeps the constraints of the space."""
        named = self._parameters.items()
        point = {name: self._parameter(row, name, *known) for name, known in named}
        self._space.to_unit(point, name=self._line(row))
        return point

    def value(self, row: Row) -> float | None:
        """The value; NaN for a failed evaluation, None for a missing value."""
        text = self._text(row, self._value).strip()
        if text.lower() in FAILED or self.state(row) == "failed":
            return math.nan
        return self._number(row, self._value) if text else None

    def error(self, row: Row) -> float | None:
        """The standard error of the value; None if it is unknown."""
        if self._sem is None or self._text(row, self._sem).strip().lower() in MISSING | {""}:
            return None
        error = self._number(row, self._sem)
        if not 0.0 <= error < math.inf:
            raise ValueError(
                f"{self._where(row, self._sem)} must be a standard error, 0 or more, got {error}."
            )
        return error

    def _parameter(self, row: Row, name: str, column: str, made: Parameter | Fixed) -> Any:
        where, text = self._where(row, column), self._text(row, column)
        if name not in self._choices:
            value: Any = self._number(row, column)
        else:
            try:
                value = self._choices[name].choice(text)
            except LookupError:
                value = text.strip()  # the parameter says what it may be
            except ValueError as error:
                raise ValueError(f"{where} {error}.") from None
        try:
            return made.as_legal(value)
        except (TypeError, ValueError) as error:
            raise ValueError(f"{where}: {error}") from None

    def _number(self, row: Row, column: str) -> float:
        try:
            return self._numerals.number(self._text(row, column).strip())
        except ValueError as error:
            raise ValueError(f"{self._where(row, column)} {error}.") from None

    def _text(self, row: Row, column: str) -> str:
        return row.cells[self._table.columns.index(column)]

    def _where(self, row: Row, column: str) -> str:
        return f"{self._line(row)}, column {column}"

    def _line(self, row: Row) -> str:
        return f"{self._table.path}, line {row.line}"


def are_numbers(texts: Collection[str]) -> bool:
    """Whether all texts of a column `NUMBER` may be numbers of trials: whole and distinct."""
    return all(map(str.isdecimal, texts)) and len(set(map(int, texts))) == len(texts)


def are_states(texts: Collection[str]) -> bool:
    """Whether all texts of a column `STATE` are states of trials, or empty."""
    return set(texts) <= {"", *get_args(State)}


def _parameter_columns(table: Table, space: Space) -> dict[str, str]:
    """The column of every parameter and fixed value: as in `to_frame` if it exists, or its name."""
    of_frame = parameter_columns(space).items()
    return {name: column if column in table.columns else name for name, column in of_frame}


def _value_column(table: Table, taken: Collection[str], value: str | None) -> str:
    own = [SEM, STATE, NUMBER]
    others = [name for name in table.columns if name and name not in taken]
    possible = [name for name in others if name not in own]
    if value is None and VALUE in possible:
        value = VALUE
    if value is None and len(possible) == 1:
        return possible[0]
    if value not in others:
        given = "" if value is None else f", got {value!r}"
        columns = ", ".join(others) or "parameters only"
        raise ValueError(
            f"--value must name the column of values{given}: {table.path} has {columns}."
        )
    table.check_columns([value])
    return value


def _sem_column(table: Table, taken: Collection[str], sem: str | None) -> str | None:
    if sem is None:
        if SEM not in table.columns or SEM in taken:
            return None
        sem = SEM
    elif sem in taken:
        raise ValueError(f"--sem {sem} is a parameter: name the column of standard errors.")
    table.check_columns([sem])
    return sem


def written(space: Space, points: Sequence[dict[str, Any]], is_json: bool) -> str:
    """Points as text: a JSON list of objects, or CSV with a header line.

    `read_evaluations` can read this CSV for choices of every kind.

    Example:
        >>> print(written(Space({"a": (0.0, 1.0)}), [{"a": 0.5}], is_json=False), end="")
        a
        0.5
    """
    if is_json:
        return json.dumps(list(points), indent=2, default=str) + "\n"
    cells = cells_of_choices(space)
    text = io.StringIO()
    rows = csv.writer(text, lineterminator="\n")
    rows.writerow(space.columns)
    for point in points:
        rows.writerow(
            cells[name].text(point[name]) if name in cells else point[name]
            for name in space.columns
        )
    return text.getvalue()
