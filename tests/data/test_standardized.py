"""Standardized values and their inverse."""

import numpy as np
import pytest

from structbo.data import Standardized


@pytest.mark.parametrize("value", [0.1, 1e8, -1e308, 5e-324])
def test_equal_values_stay_equal(value: float) -> None:
    """Round-off of their mean must not be scaled up to a signal."""
    values, location, scale = Standardized.of(np.full(7, value))
    assert not values.any()
    np.testing.assert_allclose(location, value)
    assert scale == 1.0


def test_mean_is_zero_and_deviation_one() -> None:
    y = np.array([3.0, np.nan, 5.0, -1.0, np.inf])
    expected = np.array([3.0, -1.0, 5.0, -1.0, -1.0]) - 1.0
    assert np.allclose(Standardized.of(y).values, expected / expected.std())


@pytest.mark.parametrize(
    "given",
    [np.array([2.0, -7.0, 3.5]), 1.7e308 * np.linspace(-1.0, 1.0, 8), 1e-300 * np.arange(4.0)],
)
def test_the_way_back(given: np.ndarray) -> None:
    values, location, scale = Standardized.of(given)
    np.testing.assert_allclose(location + scale * values, given, atol=1e-12 * np.ptp(given / 2))
