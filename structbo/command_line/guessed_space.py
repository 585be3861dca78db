"""A search space guessed from a table of evaluations, if no space file is given."""

import contextlib
import math
import re
import warnings
from pathlib import Path

from structbo.command_line.numerals import Numerals, readings
from structbo.command_line.table import Table, read_table
from structbo.command_line.table_file import (
    NUMBER,
    SEM,
    STATE,
    VALUE,
    are_numbers,
    are_states,
)
from structbo.space import Categorical, Integer, Parameter, Real, Space

MAX_CHOICES = 20
"""Columns with more distinct texts are remarks or identifiers."""
LOGARITHMIC = 1000.0
"""Positive numbers that span this factor get a logarithmic scale."""
MIN_ROWS = 6
"""From this number of rows on, texts that all differ and counts are identifiers."""
DATE = re.compile(
    r"\d{1,4}([-./])\d{1,2}\1\d{1,4}"
    r"([T ]\d{1,2}:\d{2}(:\d{2}(\.\d+)?)?( ?[AP]M)?( ?(Z|UTC|[-+]\d{2}(:?\d{2})?))?)?",
    re.IGNORECASE,
)


def guess_space(path: Path, value: str | None, sem: str | None = None) -> tuple[Space, str]:
    """A space with the ranges of the columns of a CSV file.

    Columns of whole numbers become `Integer`, of other or too many numbers `Real`, and all others
    `Categorical`. The numbers, states and standard errors of trials are not parameters. A warning
    names the other columns that are not: columns with a single value, with dates, with more than
    `MAX_CHOICES` texts, and with identifiers. Identifiers are another text in each of `MIN_ROWS` or
    more rows, or whole numbers that count these rows from 0 or 1.

    Args:
        path: path of the file, whose first line has the names of the columns.
        value: name of the column of values; None for `VALUE` if it exists, else the last column.
        sem: name of the column of standard errors, if not `SEM`.

    Returns:
        The space, and the name of the value's column.

    Raises:
        OSError: if the file cannot be read.
        ValueError: if it is not a CSV file, or has no such column or no parameters.
    """
    table = read_table(path, [*filter(None, (value, sem))])
    named = [name for name in table.columns if name]
    if not named:
        raise ValueError(f"{path} is empty; its first line must have the names of the columns.")
    possible = [name for name in named if not _is_bookkeeping(table, name, sem or SEM)]
    column = value or (VALUE if VALUE in named else [*named, *possible][-1])
    table.check_columns(named if value is None else [*named, value])
    found: dict[str, Parameter] = {}
    for name in possible:
        if name == column:
            continue
        parameter = _parameter(table, name)
        if isinstance(parameter, str):
            warnings.warn(
                f"{path}: column {name} has {parameter}: it is not a parameter.", stacklevel=2
            )
        else:
            found[name] = parameter
    if not found:
        raise ValueError(f"{path} has no column that could be a parameter; pass --space.")
    return Space(found), column


def _is_bookkeeping(table: Table, name: str, sem: str) -> bool:
    """Whether a column is about trials, not a parameter that happens to have its name."""
    texts = [text.lower() for text in table.cells(name) if text]
    if name == NUMBER:
        return are_numbers(texts)
    if name == STATE:
        return are_states(texts)
    return name == sem


def _parameter(table: Table, name: str) -> Parameter | str:
    """The parameter for a column, or what the column has if it is not a parameter."""
    cells = table.cells(name)
    texts = sorted(set(cells))
    many = f"{len(texts)} different texts"
    if len(texts) == 1:
        return "one value"
    if all(DATE.fullmatch(text) for text in texts if text):
        return "dates"
    numerals = Numerals.of(texts, is_point_usual=table.delimiter != ";")
    try:
        numbers = [numerals.number(text) for text in cells if text]
    except ValueError as error:
        if all(readings(text) for text in texts if text):
            raise ValueError(f"{table.path}: column {name} {error}.") from None
        if len(texts) > MAX_CHOICES or len(texts) == len(cells) >= MIN_ROWS:
            return many
        return Categorical([text or None for text in texts])
    low, high = min(numbers), max(numbers)
    if not math.isfinite(high - low) or low == high:
        return many
    counts = [low + k for k in range(len(cells))]
    if low in (0.0, 1.0) and numbers == counts and len(counts) >= MIN_ROWS:
        return "the numbers of the rows"
    is_log = low > 0.0 and high / low >= LOGARITHMIC
    if all(number.is_integer() for number in numbers):
        with contextlib.suppress(ValueError):  # too many integers
            return Integer(int(low), int(high), log=is_log)
    return Real(low, high, log=is_log)
