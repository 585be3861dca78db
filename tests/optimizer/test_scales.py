"""The posterior of an optimizer has the scale of its search, and converts to the user's units."""

from typing import Any

import numpy as np
import pytest
from short_runs import BOX, bowl, warped

from structbo import Optimizer
from structbo.data import Data
from structbo.draws import Chain
from structbo.models import AdditiveGP, main_effects
from structbo.posterior import Posterior

DRAW = {
    "lengthscale": np.full((1, 2, 2), 0.6),
    "outputscale": np.full((1, 2), 2.0),
    "noise": np.full((1, 2), 1e-4),
}


@pytest.fixture
def fitted(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """The arguments of calls of `fit`; the power of the search is 2.5."""
    calls: list[dict[str, Any]] = []

    def fit(model: Any, X: Any, y: Any, *, sem: Any, names: Any, **_: Any) -> Posterior:
        calls.append({"y": y, "sem": sem})
        return Posterior(model, X, y, DRAW, names=names, sem=sem)

    monkeypatch.setattr("structbo.optimizer.optimizer.fit", fit)
    monkeypatch.setattr(Chain, "warped", lambda self, data: warped(data, 2.5))
    return calls


def optimizer_with_losses(direction: Any = "minimize", **settings: Any) -> Optimizer:
    """An optimizer with skewed values, standard errors and one failure."""
    optimizer = Optimizer(BOX, direction, num_initial=20, model=AdditiveGP(main_effects()))
    for trial in optimizer.ask(20):
        loss = np.exp(bowl(trial.params))
        optimizer.tell(trial, (loss if direction == "minimize" else -loss, 1e-3))
    optimizer.tell([-1.0, 0.0], np.nan)
    return optimizer


@pytest.mark.parametrize("direction", ["minimize", "maximize"])
def test_the_posterior_is_of_the_values_of_the_search(
    fitted: list[dict[str, Any]], direction: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    searched: list[Data] = []
    advance = Chain.advance
    monkeypatch.setattr(Chain, "advance", lambda s, d: (searched.append(d), advance(s, d))[1])
    optimizer = optimizer_with_losses(direction)
    optimizer.ask()
    posterior = optimizer.posterior
    (data,) = searched
    np.testing.assert_allclose(fitted[0]["y"], np.asarray(data.y)[:21], atol=1e-9)
    np.testing.assert_allclose(fitted[0]["sem"] ** 2, np.asarray(data.known_noise)[:21], rtol=1e-6)
    assert not posterior.units.transform.is_linear


def test_predictions_are_in_units_of_the_objective(fitted: list[dict[str, Any]]) -> None:
    """They need no ask before, and a failure counts as the worst value."""
    optimizer = optimizer_with_losses()
    complete = [trial for trial in optimizer.trials if trial.state == "complete"]
    values = np.array([trial.value for trial in complete])
    mean, variance = optimizer.posterior.predict([trial.params for trial in complete])
    errors = np.abs(mean / values - 1.0)
    assert np.median(errors) < 0.05 and errors.max() < 0.25
    assert (np.sqrt(variance) < 0.5 * values).all()
    assert fitted[0]["y"][-1] == fitted[0]["y"].min()
    assert optimizer.best_trials(1)[0].mean == pytest.approx(values.min(), rel=0.1)
