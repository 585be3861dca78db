"""The search space: how it is made, its legal points, and its map to the unit cube."""

import pickle

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from parameter_registry import COORDINATES, quick
from spaces import POINT, SPACES, mixed_space

from structbo import Categorical, Fixed, Integer, Ordinal, Real, Space


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
    assert [list(point) for point in points] == [list(space.columns)] * len(unit)
    assert space.from_unit(snapped) == points
    discrete = [levels is not None for levels in space.levels]
    np.testing.assert_array_equal(space.to_unit(points)[:, discrete], snapped[:, discrete])


@quick
@given(SPACES, st.data())
def test_legal_points_keep_the_values_that_were_given(space, data):
    rows = st.lists(COORDINATES, min_size=space.num_dims, max_size=space.num_dims)
    points = space.from_unit(np.array(data.draw(st.lists(rows, min_size=1, max_size=3))))
    assert space.as_legal(points) == points
    rows = [[point[name] for name in space.names] for point in points]
    assert space.as_legal(rows) == points


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


def test_a_parameter_with_a_single_value_is_like_a_fixed_value():
    single = {"a": Categorical([None]), "k": Integer(3, 3), "o": Ordinal(["only"])}
    space = Space({**single, "x": (0.0, 1.0)})
    assert (space.names, space.columns) == (("x",), ("a", "k", "o", "x"))
    assert space.fixed == {"a": None, "k": 3, "o": "only"}
    assert space.from_unit([[0.5]]) == [{"a": None, "k": 3, "o": "only", "x": 0.5}]
    assert space.to_unit([{"x": 0.5}, {**space.fixed, "x": 1.0}]).tolist() == [[0.5], [1.0]]
    assert {name: space.spec[name] for name in single} == single
    with pytest.raises(ValueError, match=r"\['k'\]: value is fixed at 3, got 4"):
        space.to_unit({"x": 0.5, "k": 4})
    with pytest.raises(ValueError, match="spec must hold a parameter that varies"):
        Space(single)


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


@pytest.mark.parametrize("bounds", [(1, 8), [1, 8], (np.int64(1), 8), (1, 8, "log")])
def test_integer_bounds_are_real_with_a_warning(bounds):
    message = (
        r"'k' takes all real numbers from 1 to 8: write Integer\(1, 8\) .* or \(1.0, 8.0\) for"
    )
    with pytest.warns(UserWarning, match=message) as warned:
        space = Space({"x": (0, 1), "y": (1, 8.0), "layers": Integer(1, 8), "k": bounds})
        assert Space(space).parameters[-1] == Real(1.0, 8.0, log="log" in bounds)
    assert [w.filename for w in warned] == [__file__]
