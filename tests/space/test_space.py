"""The search space: exact round trips, legal points only, and errors that name their cause."""

import math
import pickle
import re

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from parameter_registry import PARAMETERS

from structbo import Categorical, Integer, Ordinal, Real, Space

quick = settings(max_examples=60, deadline=None)

COORDINATES = st.floats(-0.5, 1.5)
DISCRETE = st.one_of(row for kind, row in PARAMETERS.items() if kind is not Real)
SPACES = st.lists(st.one_of(PARAMETERS.values()), min_size=1, max_size=4).map(Space)


def values(parameter):
    """All legal values of a discrete parameter, without its own help."""
    if isinstance(parameter, Integer):
        return list(range(parameter.low, parameter.high + 1))
    return list(parameter.choices)


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


# Where a value sits


@pytest.mark.parametrize(
    ("parameter", "value", "u"),
    [
        (Real(-5, 10), -2, 0.2),
        (Real(1e-4, 1, log=True), 1e-3, 0.25),
        (Integer(1, 9), 3, 0.25),
        (Integer(-1, 1), 0, 0.5),
        (Integer(1, 9, log=True), 3, 0.5),
        (Integer(7, 7), 7, 0.5),
        (Integer(7, 7, log=True), 7, 0.5),
        (Ordinal([64, 16, 32]), 16, 0.5),
        (Categorical(list("abcde")), "d", 0.75),
        (Categorical(["only"]), "only", 0.5),
    ],
)
def test_a_value_sits_at_its_coordinate(parameter, value, u):
    assert parameter.to_unit(value) == pytest.approx(u, abs=1e-15)


def test_log_integers_sit_at_equal_ratios():
    levels = Integer(8, 1024, log=True).levels
    np.testing.assert_allclose(levels, np.log(np.arange(8, 1025) / 8) / np.log(128), atol=1e-15)


def test_a_coordinate_between_two_levels_goes_to_the_nearer():
    assert [Integer(0, 4).from_unit(u) for u in (0.12, 0.13, 0.37, 0.38)] == [0, 1, 1, 2]
    assert Integer(1, 100, log=True).from_unit(0.5) == 10


# Round trips and bounds, for every kind


@quick
@given(st.data(), PARAMETERS[Real])
def test_reals_round_trip_to_the_last_digits(data, real):
    value = data.draw(st.floats(real.low, real.high))
    wide = math.log(real.high / real.low) if real.log else 1
    scale = value if real.log else max(abs(real.low), abs(real.high))
    assert abs(real.from_unit(real.to_unit(value)) - value) <= 4 * (1 + wide) * np.spacing(scale)


@quick
@given(PARAMETERS[Real])
def test_reals_are_exact_at_their_bounds(real):
    assert (real.to_unit(real.low), real.to_unit(real.high)) == (0.0, 1.0)
    assert (real.from_unit(0.0), real.from_unit(1.0)) == (real.low, real.high)


@quick
@given(PARAMETERS[Real], COORDINATES)
def test_reals_never_leave_their_bounds(real, u):
    assert real.low <= real.from_unit(u) <= real.high


def test_a_real_inverse_that_rounds_past_its_bound_is_clipped():
    low, high = 0.71, 0.7100000000000001
    u = 5.190037287013293e-16
    assert low * (1 - u) + high * u < low
    assert Real(low, high).from_unit(u) == low


@pytest.mark.parametrize("real", [Real(-5, 10), Real(1e-5, 1e-1, log=True)])
def test_coordinates_far_outside_go_to_the_bounds(real):
    far = [real.from_unit(u) for u in (-math.inf, -1e9, 1e9, math.inf)]
    assert far == [real.low, real.low, real.high, real.high]


@quick
@given(DISCRETE)
def test_discrete_values_round_trip_exactly(parameter):
    for value in values(parameter):
        back = parameter.from_unit(parameter.to_unit(value))
        assert back == value
        assert type(back) is type(value)
        if not isinstance(parameter, Integer):
            assert back is value


@quick
@given(DISCRETE)
def test_levels_are_the_coordinates_of_the_values(parameter):
    levels = parameter.levels
    assert levels.tolist() == [parameter.to_unit(value) for value in values(parameter)]
    assert (np.diff(levels) > 0).all()
    assert (levels[0], levels[-1]) == ((0.0, 1.0) if len(levels) > 1 else (0.5, 0.5))


