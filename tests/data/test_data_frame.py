"""Rows of tables of pandas belong together by their index, and columns have names."""

import numpy as np
import pandas as pd
import pytest

from structbo.data import checked_data, column_names, in_order_of

X = pd.DataFrame({"b": [0.1, 0.2, 0.3], "a": [0.4, 0.5, 0.6]}, index=["p", "q", "r"])


def test_values_follow_the_index_of_their_points():
    shuffled = pd.Series([3.0, 1.0, 2.0], index=["r", "p", "q"])
    for y in (shuffled, shuffled.to_frame()):
        assert np.ravel(in_order_of(X, y)).tolist() == [1.0, 2.0, 3.0]
    points, values = checked_data(X, shuffled)
    np.testing.assert_array_equal(points, X.to_numpy())
    np.testing.assert_array_equal(values, [1.0, 2.0, 3.0])


@pytest.mark.parametrize("y", [[3.0, 1.0, 2.0], (3.0, 1.0, 2.0), np.array([3.0, 1.0, 2.0])])
def test_values_without_an_index_keep_their_order(y):
    assert in_order_of(X, y) is y
    series = pd.Series(y, index=["r", "p", "q"])
    assert in_order_of(X.to_numpy(), series) is series


def test_the_same_index_may_repeat_labels():
    repeated, y = X.set_axis([0, 0, 1]), pd.Series([1.0, 2.0, 3.0], index=[0, 0, 1])
    assert in_order_of(repeated, y) is y


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        ([0, 1, 2], "'p' is only in that of X"),
        (["p", "q", "r", "s"], "'s' is only in that of y"),
        (["p", "q", "q"], "'r' is only in that of X"),
        (["p", "q", "r", "r"], "'r' is twice in that of y"),
    ],
)
def test_another_index_is_refused(labels, message):
    y = pd.Series(np.arange(len(labels), dtype=float), index=labels)
    with pytest.raises(ValueError, match=rf"same index.*{message}.*y\.to_numpy\(\)"):
        in_order_of(X, y)


def test_names_of_columns():
    assert column_names(X) == ("b", "a")
    assert column_names(pd.DataFrame(np.eye(2))) == ()
    assert column_names(X.to_numpy()) == ()
