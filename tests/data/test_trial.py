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


def test_the_text_of_a_trial_of_few_parameters_has_all():
    text = repr(Trial(3, {"x": 0.5, "act": "relu"}).told(2.0))
    expected = {"x": 0.5, "act": "relu"}
    assert text == f"Trial(number=3, params={expected}, state='complete', value=2.0, sem=None)"


@pytest.mark.parametrize("params", [{f"x{d}": 0.25 for d in range(300)}, np.full(300, 0.25)])
def test_the_text_of_a_trial_of_many_parameters_is_short(params: Any):
    text = repr(Trial(3, params))
    assert "0.25" in text and "..." in text and len(text) < 500
