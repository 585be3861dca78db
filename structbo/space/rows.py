"""Tables of every kind, as rows of values in a given order."""

import warnings
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from structbo.space.choices import Fixed
from structbo.space.differing_names import faults_of
from structbo.space.long_lists import first_names, first_of
from structbo.space.scalars import plain
from structbo.space.spelling import did_you_mean

Row = tuple[str, list[Any]]
"""The name of a row in messages, and its values."""


def rows_of(
    points: Any, names: Sequence[str], fixed: Mapping[str, Any], name: str
) -> Sequence[Row]:
    """Rows of values from a table of any kind.

    Args:
        points: a dict by name, a list of dicts, a DataFrame, or an array (n, D) or (D,) (or nested
            list) of values in the order of the names.
        names: names of the required columns.
        fixed: values of optional columns, by name.
        name: name of the points in messages.

    Raises:
        TypeError: if points are not a table.
        ValueError: if a column is missing, a dict has an unknown key, or a fixed value differs.

    Warns:
        UserWarning: if a DataFrame has other columns, which are ignored.
    """
    if hasattr(points, "columns"):
        return _rows_of_frame(points, names, fixed, name)
    if hasattr(points, "ndim") and not _is_dict(points):
        points = np.ma.asanyarray(points).tolist()  # None where a value is masked
    if isinstance(points, str) or not isinstance(points, Iterable):
        raise TypeError(f"{name} must be dicts, a DataFrame or an array, got {points!r}")
    points = [points] if _is_dict(points) else list(points)
    if not all(_is_dict(p) or isinstance(p, list | tuple | np.ndarray) for p in points):
        points = [points]
    places = _places(name, range(len(points)))
    return [_row(where, point, names, fixed) for where, point in zip(places, points, strict=True)]


def _rows_of_frame(
    frame: Any, names: Sequence[str], fixed: Mapping[str, Any], name: str
) -> Sequence[Row]:
    given, own = list(frame.columns), [*names, *fixed]
    _check_columns(name, given, names, own)
    if others := [column for column in given if column not in own]:
        listed = first_of([repr(column) for column in others])
        warnings.warn(f"{name} has other columns, which are ignored: {listed}.", stacklevel=2)
    columns = {column: frame[column].to_list() for column in own if column in given}
    places = _places(name, getattr(frame, "index", range(len(frame))))
    for column in fixed.keys() & columns.keys():
        for where, value in zip(places, columns[column], strict=True):
            _check_fixed(f"{where}[{column!r}]", fixed[column], value)
    rows = zip(*(columns[column] for column in names), strict=True)
    return [(where, list(row)) for where, row in zip(places, rows, strict=True)]


def _places(name: str, labels: Any) -> list[str]:
    """The names of rows in messages, by label; a single row needs no label."""
    if len(labels) == 1:
        return [name]
    return [f"{name}[{plain(label)!r}]" for label in labels]


def _row(where: str, point: Any, names: Sequence[str], fixed: Mapping[str, Any]) -> Row:
    if _is_dict(point):
        _check_names(where, point.keys(), names, fixed)
        for column in fixed.keys() & set(point.keys()):
            _check_fixed(f"{where}[{column!r}]", fixed[column], point[column])
        return where, [point[column] for column in names]
    if len(point) != len(names):
        raise ValueError(
            f"{where} must hold {len(names)} values {first_names(names)}, got {len(point)}; points "
            "as an array have shape (n, D)"
        )
    return where, list(point)


def _check_columns(
    name: str, given: Sequence[Any], names: Sequence[str], own: Sequence[str]
) -> None:
    faults = [
        *(f"missing {n!r}{did_you_mean(n, given)}" for n in names if n not in given),
        *(f"repeated {n!r}" for n in own if given.count(n) > 1),
    ]
    if faults:
        raise ValueError(f"{name} must have the columns {first_names(names)}; {first_of(faults)}")


def _check_names(
    where: str, given: Collection[Any], names: Sequence[str], fixed: Mapping[str, Any]
) -> None:
    faults = faults_of(given, names, fixed)
    if faults:
        raise ValueError(
            f"{where} must have exactly the names {first_names([*names, *fixed])}; "
            f"{first_of(faults)}"
        )


def _check_fixed(where: str, fixed: Any, value: Any) -> None:
    try:
        Fixed(fixed).as_legal(value)
    except ValueError as error:
        raise ValueError(f"{where}: {error}") from None


def _is_dict(point: Any) -> bool:
    """Whether values are accessed by name, as in a dict or a row of a DataFrame."""
    return hasattr(point, "keys")
