"""Values of the objective: numbers of every type, and missing values of every form."""

import datetime
from decimal import Decimal
from fractions import Fraction

import jax.numpy as jnp
import numpy as np
import pandas as pd
import pytest

from structbo import Optimizer
from structbo.data.values import one_number, real_numbers

HALVES = [
    0.5,
    Decimal("0.5"),
    Fraction(1, 2),
    np.float16(0.5),
    np.longdouble(0.5),
    np.array(0.5),
    np.array([[0.5]]),
    np.ma.array([0.5], mask=[False]),
    jnp.full(1, 0.5),
    pd.Series([0.5], dtype="Float64"),
]
MISSING = [
    None,
    float("nan"),
    np.float32("nan"),
    Decimal("NaN"),
    pd.NA,
    pd.NaT,
    np.datetime64("NaT"),
    np.ma.masked,
    np.ma.array(0.5, mask=True),
    np.ma.array([0.5], mask=[True]),
]
NO_NUMBERS = [
    "0.5",
    b"1",
    1j,
    [0.5],
    {},
    np.ones(2),
    np.empty(0),
    np.datetime64("2020-01-01", "ns"),
    datetime.date(2020, 1, 1),
    datetime.timedelta(3),
    pd.DataFrame({"a": [1.0]}),
]
TOO_LARGE = [10**400, -(10**5000), Fraction(10**400), Decimal("1e400"), np.longdouble("1e400")]


@pytest.mark.parametrize("value", HALVES, ids=lambda value: type(value).__name__)
def test_numbers_of_every_type(value):
    assert one_number("value", value) == 0.5
    assert one_number("value", np.True_) == 1.0


@pytest.mark.parametrize("value", MISSING, ids=repr)
def test_what_is_missing_in_every_form(value):
    """A told missing value is a failed evaluation; in a table, it is NaN."""
    assert np.isnan(one_number("value", value))
    told = Optimizer({"x": (0.0, 1.0)}).tell({"x": 0.5}, value)
    assert (told.state, told.value) == ("failed", None)
    if np.ndim(value) == 0:
        np.testing.assert_array_equal(real_numbers("y", [1, value, 2]), [1.0, np.nan, 2.0])


@pytest.mark.parametrize("value", NO_NUMBERS, ids=repr)
def test_what_is_no_number_is_named(value):
    with pytest.raises(ValueError, match="value must be one number, got"):
        one_number("value", value)


@pytest.mark.parametrize("value", TOO_LARGE, ids=lambda value: type(value).__name__)
def test_numbers_too_large_for_a_float_are_no_failures(value):
    with pytest.raises(ValueError, match="value must fit into a float, got") as error:
        one_number("value", value)
    assert len(str(error.value)) < 100
    with pytest.raises(ValueError, match="y must fit into a float, got"):
        real_numbers("y", np.array([1, value], dtype=object))


@pytest.mark.parametrize(
    "values",
    [
        np.ma.array([1, 7, 2], mask=[False, True, False]),
        [1, np.ma.masked, 2],
        pd.Series([1, None, 2], dtype="Int64"),
        pd.Series([1, None, 2], dtype="Float32"),
        pd.Series([1, None, 2], dtype=object),
        pd.Series(["1", None, "2"]).astype("Float64"),
        [Decimal(1), pd.NA, Fraction(2)],
        [Decimal(1), np.ma.masked, Fraction(2)],
        np.array([1, None, np.float32(2)], dtype=object),
    ],
    ids=lambda values: type(values).__name__,
)
def test_tables_with_missing_values(values):
    np.testing.assert_array_equal(real_numbers("y", values), [1.0, np.nan, 2.0])


@pytest.mark.parametrize(
    ("values", "shown"),
    [
        (["a", 1.0], "'a'"),
        (pd.Series(["x", 1.0]), "'x'"),
        ([1.0, 1j], r"\(1\+0j\)|1j"),
        (np.array(["2020-01-01"], "M8[D]"), r"np.datetime64\('2020-01-01"),
        ([1, [2]], r"\[1, \[2\]\]"),
        ({}, "{}"),
    ],
)
def test_tables_that_hold_anything_else_name_it(values, shown):
    with pytest.raises(ValueError, match=f"y must be numbers, got ({shown})"):
        real_numbers("y", values)


def test_arrays_keep_their_shape():
    assert real_numbers("y", []).shape == (0,)
    assert real_numbers("y", [[1, None], [3, 4]]).shape == (2, 2)
    assert real_numbers("y", np.array([True, False])).tolist() == [1.0, 0.0]
    assert real_numbers("y", [True, None])[0] == 1.0
