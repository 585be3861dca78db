"""Optuna's public conformance suite for samplers."""

from collections.abc import Callable

import pytest
from optuna.samplers import BaseSampler
from optuna.testing.pytest_samplers import (
    BasicSamplerTestCase,
    RelativeSamplerTestCase,
    SingleOnlySamplerTestCase,
)

from structbo.integrations.optuna import StructboSampler

MANY = 100
"""More quasi-random points than any case evaluates: no model, hence fast."""


class TestQuasiRandom(BasicSamplerTestCase, RelativeSamplerTestCase, SingleOnlySamplerTestCase):
    @pytest.fixture
    def sampler(self) -> Callable[[], BaseSampler]:
        return lambda: StructboSampler(seed=0, num_initial=MANY)


@pytest.mark.nightly
class TestModel(BasicSamplerTestCase, RelativeSamplerTestCase):
    @pytest.fixture
    def sampler(self) -> Callable[[], BaseSampler]:
        return lambda: StructboSampler(seed=0, num_initial=1)