@quick
@given(DISCRETE, COORDINATES)
def test_discrete_coordinates_go_to_the_nearest_level(parameter, u):
    nearest = parameter.to_unit(parameter.from_unit(u))
    assert abs(u - nearest) == np.abs(parameter.levels - u).min()


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


def test_snap_keeps_the_shape_and_its_argument():
    space = Space([Integer(0, 2), (0, 1)])
    unit = np.full((4, 3, 2), 0.6)
    assert space.snap(unit).shape == (4, 3, 2)
    assert space.snap([0.6, 1.2]).tolist() == [0.5, 1.0]
    assert (unit == 0.6).all()


# What tells one choice from another


def test_true_and_one_are_two_choices():
    for parameter in (Categorical([True, 1, (True,), (1,)]), Ordinal([1, True, (1,), (True,)])):
        back = [parameter.from_unit(parameter.to_unit(value)) for value in parameter.choices]
        assert [repr(value) for value in back] == [repr(value) for value in parameter.choices]


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (np.int64(32), 32),
        (32.0, 32),
        (np.array(32), 32),
        (np.str_("relu"), "relu"),
        (np.bool_(True), True),
        ([64, 64], (64, 64)),
        (float("nan"), None),
        (pd.NA, None),
    ],
)
def test_a_choice_is_found_however_a_table_stores_it(given, expected):
    parameter = Categorical([32, "relu", True, (64, 64), None])
    back = parameter.from_unit(parameter.to_unit(given))
    assert back == expected
    assert type(back) is type(expected)


def test_numpy_choices_come_back_as_python_values():
    assert [type(value) for value in Ordinal(np.array([16, 32])).choices] == [int, int]


# Spaces and tables


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
    with pytest.raises(ValueError, match="must be in"):
        Space([(0, 1)]).to_unit([-1e-9])


def test_a_space_is_made_from_each_short_form():
    bounds = [(0, 1), (-5, 10)]
    listed = Space(bounds)
    assert not listed.is_box
    assert listed == Space({"x0": (0, 1), "x1": (-5, 10)})
    assert Space(np.array(bounds)) == Space.box(bounds) != listed
    assert Space(Space.box(bounds)) == Space.box(bounds)
    assert Space(mixed_space()) == mixed_space()
    assert Space({"a": (1, 2, "log")}) == Space({"a": Real(1, 2, log=True)})


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


# Errors


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: Real(1, 0), ValueError, "low must be below high, got low=1.0 and high=0.0"),
        (lambda: Real(1, 1), ValueError, "low must be below high"),
        (lambda: Real(0, math.inf), ValueError, "must be finite, got low=0.0, high=inf"),
        (lambda: Real(math.nan, 1), ValueError, "must be finite, got low=nan"),
        (lambda: Real(0, 1, log=True), ValueError, "log needs low > 0, got low=0.0"),
        (lambda: Real(-1e308, 1e308), ValueError, "too wide"),
        (lambda: Real(1e-300, 1e300, log=True), ValueError, "too wide"),
        (lambda: Real(0, 10**400), ValueError, "high must fit into a float, got 1000"),
        (lambda: Real("0", 1), TypeError, "low must be a number, got '0'"),
        (lambda: Real(False, 1), TypeError, "low must be a number, got False"),
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
        (pd.DataFrame([{"y": 1.0, **POINT}]), ValueError, "points must have .* unknown 'y'"),
        (pd.DataFrame([[*POINT.values(), 1]], columns=[*POINT, "x"]), ValueError, "repeated 'x'"),
        ([list(POINT.values())[:5]], ValueError, "points[0] must hold 6 values .* got 5"),
        (np.zeros((4, 3)), ValueError, "points[0] must hold 6 values .* got 3"),
        (np.zeros((1, 6, 1)), TypeError, "points[0]['lr']: value must be a number, got [0.0]"),
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
    """A pattern for the message, in which only ` .* ` is not literal."""
    return " .* ".join(re.escape(part) for part in message.split(" .* "))
