"""The power transform of values: against SciPy, its slope, its inverse, and data with padding."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.stats import yeojohnson

from structbo.data import NO_WARPING, Data, Standardized, Warping
from structbo.models.foundation.precision import double_precision

POWERS = (-0.5, 0.0, 0.7, 1.0, 1.6, 2.0, 2.9)
VALUES = Standardized.of(np.random.default_rng(0).gumbel(size=40)).values


def data(known_noise: np.ndarray | None = None) -> Data:
    return Data.padded(np.zeros((len(VALUES), 1)), VALUES, known_noise)


@pytest.mark.parametrize("power", POWERS)
def test_it_is_that_of_yeo_and_johnson_standardized(power: float) -> None:
    with double_precision():
        warped = np.asarray(Warping.of(data(), power)(VALUES))
    expected = Standardized.of(yeojohnson(VALUES, power)).values
    np.testing.assert_allclose(warped, expected, atol=1e-12)


@pytest.mark.parametrize("power", POWERS)
def test_slope_and_inverse_belong_to_it(power: float) -> None:
    with double_precision():
        warping = Warping.of(data(), power)
        slopes = jax.vmap(jax.grad(lambda y: warping(y)))(jnp.asarray(VALUES))
        np.testing.assert_allclose(np.exp(warping.log_slope(VALUES)), slopes, rtol=1e-10)
        np.testing.assert_allclose(warping.inverse(warping(VALUES)), VALUES, atol=1e-10)


def test_below_the_worst_value_it_continues_as_its_tangent() -> None:
    """Without the tangent, a power above two would bound transformed values from below."""
    worst = VALUES.min()
    with double_precision():
        warping = Warping.of(data(), 2.9)
        slope = np.exp(float(warping.log_slope(worst)))
        beyond = worst - np.array([0.1, 3.0, 1e6])
        expected = float(warping(worst)) - slope * (worst - beyond)
        np.testing.assert_allclose(warping(beyond), expected, rtol=1e-12)
        np.testing.assert_allclose(warping.inverse(expected), beyond, rtol=1e-9)
        np.testing.assert_allclose(np.exp(warping.log_slope(beyond)), slope, rtol=1e-12)


def test_padding_stays_zero_and_known_noise_changes_with_the_slope() -> None:
    known = np.full(len(VALUES), 1e-4)
    with double_precision():
        warping = Warping.of(data(), 2.0)
        warped = warping.data(data(known))
        step = np.asarray(warping(VALUES + 1e-5) - warping(VALUES - 1e-5)) / 2e-3
    n = len(VALUES)
    assert (np.asarray(warped.y)[n:] == 0.0).all()
    np.testing.assert_allclose(np.asarray(warped.known_noise)[:n], step**2, rtol=1e-3)
    np.testing.assert_array_equal(np.asarray(warped.known_noise)[n:], 0.0)


def test_equal_values_and_a_power_of_one_stay_as_they_are() -> None:
    with double_precision():
        np.testing.assert_allclose(Warping.of(data(), 1.0)(VALUES), VALUES, atol=1e-12)
        np.testing.assert_array_equal(NO_WARPING(VALUES), NO_WARPING.inverse(VALUES))
        same = Data.padded(np.zeros((3, 1)), np.zeros(3))
        assert (np.asarray(Warping.of(same, 2.0).data(same).y) == 0.0).all()
