"""Wrong spaces, points and coordinates: errors that name their cause."""

import math
import re
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest
from spaces import POINT, mixed_space

from structbo import Categorical, Fixed, Integer, Ordinal, Real, Space


def literal(message):
    """A pattern for the message that is literal except for ` .* `."""
    return " .* ".join(re.escape(part) for part in message.split(" .* "))


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: Real(1, 0), ValueError, "low must be below high, got low=1.0 and high=0.0"),
        (lambda: Real(1, 1), ValueError, "got 1.0 for both; use Fixed(1.0) for a constant"),
        (lambda: Real(0, 1, log="no"), TypeError, "log must be True or False, got 'no'"),
        (lambda: Real(0, Decimal("1e400")), ValueError, "high must fit into a float, got Decimal"),
        (lambda: Real(0, 10**5000), ValueError, "got an integer of thousands of digits"),
        (lambda: Integer(1, 8, step=2), ValueError, "high=8 and step=2; high=7 would do"),
        (lambda: Integer(1, 2, step=3), ValueError, "high=2 and step=3; high=4 would do"),
        (lambda: Integer(1, 9, step=0), ValueError, "step must be at least 1, got 0"),
        (lambda: Integer(1, 9, step=0.5), ValueError, "step must be an integer, got 0.5"),
        (lambda: Integer(1, 9, log=True, step=2), ValueError, "step and log exclude each other"),
        (lambda: Real(0, math.inf), ValueError, "must be finite, got low=0.0, high=inf"),
        (lambda: Real(math.nan, 1), ValueError, "must be finite, got low=nan"),
        (lambda: Real(0, 1, log=True), ValueError, "log needs low > 0, got low=0.0"),
        (lambda: Real(-1e308, 1e308), ValueError, "too wide"),
        (lambda: Real(1e-300, 1e300, log=True), ValueError, "too wide"),
        (lambda: Real(0, 10**400), ValueError, "high must fit into a float, got 1000"),
        (lambda: Real("0", 1), TypeError, "low must be a number, got '0'"),
        (lambda: Real(False, 1), TypeError, "low must be a number, got False"),
        (
            lambda: Real(0, 1, step=0.3),
            ValueError,
            "high=1.0 and step=0.3; high=0.9 would",
        ),
        (lambda: Real(0, 1, step=3), ValueError, "step=3.0; high=3.0 would do"),
        (lambda: Real(0, 1, step=-0.1), ValueError, "step must be positive, got -0.1"),
        (lambda: Real(1, 2, True, step=1), ValueError, "step and log exclude each other"),
        (lambda: Real(0, 1, step=1e-9), ValueError, "makes more than 1048576 values"),
        (lambda: Fixed({"a": 1}), TypeError, "value must be hashable, got {'a': 1}"),
        (lambda: Space({"a": Fixed(1)}), ValueError, "spec must hold a parameter that varies"),
        (lambda: Integer(8, 1), ValueError, "low must not exceed high, got low=8 and high=1"),
        (lambda: Integer(0, 8, log=True), ValueError, "log needs low >= 1, got low=0"),
        (lambda: Integer(0.5, 8), ValueError, "low must be an integer, got 0.5"),
        (lambda: Integer(0, math.inf), ValueError, "high must be an integer, got inf"),
        (lambda: Integer(0, 2**20), ValueError, "at most 1048576 integers .* use Real"),
        (lambda: Integer(2**53, 2**53 + 1), ValueError, "magnitude at most 2**53"),
        (lambda: Integer(-(10**400), 1 - 10**400), ValueError, "too large"),
        (lambda: Ordinal([]), ValueError, "choices must hold at least one"),
        (lambda: Categorical("relu"), TypeError, "choices must be a list, got 'relu'"),
        (lambda: Categorical({"a"}), TypeError, "choices must be a list, got {'a'}"),
        (lambda: Categorical(3), TypeError, "choices must be a list, got 3"),
        (lambda: Categorical(["a", "b", "a"]), ValueError, "must differ, got ['a', 'a']"),
        (lambda: Ordinal([1, 2, 1.0]), ValueError, "must differ, got [1, 1.0]"),
        (lambda: Ordinal([None, math.nan]), ValueError, "must differ, got [None, nan]"),
        (lambda: Categorical([{"a": 1}]), TypeError, "must be hashable, got [{'a': 1}]"),
        (lambda: Space({}), ValueError, "spec must hold at least one parameter"),
        (lambda: Space([]), ValueError, "spec must hold at least one parameter"),
        (lambda: Space({1: (0, 1)}), TypeError, "non-empty strings as names, got 1"),
        (lambda: Space({"": (0, 1)}), TypeError, "non-empty strings as names, got ''"),
        (lambda: Space("lr"), TypeError, "spec must be a dict, a list, an array"),
        (lambda: Space(3), TypeError, "spec must be a dict, a list, an array"),
        (lambda: Space({"lr": (1, 0)}), ValueError, "parameter 'lr': low must be below high"),
        (lambda: Space({"lr": (0, 1, "log")}), ValueError, "parameter 'lr': log needs"),
        (
            lambda: Space({"lr": (1, 2, "lin")}),
            TypeError,
            "parameter 'lr' must be .* got (1, 2, 'l",
        ),
        (
            lambda: Space({"act": ["relu", "gelu"]}),
            TypeError,
            "'act' must be .* Categorical([...])",
        ),
        (lambda: Space({"n": Integer}), TypeError, "parameter 'n' must be"),
        (lambda: Space.box([[0, 1, 2]]), ValueError, "bounds must have shape (D, 2), .* (1, 3)"),
        (lambda: Space(np.zeros(2)), ValueError, "bounds must have shape (D, 2), .* (2,)"),
        (lambda: Space.box([[0, 1], [2, 1]]), ValueError, "'x1': low must be below high"),
        (lambda: Space.box([[0, "a"]]), TypeError, "bounds must be numbers of shape (D, 2)"),
        (lambda: Space.box(np.empty((0, 2))), ValueError, "at least one parameter"),
    ],
)
def test_a_wrong_space_is_refused(make, error, message):
    with pytest.raises(error, match=literal(message)):
        make()


