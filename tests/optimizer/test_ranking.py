"""The best trials by their posterior means."""

from typing import Any

import numpy as np
import pytest

from structbo import Optimizer, default_model
from structbo.models import AdditiveGP, main_effects
from structbo.optimizer import Result
from structbo.posterior import Posterior

SPACE = {"x": (0.0, 4.0)}
DRAWS = {
    "lengthscale": np.full((1, 2, 1), 0.5),
    "outputscale": np.array([[1.0, 2.0]]),
    "noise": np.array([[0.3, 0.4]]),
}


@pytest.fixture(params=["minimize", "maximize"])
def told(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Optimizer:
    """A parabola around 3 with a lucky value at 1, two values at 3, a failure and a pending one."""

    def given(model: Any, X: Any, y: Any, *, names: Any, **_: Any) -> Posterior:
        return Posterior(model, X, y, DRAWS, names=names)

    monkeypatch.setattr("structbo.optimizer.optimizer.fit", given)
    optimizer = Optimizer(SPACE, request.param, model=AdditiveGP(main_effects()), num_initial=100)
    sign = 1.0 if request.param == "minimize" else -1.0
    for x in [0.0, 0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 3.5, 4.0, 3.0]:
        lucky = 6.0 if x == 1.0 else 0.0
        optimizer.tell({"x": x}, sign * ((x - 3.0) ** 2 - lucky))
    optimizer.tell({"x": 0.1})
    optimizer.ask()
    return optimizer


def test_the_best_trials_are_those_with_the_best_means(told: Optimizer) -> None:
    estimates = told.best_trials(20)
    assert told.best.params == {"x": 1.0}, "the lucky one"
    best = estimates[0]
    assert best.trial.number == 6 and best.trial.params == {"x": 3.0}
    means = [e.mean for e in estimates]
    assert means == sorted(means, reverse=told.direction == "maximize")
    assert sorted(e.trial.number for e in estimates) == list(range(9)), "one for every point"
    mean, variance = told.posterior.predict([e.trial.params for e in estimates])
    np.testing.assert_allclose(means, mean, rtol=1e-9)
    np.testing.assert_allclose([e.deviation for e in estimates], np.sqrt(variance), rtol=1e-9)
    assert abs(best.mean) < 1.0, "in the units of the objective"


def test_a_result_has_them_too(told: Optimizer) -> None:
    assert Result(told).best_trials(3) == told.best_trials(3)
    assert len(Result(told).best_trials()) == 1


def test_too_few_values_and_wrong_numbers_are_named() -> None:
    optimizer = Optimizer(SPACE, model=default_model())
    with pytest.raises(ValueError, match="needs at least two complete trials"):
        optimizer.best_trials()
    for x in (0.0, 1.0):
        optimizer.tell({"x": x}, x)
    with pytest.raises(ValueError, match="n must be an integer of at least 1, got 0"):
        optimizer.best_trials(0)
