"""Parameters: exact round trips, nearest levels, and distinct choices."""

import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from parameter_registry import COORDINATES, PARAMETERS, quick, reals, stepped

from structbo import Categorical, Integer, Ordinal, Real

DISCRETE = st.one_of(row for kind, row in PARAMETERS.items() if kind is not Real) | stepped()


def values(parameter):
    """All legal values of a discrete parameter, computed independently of it."""
    if isinstance(parameter, Integer):
        return list(range(parameter.low, parameter.high + 1, parameter.step))
    if isinstance(parameter, Real):
        steps = np.arange(len(parameter.levels)) * parameter.step
        return [round(value, 9) for value in (parameter.low + steps).tolist()]
    return list(parameter.choices)


@pytest.mark.parametrize(
    ("parameter", "value", "u"),
    [
        (Real(-5, 10), -2, 0.2),
        (Real(1e-4, 1, log=True), 1e-3, 0.25),
        (Integer(1, 9), 3, 0.25),
        (Integer(-1, 1), 0, 0.5),
        (Integer(10, 90, step=20), 30, 0.25),
        (Integer(1, 9, log=True), 3, 0.5),
        (Real(-1, 1, step=0.25), 0.5, 0.75),
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


@quick
@given(st.data(), reals())
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


def test_steps_are_decimal_numbers():
    """Values are 0.3, not 0.30000000000000004, and match after single precision."""
    real = Real(0, 1, step=0.1)
    assert [real.from_unit(u) for u in real.levels] == [k / 10 for k in range(11)]
    assert real.to_unit(np.float32(0.3)) == real.levels[3]
    assert real.as_legal(np.float32(0.3)) == 0.3
    assert Real(100, 200, step=0.1).as_legal(np.float32(150.3)) == 150.3
    assert Real(0, 1, step=1 / 3).from_unit(1.0) == 1.0


def test_what_is_between_steps_is_refused():
    with pytest.raises(ValueError, match=r"0.0 plus a multiple of 0.25, got 0.3; the nearest is 0"):
        Real(0, 1, step=0.25).to_unit(0.3)


@quick
@given(DISCRETE)
def test_discrete_values_round_trip_exactly(parameter):
    for value in values(parameter):
        back = parameter.from_unit(parameter.to_unit(value))
        assert back == value
        assert isinstance(back, type(value)) or isinstance(parameter, Real)
        if not isinstance(parameter, Integer | Real):
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


def test_choices_that_are_lists_come_back_as_tuples():
    """An objective that edits its point can therefore not edit the space."""
    widths = Categorical([[64], [64, [32]]])
    assert widths.choices == ((64,), (64, (32,)))
    assert widths.from_unit(widths.to_unit([64, [32]])) == (64, (32,))


@quick
@given(st.data(), PARAMETERS[Real], st.sampled_from([1e-4, 1e-6]))
def test_rounded_reals_are_short_legal_and_near(data, real, resolution):
    value = real.from_unit(data.draw(st.floats(0.0, 1.0)))
    short = real.rounded(value, resolution)
    assert real.low <= short <= real.high
    assert abs(real.to_unit(short) - real.to_unit(value)) <= resolution / 2
    assert len(repr(short)) <= len(repr(value))


def test_digits_follow_the_range():
    assert Real(1000.0, 1001.0).rounded(1000.123456, 1e-4) == 1000.1235
    assert repr(Real(-1.0, 1.0).rounded(-1e-9, 1e-4)) == "0.0"
    assert Real(0.0, 1.0).rounded(1e-4, 1e-4) == Real(1e-4, 1.0).rounded(1.3e-4, 1e-4) == 1e-4
    assert Real(0.0, 1e-6).rounded(1.23456789e-7, 1e-4) == 1.235e-7
    assert Real(0.0, 1.0, step=1 / 3).rounded(1 / 3, 1e-4) == 0.333333
    assert Integer(0, 10**6).rounded(123457, 1e-4) == 123457
    assert Ordinal([0.1 + 0.2, 1.0]).rounded(0.1 + 0.2, 1e-4) == 0.1 + 0.2
