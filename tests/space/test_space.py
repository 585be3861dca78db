"""The search space: tables of every kind, legal points only, and errors that name their cause."""

import math
import pickle
import re
from datetime import date, datetime
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from parameter_registry import COORDINATES, PARAMETERS, quick

from structbo import Categorical, Fixed, Integer, LinearConstraint, Ordinal, Real, Space

SPACES = st.lists(st.one_of(PARAMETERS.values()), min_size=1, max_size=4).map(Space)


def mixed_space():
    return Space(
        {
            "lr": (1e-5, 1e-1, "log"),
            "x": (0.0, 1.0),
            "layers": Integer(1, 8),
            "width": Integer(8, 1024, log=True),
            "batch": Ordinal([64, 16, 32]),
            "act": Categorical(["relu", "gelu", None]),
        }
    )


POINT = {"lr": 1e-3, "x": 0.25, "layers": 8, "width": 1024, "batch": 16, "act": None}


@quick
@given(SPACES, st.data())
def test_snap_is_legal_idempotent_and_what_from_unit_means(space, data):
    rows = st.lists(COORDINATES, min_size=space.num_dims, max_size=space.num_dims)
    unit = np.array(data.draw(st.lists(rows, min_size=1, max_size=3)))
    snapped = space.snap(unit)
    assert ((snapped >= 0) & (snapped <= 1)).all()
    np.testing.assert_array_equal(space.snap(snapped), snapped)
    for d, levels in enumerate(space.levels):
        if levels is None:
            np.testing.assert_array_equal(snapped[:, d], np.clip(unit[:, d], 0, 1))
        else:
            assert np.isin(snapped[:, d], levels).all()
    points = space.from_unit(unit)
    assert [list(point) for point in points] == [list(space.names)] * len(unit)
    assert space.from_unit(snapped) == points
    discrete = [levels is not None for levels in space.levels]
    np.testing.assert_array_equal(space.to_unit(points)[:, discrete], snapped[:, discrete])


@quick
@given(SPACES, st.data())
def test_legal_points_keep_the_values_that_were_given(space, data):
    rows = st.lists(COORDINATES, min_size=space.num_dims, max_size=space.num_dims)
    points = space.from_unit(np.array(data.draw(st.lists(rows, min_size=1, max_size=3))))
    assert space.as_legal(points) == points
    assert space.as_legal([list(point.values()) for point in points]) == points


def test_legal_values_have_the_types_of_their_parameters():
    given = {"lr": np.float32(1e-5), "x": np.int64(1), "layers": 8.0, "width": np.int64(8)}
    (point,) = mixed_space().as_legal({**given, "batch": np.int64(16), "act": np.nan})
    types = {"lr": float, "x": float, "layers": int, "width": int, "batch": int}
    assert {name: type(value) for name, value in point.items()} == {**types, "act": type(None)}
    assert (point["lr"], point["x"], point["act"]) == (1e-5, 1.0, None), "a bound is that bound"
    box = Space.box([[-1, 1], [0, 10]]).as_legal([0.1, 0.3])
    assert box.tolist() == [[0.1, 0.3]]


def test_fixed_values_are_in_every_point_and_take_no_coordinate():
    """They keep their position; points may omit them, and arrays have none."""
    space = Space({"a": Fixed([1, 2]), "x": (0.0, 1.0), "b": Fixed(None), "k": Integer(1, 3)})
    assert (space.num_dims, space.names, space.columns) == (2, ("x", "k"), ("a", "x", "b", "k"))
    assert space.fixed == {"a": (1, 2), "b": None}
    (point,) = space.from_unit([0.5, 1.0])
    assert list(point.items()) == [("a", (1, 2)), ("x", 0.5), ("b", None), ("k", 3)]
    tables = [point, [{"x": 0.5, "k": 3}], [[0.5, 3]], pd.DataFrame([point])]
    tables += [pd.DataFrame({"k": [3], "b": [np.nan], "x": [0.5]})]
    for table in tables:
        np.testing.assert_array_equal(space.to_unit(table), [[0.5, 1.0]])
        assert space.as_legal(table) == [point]
    assert Space(space) == space == pickle.loads(pickle.dumps(space)) == eval(repr(space))
    assert space != Space({**space.spec, "b": Fixed(0)})


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


