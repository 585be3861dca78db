"""Trials are values: they can be compared, and be keys."""

from typing import Any

import numpy as np
import pytest

from structbo.data import Trial


@pytest.mark.parametrize("params", [{"x": 0.5, "act": "relu"}, np.array([0.5, 1.0])])
def test_equal_trials_are_one_key(params: Any) -> None:
    trial, others = Trial(3, params).told(2.0), [Trial(4, params).told(2.0), Trial(3, params)]
    notes = dict.fromkeys([trial, *others, Trial(3, params.copy()).told(2.0)])
    assert list(notes) == [trial, *others]
