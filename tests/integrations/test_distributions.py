"""Conversion between Optuna's distributions and parameters."""

import re
from typing import Any

import numpy as np
import pytest
from optuna.distributions import (
    BaseDistribution,
    CategoricalDistribution,
    FloatDistribution,
    IntDistribution,
)

from structbo import Categorical, Fixed, Integer, Ordinal, Real, Space
from structbo.integrations.distributions import (
    distribution_of,
    internal_space,
    parameter_of,
    rounded,
)
from structbo.space import Parameter

DISCRETE: dict[BaseDistribution, list[Any]] = {
    FloatDistribution(-10.2, 10.2, step=0.1): [round(-10.2 + 0.1 * i, 1) for i in range(205)],
    FloatDistribution(0.0, 0.9, step=0.3): [0.0, 0.3, 0.6, 0.9],
    IntDistribution(-2, 3): [-2, -1, 0, 1, 2, 3],
    IntDistribution(3, 9, step=2): [3, 5, 7, 9],
    IntDistribution(1, 5, log=True): [1, 2, 3, 4, 5],
    CategoricalDistribution((1, "a", None, True)): [1, "a", None],
}
"""All values of a distribution; Optuna does not distinguish True from 1."""


@pytest.mark.parametrize("distribution", DISCRETE, ids=str)
def test_levels_of_a_parameter_are_the_values_of_its_distribution(
    distribution: BaseDistribution,
) -> None:
    parameter = parameter_of(distribution)
    assert parameter.levels is not None
    values = [distribution.to_external_repr(parameter.from_unit(u)) for u in parameter.levels]
    if isinstance(distribution, FloatDistribution):
        np.testing.assert_allclose(values, DISCRETE[distribution], rtol=0, atol=1e-12)
    else:
        assert list(dict.fromkeys(values)) == DISCRETE[distribution]
    for value in values:
        assert distribution._contains(distribution.to_internal_repr(value))
        u = parameter.to_unit(distribution.to_internal_repr(value))
        assert distribution.to_external_repr(parameter.from_unit(u)) == value
    assert parameter.is_categorical == isinstance(distribution, CategoricalDistribution)


@pytest.mark.parametrize(
    ("distribution", "middle"),
    [
        (FloatDistribution(2.0, 4.0), 3.0),
        (FloatDistribution(1e-4, 1.0, log=True), 1e-2),
        (IntDistribution(1, 10**8, log=True), 10**4),
        (IntDistribution(0, 10**8), 5 * 10**7),
        (FloatDistribution(0.0, 10**8, step=0.5), 5e7),
        (IntDistribution(0, 10**8, step=2), 5 * 10**7),
        (FloatDistribution(0.0, 10**6, step=0.1), 5e5),
    ],
    ids=str,
)
def test_what_is_continuous_or_nearly_has_its_scale(
    distribution: BaseDistribution, middle: float
) -> None:
    parameter = parameter_of(distribution)
    assert parameter.levels is None
    assert rounded(distribution, parameter.from_unit(0.5)) == pytest.approx(middle)
    assert parameter.to_unit(middle) == pytest.approx(0.5)
    for u in np.linspace(0, 1, 101):
        value = rounded(distribution, parameter.from_unit(u))
        assert distribution._contains(value)
        assert value.is_integer() or isinstance(distribution, FloatDistribution)


def test_steps_outside_of_the_range_are_errors() -> None:
    with pytest.raises(ValueError, match="value must be in"):
        parameter_of(FloatDistribution(0.0, 1.0, step=0.25)).to_unit(1.25)


@pytest.mark.parametrize(
    "parameter",
    [
        Real(-1.0, 2.0),
        Real(1e-3, 1.0, log=True),
        Real(-1.0, 2.0, step=0.1),
        Integer(-3, 4),
        Integer(1, 64, log=True),
        Integer(3, 9, step=2),
        Ordinal([4, 8, 16]),
        Categorical(["a", None, 2.5, False]),
    ],
    ids=str,
)
def test_parameters_come_back_with_the_same_coordinates(parameter: Parameter) -> None:
    """They also stay categorical or not, which the model depends on."""
    space = Space({"p": parameter})
    distribution = distribution_of("p", parameter)
    (back,) = internal_space({"p": distribution}, space).parameters
    assert back.is_categorical == parameter.is_categorical
    for u in np.linspace(0, 1, 21):
        internal = distribution.to_internal_repr(parameter.from_unit(u))
        assert back.to_unit(internal) == parameter.to_unit(parameter.from_unit(u))
        assert distribution.to_external_repr(back.from_unit(u)) == parameter.from_unit(u)


def test_a_fixed_value_has_a_distribution_of_one() -> None:
    assert distribution_of("p", Fixed("adam")) == CategoricalDistribution(("adam",))
    with pytest.raises(ValueError, match="'p' of a study has choices that Optuna cannot store"):
        distribution_of("p", Fixed((1, 2)))


class Angle(Parameter):
    levels = None  # type: ignore[assignment]

    def to_unit(self, value: Any) -> float:
        return float(value) / 360.0

    def from_unit(self, u: float) -> float:
        return 360.0 * u


@pytest.mark.parametrize(
    ("parameter", "message"),
    [
        (Categorical([1, True]), "'p' of a study has choices that Optuna cannot .*: [True]. Name"),
        (Ordinal([(1, 2), (3, 4)]), "cannot store or tell apart: [(1, 2), (3, 4)]"),
        (Real(0.0, 1.0, step=1.0 / 3.0), "values that Optuna rounds to others: Real("),
        (Real(1e6, 1e6 + 1.0, step=1e-3), "values that Optuna rounds to others: Real("),
        (Angle(), "a type that Optuna does not have"),
    ],
)
def test_parameters_that_optuna_lacks_are_errors(parameter: Parameter, message: str) -> None:
    pattern = ".*".join(map(re.escape, message.split(".*")))
    with pytest.raises(ValueError, match=pattern):
        distribution_of("p", parameter)