def test_snap_keeps_the_shape_and_its_argument():
    space = Space([Integer(0, 2), (0, 1)])
    unit = np.full((4, 3, 2), 0.6)
    assert space.snap(unit).shape == (4, 3, 2)
    assert space.snap([0.6, 1.2]).tolist() == [0.5, 1.0]
    assert (unit == 0.6).all()


def test_attributes_of_a_mixed_space():
    space = mixed_space()
    assert space.names == ("lr", "x", "layers", "width", "batch", "act")
    assert space.num_dims == 6
    assert not space.is_box
    assert space.categorical == (5,)
    assert [None if v is None else len(v) for v in space.levels] == [None, None, 8, 1017, 3, 3]
    assert space.levels[4].tolist() == [0, 0.5, 1]
    assert space.num_points is None
    assert Space([Integer(1, 8), Ordinal([1, 2]), Categorical(["a"])]).num_points == 16


def test_a_mixed_point_goes_to_the_cube_and_back():
    unit = mixed_space().to_unit(POINT)
    np.testing.assert_allclose(unit, [[0.5, 0.25, 1, 1, 0.5, 1]])
    (back,) = mixed_space().from_unit(unit)
    assert back == {**POINT, "lr": pytest.approx(1e-3, rel=1e-15)}
    assert list(map(type, back.values())) == [float, float, int, int, int, type(None)]


def test_every_kind_of_table_gives_the_same_coordinates():
    space = mixed_space()
    points = [POINT, {**POINT, "act": "gelu", "layers": 2}]
    expected = space.to_unit(points)
    assert expected.shape == (2, 6)
    assert expected.dtype == np.float64
    frame = pd.DataFrame(points)
    rows = [list(point.values()) for point in points]
    tables = [
        frame,
        frame[frame.columns[::-1]],
        frame.convert_dtypes(),
        [dict(reversed(point.items())) for point in points],
        [frame.iloc[0], frame.iloc[1]],
        rows,
        [tuple(row) for row in rows],
        np.array(rows, dtype=object),
    ]
    for table in tables:
        np.testing.assert_array_equal(space.to_unit(table), expected)
    for point in (frame.iloc[0], rows[0], tuple(rows[0]), np.array(rows[0], dtype=object)):
        np.testing.assert_array_equal(space.to_unit(point), expected[:1])


def test_no_points_are_no_rows():
    for space in (mixed_space(), Space.box([[0, 1]] * 6)):
        for table in ([], np.empty((0, 6)), pd.DataFrame(columns=list(space.names))):
            assert space.to_unit(table).shape == (0, 6)
        assert len(space.from_unit(np.empty((0, 6)))) == 0
    assert space.from_unit(np.empty((0, 6))).shape == (0, 6)


def test_a_box_takes_and_gives_arrays():
    space = Space.box([[0, 1], [-5, 10]])
    assert space.is_box
    assert space.names == ("x0", "x1")
    X = np.array([[0.5, -5.0], [1.0, 10.0]])
    np.testing.assert_array_equal(space.to_unit(X), [[0.5, 0], [1, 1]])
    np.testing.assert_array_equal(space.to_unit(X.tolist()), [[0.5, 0], [1, 1]])
    np.testing.assert_array_equal(space.to_unit(X[0]), [[0.5, 0]])
    np.testing.assert_array_equal(space.to_unit({"x1": 10, "x0": 0.5}), [[0.5, 1]])
    back = space.from_unit([[0.5, 0], [2, 1]])
    assert isinstance(back, np.ndarray)
    np.testing.assert_array_equal(back, X)
    assert space.from_unit([0.5, 0]).shape == (1, 2)


def test_a_bound_in_single_precision_is_still_the_bound():
    space = Space.box([[0.1, 0.3], [1e-5, 0.1]])
    highs = np.array([[0.3, 0.1]], dtype=np.float32)
    assert highs.astype(float)[0, 0] > 0.3
    np.testing.assert_array_equal(space.to_unit(highs), [[1, 1]])


@quick
@given(PARAMETERS[Real], st.floats(0.0, 0.9e-6))
def test_round_off_is_forgiven_at_every_bound(parameter, slack):
    """The tolerance is relative to the range, on its scale; ten times as much is an error."""
    for bound, sign in ((parameter.low, -1.0), (parameter.high, 1.0)):
        for excess, is_forgiven in ((slack, True), (1e-5, False)):
            if parameter.log:
                value = bound * (parameter.high / parameter.low) ** (sign * excess)
            else:
                value = bound + sign * excess * (parameter.high - parameter.low)
            if is_forgiven:
                assert parameter.as_legal(value) == bound
            else:
                with pytest.raises(ValueError, match=r"value must be in \["):
                    parameter.to_unit(value)


