"""Importances of studies equal importances of the posterior, for any sampler."""

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import optuna
import pytest
from optuna.importance import get_param_importances

import structbo
from structbo import Ordinal
from structbo.integrations import read_study
from structbo.integrations.importance import StructboImportanceEvaluator
from structbo.integrations.optuna import StructboSampler
from structbo.models import AdditiveGP, main_effects
from structbo.posterior import Posterior

NUM_TRIALS = 30


def linear(trial: optuna.Trial) -> float:
    """The term 3 a has nine tenths of the variance, k one tenth, up to its discreteness."""
    a, k = trial.suggest_float("a", 0.0, 1.0), trial.suggest_int("k", 0, 100)
    trial.suggest_categorical("idle", ["u", "v"])
    trial.suggest_categorical("fixed", ["cpu"])
    if trial.number % 2:
        trial.suggest_float("sometimes", 0.0, 1.0)
    return 3.0 * a + k / 100.0


@pytest.fixture(scope="module")
def study() -> optuna.Study:
    study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=0))
    study.optimize(linear, n_trials=NUM_TRIALS)
    return study


def given(model: Any, X: np.ndarray, y: np.ndarray, *, names: Any, **_: Any) -> Posterior:
    """Draws of smooth functions with little noise, in place of a chain."""
    rng = np.random.default_rng(0)
    draws = {
        "lengthscale": rng.uniform(1.0, 2.0, (2, 4, X.shape[1])),
        "outputscale": rng.uniform(2.0, 3.0, (2, 4)),
        "noise": rng.uniform(1e-4, 2e-4, (2, 4)),
    }
    return Posterior(model, X, y, draws, names=names)


@pytest.fixture
def evaluator(monkeypatch: pytest.MonkeyPatch) -> StructboImportanceEvaluator:
    """An evaluator with given draws."""
    monkeypatch.setattr("structbo.optimizer.optimizer.fit", given)
    return StructboImportanceEvaluator(AdditiveGP(main_effects()))


def test_shares_are_those_of_the_function(
    study: optuna.Study, evaluator: StructboImportanceEvaluator
) -> None:
    shares = get_param_importances(study, evaluator=evaluator)
    assert list(shares) == ["a", "k", "idle", "fixed"]
    assert list(shares.values()) == pytest.approx([0.9, 0.1, 0.0, 0.0], abs=0.03)
    cost = get_param_importances(study, evaluator=evaluator, target=lambda t: t.params["k"])
    assert cost["k"] == pytest.approx(1.0, abs=0.03)


def test_the_posterior_is_the_one_of_a_report(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The transform of the values depends on the direction, the model on the order of choices."""
    fits: list[tuple[Any, list[float]]] = []

    def kept(model: Any, X: np.ndarray, y: np.ndarray, **_: Any) -> Posterior:
        fits.append((model, y.tolist()))
        raise InterruptedError

    url = f"sqlite:///{tmp_path}/runs.db"
    sampler = StructboSampler({"k": Ordinal([1, 2, 4]), "x": (0.0, 1.0)}, num_initial=99)
    study = optuna.create_study(direction="maximize", storage=url, sampler=sampler)
    study.optimize(
        lambda trial: (
            np.exp(5.0 * trial.suggest_float("x", 0.0, 1.0))
            * trial.suggest_categorical("k", [1, 2, 4])
        ),
        n_trials=8,
    )
    monkeypatch.setattr("structbo.optimizer.optimizer.fit", kept)
    with pytest.raises(InterruptedError):
        StructboImportanceEvaluator().importances(study)
    with pytest.raises(InterruptedError):
        _ = read_study(url).posterior
    assert fits[0] == fits[1]


@pytest.mark.nightly
@pytest.mark.filterwarnings("ignore::structbo.posterior.ConvergenceWarning")
def test_a_parameter_of_some_trials_only(
    study: optuna.Study, evaluator: StructboImportanceEvaluator, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The draws come from a short chain."""
    few = partial(structbo.fit, num_warmup=100, num_samples=40)
    monkeypatch.setattr("structbo.optimizer.optimizer.fit", few)
    found = evaluator.importances(study, ["a", "k", "sometimes"])
    assert found.names == ("a", "k", "sometimes")
    assert found.total.upper[2] < 0.1


def test_studies_without_importances_are_named(
    study: optuna.Study, evaluator: StructboImportanceEvaluator
) -> None:
    with pytest.raises(ValueError, match="no complete trials have all of a, b: leave out"):
        get_param_importances(study, evaluator=evaluator, params=["a", "b"])
    with pytest.raises(ValueError, match="no parameter is in all complete trials"):
        get_param_importances(optuna.create_study(), evaluator=evaluator)
    two = optuna.create_study(directions=["minimize", "minimize"])
    two.optimize(lambda trial: (trial.suggest_float("x", 0.0, 1.0), 0.0), n_trials=2)
    with pytest.raises(ValueError, match=r"the study has 2 objectives: give a target"):
        get_param_importances(two, evaluator=evaluator)
    one = optuna.create_study()
    one.optimize(lambda trial: trial.suggest_float("x", 0.0, 1.0), n_trials=1)
    with pytest.raises(ValueError, match="at least two complete trials"):
        get_param_importances(one, evaluator=evaluator)
