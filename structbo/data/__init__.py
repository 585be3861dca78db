"""Observations: from users' tables to padded, standardized arrays."""

from structbo.data.checks import checked_data, checked_errors, checked_points
from structbo.data.data import (
    Data,
    Standardized,
    evenly_spaced,
    known_noise_argument,
    padded,
    padded_size,
    with_worst,
)
from structbo.data.data_frame import (
    column_names,
    in_order_of,
    parameter_columns,
    trial_frame,
    trials_in,
)
from structbo.data.inducing import inducing_first
from structbo.data.table import Direction, direction_sign, observed_values, unit_points
from structbo.data.transform import UNCHANGED, Transform
from structbo.data.trial import State, Trial, filled_errors, trial_values
from structbo.data.values import FAILED, MISSING, as_float, one_number, real_numbers
from structbo.data.warping import NO_WARPING, Warping

__all__ = [
    "FAILED",
    "MISSING",
    "NO_WARPING",
    "UNCHANGED",
    "Data",
    "Direction",
    "Standardized",
    "State",
    "Transform",
    "Trial",
    "Warping",
    "as_float",
    "checked_data",
    "checked_errors",
    "checked_points",
    "column_names",
    "direction_sign",
    "evenly_spaced",
    "filled_errors",
    "in_order_of",
    "inducing_first",
    "known_noise_argument",
    "observed_values",
    "one_number",
    "padded",
    "padded_size",
    "parameter_columns",
    "real_numbers",
    "trial_frame",
    "trial_values",
    "trials_in",
    "unit_points",
    "with_worst",
]