def test_round_off_at_zero_is_that_of_sums():
    assert Real(0, 1).as_legal(1.0 - 0.9 - 0.1) == 0.0
    assert Real(-1, 0).as_legal(np.float32(1) - np.float32(0.9) - np.float32(0.1)) == 0.0
    assert Integer(0, 3).as_legal(1.0 - 0.9 - 0.1) == 0
    assert Integer(0, 10).as_legal(0.1 * 3 * 10) == 3
    assert Ordinal([0, 0.3, 1e-9]).as_legal(0.1 + 0.2) == 0.3
    assert Fixed(0.1).as_legal(np.float32(0.1)) == 0.1


@pytest.mark.parametrize("value", [2e-7, 1e-9 * 1.1, 0.3001, 1.0, math.inf, "0.3"])
def test_choices_that_differ_by_more_than_round_off_are_others(value):
    with pytest.raises(ValueError, match="value must be one of"):
        Ordinal([0, 0.3, 1e-9]).to_unit(value)


@pytest.mark.parametrize("value", [1234568, 1234567.01, True])
def test_whole_numbers_are_other_choices_however_large(value):
    with pytest.raises(ValueError, match="value must be one of"):
        Categorical([1234567, 1]).to_unit(value)


NUMBERS = [Decimal("0.5"), Fraction(1, 2), np.float16(0.5), np.longdouble(0.5), np.array(0.5)]


@pytest.mark.parametrize("number", NUMBERS, ids=lambda number: type(number).__name__)
def test_numbers_of_every_type_are_taken(number):
    space = Space({"x": (0.0, 1.0), "s": Real(0, 1, step=0.25), "c": Ordinal([0.1, 0.5])})
    (point,) = space.as_legal({"x": number, "s": number, "c": number})
    assert point == {"x": 0.5, "s": 0.5, "c": 0.5}
    assert [type(value) for value in point.values()] == [float] * 3
    assert Integer(0, 3).as_legal(2 * number) == 1
    assert Space({"x": (number, 1)}) == Space({"x": Real(0.5, 1.0)})


MISSING = [None, np.ma.masked, pd.NA, pd.NaT, math.nan, np.float32("nan"), np.datetime64("NaT")]


@pytest.mark.parametrize("missing", MISSING, ids=repr)
def test_what_is_missing_is_no_number_and_the_choice_none(missing):
    assert Categorical(["a", None]).as_legal(missing) is None
    for parameter in (Real(-1, 1), Integer(-1, 1)):
        with pytest.raises((TypeError, ValueError), match="value must be"):
            parameter.to_unit(missing)


def test_masked_coordinates_are_missing_and_not_zero():
    space = Space.box([[-1, 1], [-1, 1]])
    masked = np.ma.array([[0.1, 0.2], [0.3, 0.4]], mask=[[False, False], [True, False]])
    np.testing.assert_array_equal(space.as_legal(masked[:1]), [[0.1, 0.2]])
    for table in (masked, list(masked)):
        with pytest.raises(TypeError, match=r"\['x0'\]: value must be a number, got"):
            space.to_unit(table)


def test_a_date_is_found_however_a_table_stores_it():
    days = [date(2024, 1, 31), date(2024, 2, 1)]
    space = Space({"day": Categorical(days)})
    table = pd.DataFrame({"day": pd.to_datetime(days)})
    assert space.as_legal(table) == [{"day": day} for day in days]
    with pytest.raises(ValueError, match="value must be one of"):
        space.to_unit({"day": datetime(2024, 2, 1, 12)})


def test_other_columns_of_a_table_are_ignored_with_one_message():
    space = Space({"x": (0.0, 1.0), "n": Fixed(3)})
    table = pd.DataFrame({"date": ["1 May", "2 May"], "x": [0.0, 1.0], "n": 3, "note": None})
    with pytest.warns(UserWarning) as record:
        assert space.to_unit(table, name="X").tolist() == [[0.0], [1.0]]
    assert [str(w.message) for w in record] == [
        "X has other columns, which are ignored: 'date', 'note'."
    ]


