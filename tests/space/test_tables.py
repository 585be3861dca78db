"""Points in tables of every kind, with numbers of every type, dates and missing cells."""

import math
from datetime import date, datetime
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from spaces import POINT, mixed_space

from structbo import Categorical, Fixed, Integer, Ordinal, Real, Space


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
