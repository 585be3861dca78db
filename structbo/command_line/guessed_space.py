"""A search space guessed from a table of evaluations, where no space file is given."""

import math
import warnings
from collections.abc import Sequence
from pathlib import Path

from structbo.command_line.table_file import check_columns, read_rows
from structbo.space import Categorical, Integer, Parameter, Real, Space

VALUE = "value"
"""The column of the values, if there is one of this name; else it is the last."""
BOOKKEEPING = {"", "number", "sem", "state"}
"""Columns of a table of trials that are no parameters, as `Result.to_frame` writes them."""
MAX_CHOICES = 20
"""A column with more different texts is a remark or an identifier."""
LOGARITHMIC = 1000.0
"""Positive numbers that differ by this factor are looked at on a logarithmic scale."""


def guess_space(path: Path, value: str | None) -> tuple[Space, str]:
    """A space with the ranges that are in a CSV file.

    Whole numbers become integers, other numbers real, and all else choices. Columns of one value
    only, of very many texts, and of `BOOKKEEPING` are no parameters; there is a warning for the
    first two.

    Args:
        path: of the file, whose first line has the names of the columns.
        value: the name of the value's column; None for `VALUE`, or else the last.

    Returns:
        The space, and the name of the value's column.

    Raises:
        OSError: if the file cannot be read.
        ValueError: if it is no CSV file, has no such column, or no parameters.
    """
    columns, *rows = read_rows(path) or [[]]
    if not columns:
        raise ValueError(f"{path} is empty; its first line must have the names of the columns.")
    column = value or (VALUE if VALUE in columns else columns[-1])
    check_columns(path, columns, [column])
    found: dict[str, Parameter] = {}
    for name, texts in zip(columns, zip(*rows, strict=False), strict=False):
        if name == column or name in BOOKKEEPING:
            continue
        different = sorted({text.strip() for text in texts})
        parameter = _parameter(different)
        if parameter is None:
            what = "one value" if len(different) == 1 else f"{len(different)} different texts"
            warnings.warn(f"{path}: column {name} has {what}: it is no parameter.", stacklevel=2)
        else:
            found[name] = parameter
    if not found:
        raise ValueError(f"{path} has no column that could be a parameter; give a --space.")
    return Space(found), column


def _parameter(texts: Sequence[str]) -> Parameter | None:
    """The parameter with these values, each given once; None if they are those of none."""
    if len(texts) < 2:
        return None
    try:
        numbers = [float(text) for text in texts]
    except ValueError:
        return Categorical(texts) if len(texts) <= MAX_CHOICES else None
    low, high = min(numbers), max(numbers)
    if not math.isfinite(high - low) or low == high:
        return None
    is_log = low > 0.0 and high / low >= LOGARITHMIC
    if all(number.is_integer() for number in numbers):
        return Integer(int(low), int(high), log=is_log)
    return Real(low, high, log=is_log)