def test_rows_are_named_by_the_index_of_their_table():
    table = pd.DataFrame({"x": [0.0, 9.0, 0.5]}, index=["run 1", "run 2", "run 3"])
    with pytest.raises(ValueError, match=r"X\['run 2'\]\['x'\]: value must be in"):
        Space({"x": (0.0, 1.0)}).to_unit(table, name="X")
    with pytest.raises(ValueError, match=r"X\[7\]\['x'\]: value must be in"):
        Space({"x": (0.0, 1.0)}).to_unit(table.set_axis([3, 7, 9]), name="X")


def test_a_space_is_made_from_each_short_form():
    bounds = [(0, 1), (-5.0, 10.0)]
    listed = Space(bounds)
    assert not listed.is_box
    assert listed == Space({"x0": (0, 1), "x1": (-5.0, 10.0)})
    assert Space(np.array(bounds)) == Space.box(bounds) != listed
    assert Space(Space.box(bounds)) == Space.box(bounds)
    assert Space(mixed_space()) == mixed_space()
    assert Space({"a": (1.0, 2.0, "log")}) == Space({"a": Real(1, 2, log=True)})


def test_a_space_survives_pickling_and_cannot_be_changed():
    space = mixed_space()
    assert pickle.loads(pickle.dumps(space)) == space
    with pytest.raises(AttributeError):
        space.names = ()
    with pytest.raises(ValueError, match="read-only"):
        space.levels[2][0] = 0.3


@pytest.mark.parametrize("space", [mixed_space(), Space.box([[0, 1], [-5, 10]])])
def test_the_repr_builds_the_space_again(space):
    names = {"Space": Space, "Real": Real, "Integer": Integer}
    again = eval(repr(space), {**names, "Ordinal": Ordinal, "Categorical": Categorical})
    assert again == space


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


def literal(message):
    """A pattern for the message that is literal except for ` .* `."""
    return " .* ".join(re.escape(part) for part in message.split(" .* "))


@pytest.mark.parametrize("bounds", [(1, 8), [1, 8], (np.int64(1), 8), (1, 8, "log")])
def test_integer_bounds_are_real_with_a_warning(bounds):
    message = (
        r"'k' takes all real numbers from 1 to 8: write Integer\(1, 8\) .* or \(1.0, 8.0\) for"
    )
    with pytest.warns(UserWarning, match=message) as warned:
        space = Space({"x": (0, 1), "y": (1, 8.0), "layers": Integer(1, 8), "k": bounds})
        assert Space(space).parameters[-1] == Real(1.0, 8.0, log="log" in bounds)
    assert [w.filename for w in warned] == [__file__]


@quick
@given(SPACES, st.data())
def test_rounded_points_are_the_same_ones(space, data):
    rows = st.lists(st.floats(0.0, 1.0), min_size=space.num_dims, max_size=space.num_dims)
    points = space.from_unit(np.array(data.draw(st.lists(rows, min_size=1, max_size=3))))
    exact, short = space.to_unit(points), space.to_unit(space.rounded(points))
    assert all(space.same(a, [b]).all() for a, b in zip(exact, short, strict=True))


def test_rounded_points_keep_constraints_and_stay_apart():
    limit = LinearConstraint({"a": 1.0, "b": 2.0}, high=0.53)
    space = Space({"a": (0.0, 1.0), "b": (0.0, 1.0)}, constraints=[limit])
    assert space.rounded([[0.10007, 0.21]]) == [{"a": 0.1001, "b": 0.21}]
    assert space.rounded([[0.10007, 0.214965]]) == [{"a": 0.10007, "b": 0.21496}]
    assert space.rounded([[0.3, 0.11112], [0.3, 0.111128]]) == [
        {"a": 0.3, "b": 0.1111},
        {"a": 0.3, "b": 0.11113},
    ]
    assert space.rounded([[0.3, 0.11112]], taken=[[0.3, 0.1111]]) == [{"a": 0.3, "b": 0.11112}]


def test_points_of_discrete_parameters_are_never_rounded():
    space = Space({"k": Integer(0, 10**5), "x": (0.0, 1.0)})
    unit = space.to_unit([[5, 0.12345], [6, 0.12345], [5, 0.1234]])
    assert space.same(unit[0], unit).tolist() == [True, False, True]
