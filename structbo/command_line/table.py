"""CSV tables as spreadsheets save them, with any delimiter, blank rows and empty columns."""

import csv
import io
import unicodedata
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from structbo.command_line.text_file import read_text
from structbo.space.spelling import did_you_mean

DELIMITERS = ("\t", ";", ",")
DECLARATION = "sep="
"""Prefix of an optional first line that declares the delimiter to spreadsheets."""


class Row(NamedTuple):
    """A row with content.

    Args:
        line: line of the file where the row begins.
        cells: unchanged texts in the order of the columns.
    """

    line: int
    cells: Sequence[str]


@dataclass(frozen=True)
class Table:
    """The rows of a CSV file below the names of its columns.

    Args:
        path: path of the file.
        delimiter: delimiter of its cells.
        columns: names of the columns.
        rows: rows with content.
    """

    path: Path
    delimiter: str
    columns: Sequence[str]
    rows: Sequence[Row]

    def cells(self, column: str) -> list[str]:
        """The stripped texts of a column."""
        place = self.columns.index(column)
        return [row.cells[place].strip() for row in self.rows]

    def check_columns(self, needed: Collection[str]) -> None:
        """Raises ValueError if a needed column is missing or duplicated."""
        for name in needed:
            number = list(self.columns).count(name)
            if number == 0:
                columns = ", ".join(filter(None, self.columns)) or "none"
                raise ValueError(
                    f"{self.path} has no column {name!r}{did_you_mean(name, self.columns)}; its "
                    f"columns are {columns}."
                )
            if number > 1:
                raise ValueError(f"{self.path} has {number} columns {name!r}: rename all but one.")


def read_table(path: Path, names: Collection[str] = ()) -> Table:
    """Reads a CSV file whose first row names the columns.

    The delimiter is the comma, the semicolon or the tab, whichever yields most of the expected
    columns; ties go to the delimiter that splits rows evenly.

    Args:
        path: path of the file, see `read_text`.
        names: names of expected columns, which may differ in blanks.

    Raises:
        OSError: if the file cannot be read.
        ValueError: if it is not a CSV file, or a row has more cells than there are columns.
    """
    if path.suffix.lower() == ".json":
        raise ValueError(f"{path} is JSON: tables are read from CSV.")
    text = read_text(path)
    delimiters: Sequence[str] = DELIMITERS
    first = io.StringIO(text, newline="").readline()
    is_declared = first.lower().startswith(DECLARATION)
    if is_declared:
        text, delimiters = text[len(first) :], first.rstrip("\r\n")[len(DECLARATION) :][:1] or ","
    readings, fault = {}, None
    for delimiter in delimiters:
        try:
            readings[delimiter] = list(_rows(text, delimiter, first_line=1 + is_declared))
        except csv.Error as error:
            fault = error
    best = max(readings, key=lambda d: _fitness(readings[d], names), default="")
    header, *rows = readings.get(best) or [Row(1, [])]
    if fault is not None and len(header.cells) < 2:
        raise ValueError(f"{path} is not a CSV file: {fault}.")
    columns = _names(header.cells, names)
    return Table(path, best, columns, [_completed(path, columns, row) for row in rows])


def _rows(text: str, delimiter: str, first_line: int) -> Iterator[Row]:
    """The rows that are not blank."""
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    line = first_line
    for cells in reader:
        if any(cell.strip() for cell in cells):
            yield Row(line, cells)
        line = first_line + reader.line_num


def _fitness(rows: Sequence[Row], names: Collection[str]) -> tuple[int, bool, int]:
    """A sort key of delimiters: number of expected columns, even rows, number of columns."""
    header = rows[0].cells if rows else []
    found = len(set(_names(header, names)) & set(names))
    are_even = not any(_surplus(row, len(header)) for row in rows)
    return found, are_even, len(header)


def _surplus(row: Row, num_columns: int) -> bool:
    """Whether a row has content beyond the columns; spreadsheets write empty cells there."""
    return any(cell.strip() for cell in row.cells[num_columns:])


def _names(header: Sequence[str], names: Collection[str]) -> list[str]:
    """The names of columns, which match expected names up to blanks."""
    expected = {_cleaned(name): name for name in names}
    cleaned = [(cell, _cleaned(cell)) for cell in header]
    return [cell if cell in names else expected.get(clean, clean) for cell, clean in cleaned]


def _cleaned(name: str) -> str:
    return " ".join(unicodedata.normalize("NFC", name).split())


def _completed(path: Path, columns: Sequence[str], row: Row) -> Row:
    """A row padded to one cell per column, because spreadsheets omit empty cells at the end."""
    if _surplus(row, len(columns)):
        raise ValueError(
            f"{path}, line {row.line} must have {len(columns)} cells, like the first line, got "
            f"{len(row.cells)}: put texts and numbers with a comma in quotes."
        )
    missing = len(columns) - len(row.cells)
    return row._replace(cells=[*row.cells[: len(columns)], *[""] * missing])
