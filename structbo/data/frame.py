"""Trials as a table."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from structbo.data.trial import Trial
from structbo.space import Space

COLUMNS = ("number", "value", "state")
"""Columns that are no parameters."""


def trial_frame(trials: Sequence[Trial], space: Space) -> Any:
    """Trials as a pandas DataFrame: number, one column per parameter, value, state.

    Args:
        trials: of the space.
        space: its parameters are columns by name, ``params_number`` and so on for one that is named
            as another column.

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
    points = [_by_name(trial.params, space) for trial in trials]
    columns: dict[str, list[Any]] = {"number": [trial.number for trial in trials]}
    for name in space.columns:
        column = f"params_{name}" if name in COLUMNS else name
        columns[column] = [point.get(name) for point in points]
    columns["value"] = [np.nan if trial.value is None else trial.value for trial in trials]
    columns["state"] = [trial.state for trial in trials]
    return pd.DataFrame(columns)


def _by_name(params: Any, space: Space) -> dict[str, Any]:
    named: dict[str, Any] = (
        params if isinstance(params, dict) else dict(zip(space.names, params, strict=True))
    )
    return named
