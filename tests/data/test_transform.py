"""The transform between values of the objective and values of the model."""

import numpy as np
import pytest

from structbo.data import UNCHANGED, Data, Standardized, Transform, Warping
from structbo.models.foundation.precision import double_precision

LOSSES = np.exp(np.random.default_rng(0).normal(3.0, 1.0, 30))


def transform(sign: float, power: float) -> Transform:
    standardized = Standardized.of(sign * LOSSES)
    with double_precision():
        data = Data.padded(np.zeros((30, 1)), standardized.values)
        warping = Warping(*map(float, Warping.of(data, power)))
    return Transform(sign, standardized.location, standardized.scale, warping)


@pytest.mark.parametrize("sign", [1.0, -1.0])
@pytest.mark.parametrize("power", [1.0, 2.0, 2.7])
def test_there_and_back(sign: float, power: float) -> None:
    found = transform(sign, power)
    of_model = found(LOSSES)
    np.testing.assert_allclose([of_model.mean(), of_model.std()], [0.0, 1.0], atol=1e-9)
    assert (np.argsort(of_model) == np.argsort(sign * LOSSES)).all()
    np.testing.assert_allclose(found.inverse(of_model), LOSSES, rtol=1e-9)
    far = np.array([-9.0, 9.0])
    np.testing.assert_allclose(found(found.inverse(far)), far, rtol=1e-9)
    assert found.is_linear == (power == 1.0)


@pytest.mark.parametrize("power", [1.0, 2.7])
def test_errors_are_multiplied_by_the_slope(power: float) -> None:
    found, step = transform(-1.0, power), 1e-4
    slopes = (found(LOSSES - step) - found(LOSSES + step)) / (2.0 * step)
    slopes[LOSSES.max() == LOSSES] = found.errors(np.ones(1), LOSSES.max())  # a one-sided tangent
    np.testing.assert_allclose(found.errors(np.full(30, 0.5), LOSSES), 0.5 * slopes, rtol=1e-4)


def test_values_that_are_not_transformed_stay_as_they_are() -> None:
    np.testing.assert_allclose(UNCHANGED(LOSSES), LOSSES, rtol=1e-14)
    np.testing.assert_allclose(UNCHANGED.inverse(LOSSES), LOSSES, rtol=1e-14)
