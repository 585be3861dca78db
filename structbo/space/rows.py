"""Tables of every kind, as rows of values in the order of their names."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from structbo.space.choices import Fixed
from structbo.space.spelling import did_you_mean

Row = tuple[str, list[Any]]
"""What to call a row in messages, and its values."""


def rows_of(
    points: Any, names: Sequence[str], fixed: Mapping[str, Any], name: str
) -> Sequence[Row]:
    """Rows of values, whatever the kind of table.

    Args:
        points: a dict by name, a list of dicts, a DataFrame, or an array (n, D) or (D,) (or nested
            list) of values in the order of the names.
        names: of the columns that must be there.
        fixed: the values of columns that may be there, by name.
        name: what to call the points in messages.

    Raises:
        TypeError: if it is no table.
        ValueError: if a column is missing or unknown, or a fixed value another one.
    """
    if hasattr(points, "columns"):
        _check_names(name, points.columns, names, fixed)
        columns = {column: points[column].to_list() for column in points.columns}
        places = _places(name, len(points))
        for column in fixed.keys() & columns.keys():
            for where, value in zip(places, columns[column], strict=True):
                _check_fixed(f"{where}[{column!r}]", fixed[column], value)
        rows = zip(*(columns[column] for column in names), strict=True)
        return [(where, list(row)) for where, row in zip(places, rows, strict=True)]
    if hasattr(points, "ndim") and not _is_dict(points):
        points = np.asarray(points).tolist()
    if isinstance(points, str) or not isinstance(points, Iterable):
        raise TypeError(f"{name} must be dicts, a DataFrame or an array, got {points!r}")
    points = [points] if _is_dict(points) else list(points)
    if not all(_is_dict(p) or isinstance(p, list | tuple | np.ndarray) for p in points):
        points = [points]
    places = _places(name, len(points))
    return [_row(where, point, names, fixed) for where, point in zip(places, points, strict=True)]


def _places(name: str, count: int) -> list[str]:
    """What to call each of several rows; a single one needs no number."""
    return [name] if count == 1 else [f"{name}[{i}]" for i in range(count)]


def _row(where: str, point: Any, names: Sequence[str], fixed: Mapping[str, Any]) -> Row:
    if _is_dict(point):
        _check_names(where, point.keys(), names, fixed)
        for column in fixed.keys() & set(point.keys()):
            _check_fixed(f"{where}[{column!r}]", fixed[column], point[column])
        return where, [point[column] for column in names]
    if len(point) != len(names):
        raise ValueError(
            f"{where} must hold {len(names)} values {list(names)}, got {len(point)}; points as an "
            "array have shape (n, D)"
        )
    return where, list(point)


def _check_names(
    where: str, given: Iterable[Any], names: Sequence[str], fixed: Mapping[str, Any]
) -> None:
    given, own = list(given), [*names, *fixed]
    faults = [
        *(f"unknown {n!r}{did_you_mean(n, own)}" for n in given if n not in own),
        *(f"missing {name!r}" for name in names if name not in given),
        *(f"repeated {name!r}" for name in own if given.count(name) > 1),
    ]
    if faults:
        raise ValueError(f"{where} must have exactly the names {own}; {', '.join(faults)}")


def _check_fixed(where: str, fixed: Any, value: Any) -> None:
    try:
        Fixed(fixed).as_legal(value)
    except ValueError as error:
        raise ValueError(f"{where}: {error}") from None


def _is_dict(point: Any) -> bool:
    """Whether values are found by name, as in a dict or a row of a DataFrame."""
    return hasattr(point, "keys")
