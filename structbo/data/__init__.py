"""Observations: from tables of users to padded, standardized arrays."""

from structbo.data.checks import checked_data, checked_points, one_number
from structbo.data.data import Data, padded, padded_size, standardized
from structbo.data.table import Direction, direction_sign, observed_values, unit_points
from structbo.data.trial import Trial

__all__ = [
    "Data",
    "Direction",
    "Trial",
    "checked_data",
    "checked_points",
    "direction_sign",
    "observed_values",
    "one_number",
    "padded",
    "padded_size",
    "standardized",
    "unit_points",
]
