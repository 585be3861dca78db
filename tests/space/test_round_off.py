"""Values beside a bound or a choice by round-off, and points with fewer digits."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from parameter_registry import PARAMETERS, quick
from spaces import SPACES

from structbo import Categorical, Fixed, Integer, LinearConstraint, Ordinal, Real, Space


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


def test_round_off_of_large_numbers_is_less_than_a_step():
    with pytest.raises(ValueError, match=r"plus a multiple of 0\.5, got 1000000\.26"):
        Real(1e6, 1e6 + 10, step=0.5).as_legal(1e6 + 0.26)


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
