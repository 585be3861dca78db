"""Pandas tables: names of columns, rows matched by index, and trials."""

from collections.abc import Mapping, Sequence
from typing import Any, get_args

import numpy as np

from structbo.data.trial import State, Trial, trial_values
from structbo.data.values import FAILED, as_float, real_numbers
from structbo.space import Space
from structbo.space.scalars import is_missing

COLUMNS = ("number", "value", "sem", "state")
"""Columns of a table of trials other than parameters."""
PREFIX = "params_"
"""Prefix of the columns of parameters that are named like other columns."""


def column_names(table: Any) -> tuple[str, ...]:
    """The names of the columns of a table; empty unless they are strings."""
    names = tuple(getattr(table, "columns", ()))
    return names if all(isinstance(name, str) for name in names) else ()


def in_order_of(X: Any, y: Any, name: str = "y") -> Any:
    """Values in the order of their points, matched by index.

    Args:
        X: points; without an index, values keep their order.
        y: their values; without an index, they keep their order.
        name: name of the values in messages.

    Raises:
        ValueError: if both have an index, and a row of one has no or several matches in the other.

    Example:
        >>> import pandas as pd
        >>> X, y = pd.DataFrame({"a": [0.1, 0.2]}), pd.Series([2.0, 1.0], index=[1, 0])
        >>> in_order_of(X, y).tolist()
        [1.0, 2.0]
    """
    if not all(hasattr(table, "index") and hasattr(table, "reindex") for table in (X, y)):
        return y
    if X.index.equals(y.index):
        return y
    for table, one, other in (("X", X.index, y.index), (name, y.index, X.index)):
        if not one.is_unique:
            label, fault = one[one.duplicated()][0], f"is twice in the index of {table}"
        elif not one.isin(other).all():
            label, fault = one[~one.isin(other)][0], f"is only in the index of {table}"
        else:
            continue
        raise ValueError(
            f"X and {name} must have the same index, which matches their rows: {label!r} {fault}; "
            f"pass {name}.to_numpy() to match rows by position."
        )
    return y.loc[X.index]


def trial_frame(trials: Sequence[Trial], space: Space) -> Any:
    """Trials as a pandas DataFrame: number, one column per parameter, value, sem if any, state.

    Args:
        trials: trials in the space.
        space: its parameters become columns by name, see `parameter_columns`.

    Raises:
        ImportError: if pandas is not installed.

    Example:
        >>> trial_frame([Trial(0, {"x": 0.5}).told(2.0)], Space({"x": (0.0, 1.0)}))
           number    x  value     state
        0       0  0.5    2.0  complete
    """
    try:
        import pandas as pd
    except ImportError as error:
        raise ImportError("to_frame needs pandas: pip install pandas.", name="pandas") from error
    points = [space.by_name(trial.params) for trial in trials]
    columns: dict[str, list[Any]] = {"number": [trial.number for trial in trials]}
    for name, column in parameter_columns(space).items():
        columns[column] = [point.get(name) for point in points]
    columns["value"] = trial_values(trials).tolist()
    if any(trial.sem is not None for trial in trials):
        columns["sem"] = [trial.sem for trial in trials]
    columns["state"] = [trial.state for trial in trials]
    return pd.DataFrame(columns)


def parameter_columns(space: Space) -> dict[str, str]:
    """The column of every parameter and fixed value in a table of trials, by name.

    It has the name of the parameter. A name in `COLUMNS` gets the prefix `PREFIX`, repeated until
    no other parameter has this name.

    Example:
        >>> parameter_columns(Space({"x": (0.0, 1.0), "value": (0.0, 1.0)}))
        {'x': 'x', 'value': 'params_value'}
    """
    columns = {name: name for name in space.columns}
    for name in columns.keys() & set(COLUMNS):
        while columns[name] in {*COLUMNS, *space.columns}:
            columns[name] = PREFIX + columns[name]
    return columns


def trials_in(frame: Any, space: Space) -> list[Trial]:
    """The trials of a table like `trial_frame`, without withdrawn ones, numbered from 0.

    Args:
        frame: a DataFrame with the columns of `trial_frame`; number, sem, state and fixed values
            may be missing. A value may be a text: a number, or one of `FAILED`. Without a column of
            states, missing and infinite values are failures. An empty state means pending, and a
            missing sem is unknown.
        space: the space of the parameters.

    Raises:
        TypeError: if frame is not a DataFrame.
        ValueError: if a column is missing, a point is outside the space, or a value or state is
            invalid.

    Warns:
        UserWarning: if there are other columns, which are ignored.

    Example:
        >>> import pandas as pd
        >>> trials_in(pd.DataFrame({"x": [0.5], "value": [2.0]}), Space({"x": (0.0, 1.0)}))[0].value
        2.0
    """
    if not (hasattr(frame, "columns") and hasattr(frame, "loc")):
        raise TypeError(f"frame must be a pandas DataFrame with a row per trial, got {frame!r}.")
    own = {column: name for name, column in parameter_columns(space).items()}
    _check_columns(list(frame.columns), own, space)
    if "state" not in frame.columns:
        frame = frame.assign(state="complete")
    states = ["pending" if is_missing(one) or one == "" else one for one in frame["state"]]
    frame = frame.assign(state=states)
    if unknown := sorted(set(frame["state"].map(str)) - set(get_args(State))):
        raise ValueError(
            f"the column 'state' of frame must hold {', '.join(get_args(State))}, got "
            f"{unknown[0]!r}."
        )
    frame = frame[frame["state"] != "withdrawn"]
    points = frame[[c for c in frame.columns if c not in COLUMNS]].rename(columns=own)
    params = space.as_legal(points, name="frame")
    values = real_numbers("the column 'value' of frame", frame["value"].map(_number))
    errors = np.full(len(frame), np.nan)
    if "sem" in frame.columns:
        errors = real_numbers("the column 'sem' of frame", frame["sem"])
        if (bad := errors[(errors < 0.0) | np.isinf(errors)]).size:
            raise ValueError(
                f"the column 'sem' of frame must hold standard errors, 0 or more and finite, or "
                f"NaN, got {bad[0]}."
            )
    has_value = [not is_missing(value) for value in frame["value"]]
    rows = zip(params, frame["state"], has_value, values.tolist(), errors.tolist(), strict=True)
    return [_trial(number, *row) for number, row in enumerate(rows)]


def _check_columns(given: Sequence[Any], own: Mapping[str, str], space: Space) -> None:
    """Checks that the column of values and the renamed columns of parameters exist."""
    if "value" not in given:
        raise ValueError(f"frame must have the column 'value', got {given}.")
    for column, name in own.items():
        if column != name and name in space.names and column not in given:
            raise ValueError(
                f"frame must have the column {column!r} for the parameter {name!r}, because "
                f"{name!r} is a column of every table of trials; got {given}."
            )


def _number(value: Any) -> Any:
    """The number of a text, NaN for a failure; anything else unchanged."""
    if not isinstance(value, str):
        return value
    found = np.nan if value.strip().lower() in FAILED else as_float(value)
    return value if found is None else found


def _trial(
    number: int, params: Any, state: State, has_value: bool, value: float, sem: float
) -> Trial:
    if state in ("waiting", "pending") and not has_value:
        return Trial(number, params, state)
    error = None if np.isnan(sem) else sem
    return Trial(number, params).told(np.nan if state == "failed" else value, error)