def with_value(**changes):
    return [POINT, {**POINT, **changes}]


@pytest.mark.parametrize(
    ("points", "error", "message"),
    [
        (with_value(lr=0.2), ValueError, "points[1]['lr']: value must be in [1e-05, 0.1], got 0.2"),
        (
            with_value(x=-0.001),
            ValueError,
            "points[1]['x']: value must be in [0.0, 1.0], got -0.001",
        ),
        (with_value(x=math.nan), ValueError, "'x']: value must be in [0.0, 1.0], got nan"),
        (with_value(x=math.inf), ValueError, "'x']: value must be in [0.0, 1.0], got inf"),
        ({**POINT, "x": math.inf}, ValueError, "points['x']: value must be in [0.0, 1.0], got inf"),
        (with_value(x=None), TypeError, "'x']: value must be a number, got None"),
        (with_value(x="0.5"), TypeError, "'x']: value must be a number, got '0.5'"),
        (with_value(x=True), TypeError, "'x']: value must be a number, got True"),
        (with_value(x=[0.1, 0.2]), TypeError, "'x']: value must be a number, got [0.1, 0.2]"),
        (with_value(layers=2.5), ValueError, "'layers']: value must be an integer, got 2.5"),
        (with_value(layers=math.nan), ValueError, "'layers']: value must be an integer, got nan"),
        (with_value(layers=9), ValueError, "'layers']: value must be in {1, ..., 8}, got 9"),
        (with_value(layers=0), ValueError, "'layers']: value must be in {1, ..., 8}, got 0"),
        (with_value(layers=True), TypeError, "'layers']: value must be a number, got True"),
        (with_value(batch=48), ValueError, "'batch']: value must be one of [64, 16, 32], got 48"),
        (with_value(act="rleu"), ValueError, "got 'rleu' (did you mean 'relu'?)"),
        (with_value(act={}), ValueError, "one of ['relu', 'gelu', None], got {}"),
        ([POINT, {"x": 1}], ValueError, "points[1] must have exactly the names .* missing 'lr'"),
        ({**POINT, "layer": 1}, ValueError, "unknown 'layer' (did you mean 'layers'?)"),
        (
            pd.DataFrame([{**POINT, "Act": 1}]).drop(columns="act"),
            ValueError,
            "points must have the columns .* missing 'act' (did you mean 'Act'?)",
        ),
        (pd.DataFrame([[*POINT.values(), 1]], columns=[*POINT, "x"]), ValueError, "repeated 'x'"),
        ([list(POINT.values())[:5]], ValueError, "points must hold 6 values .* got 5"),
        (np.zeros((4, 3)), ValueError, "points[0] must hold 6 values .* got 3"),
        (np.zeros((1, 6, 1)), TypeError, "points['lr']: value must be a number, got [0.0]"),
        (0.5, TypeError, "points must be dicts, a DataFrame or an array, got 0.5"),
        ("lr", TypeError, "points must be dicts, a DataFrame or an array, got 'lr'"),
    ],
)
def test_wrong_points_are_refused(points, error, message):
    with pytest.raises(error, match=literal(message)):
        mixed_space().to_unit(points)


@pytest.mark.parametrize(
    ("points", "message"),
    [
        ([{"x": 0.5, "a": 2}], r"points\['a'\]: value is fixed at 1, got 2"),
        (pd.DataFrame({"x": [0.0, 1.0], "a": [1, True]}), r"points\[1\]\['a'\]: .* got True"),
        ([{"x": 0.5, "a": np.zeros(2)}], r"is fixed at 1, got array"),
        ([{"x": 0.5, "b": 1}], r"unknown 'b'"),
        ([{"a": 1}], r"missing 'x'"),
        ([[0.5, 1]], r"points must hold 1 values \['x'\], got 2"),
    ],
)
def test_other_values_than_the_fixed_ones_are_refused(points, message):
    with pytest.raises(ValueError, match=message):
        Space({"x": (0.0, 1.0), "a": Fixed(1)}).to_unit(points)


def test_a_column_of_points_is_asked_for_as_one():
    with pytest.raises(ValueError, match=r"hold 1 values \['x0'\], got 3; .* shape \(n, D\)"):
        Space.box([[0, 1]]).to_unit(np.zeros(3))


@pytest.mark.parametrize(
    ("unit", "message"),
    [
        (0.5, "unit must have shape (..., 2), got ()"),
        ([0.5], "unit must have shape (..., 2), got (1,)"),
        ([[0.5, math.nan]], "unit must not hold NaN"),
    ],
)
def test_wrong_coordinates_are_refused(unit, message):
    space = Space([(0, 1), Integer(1, 2)])
    for method in (space.snap, space.from_unit):
        with pytest.raises(ValueError, match=literal(message)):
            method(unit)
    with pytest.raises(ValueError, match=r"unit must have shape \(n, D\) or \(D,\), got \(1, 1, 2"):
        space.from_unit(np.zeros((1, 1, 2)))


@pytest.mark.parametrize("spec", [{f"x{d}": (0.0, 1.0) for d in range(300)}, [(0.0, 1.0)] * 300])
@pytest.mark.parametrize("point", [{}, [0.5] * 299])
def test_messages_about_hundreds_of_names_are_short(spec: object, point: object):
    with pytest.raises(ValueError, match=r"300") as error:
        Space(spec).to_unit([point])
    assert len(str(error.value)) < 800
