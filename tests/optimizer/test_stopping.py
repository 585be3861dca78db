"""Runs that end early: by a user's callback, or when the expected gain is small."""

import logging
import pickle
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.stats import yeojohnson
from short_runs import BOX, MANY, bowl, given_draws, minimize, warped

from structbo import Optimizer, StopBelowGain, StopSearch, Trial
from structbo.draws import Chain
from structbo.models import AdditiveGP, main_effects
from structbo.models.foundation.precision import double_precision


def stop_after(number: int) -> Any:
    def callback(optimizer: Optimizer, trial: Trial) -> None:
        if trial.number >= number:
            raise StopSearch("enough")

    return callback


def test_a_callback_ends_the_run(caplog: pytest.LogCaptureFixture) -> None:
    """Later callbacks are still called, and the run can be continued."""
    seen: list[int] = []
    callbacks = [stop_after(2), lambda _, trial: seen.append(trial.number)]
    with caplog.at_level(logging.INFO, "structbo"):
        result = minimize(bowl, BOX, 10, num_initial=MANY, callbacks=callbacks)
    assert [t.state for t in result.trials] == ["complete"] * 3
    assert seen == [0, 1, 2]
    assert "stopping after trial 2: enough" in caplog.messages
    assert len(minimize(bowl, n_trials=4, optimizer=result.optimizer).trials) == 7


def test_evaluations_under_way_are_told(tmp_path: Path) -> None:
    run = partial(minimize, bowl, BOX, 10, num_initial=MANY, callbacks=[stop_after(0)])
    with ThreadPoolExecutor(3) as pool:
        result = run(executor=pool, n_jobs=3)
    assert 3 <= len(result.trials) < 6
    assert {t.state for t in result.trials} == {"complete"}
    kept = run(storage=f"sqlite:///{tmp_path}/runs.db")
    assert [t.state for t in kept.trials] == ["complete"]


def test_an_objective_cannot_end_the_run() -> None:
    """`StopSearch` from the objective counts as an exception of the evaluation."""

    def objective(point: np.ndarray) -> float:
        raise StopSearch

    with pytest.raises(StopSearch) as info:
        minimize(objective, BOX, 3, num_initial=MANY)
    assert info.value.optimizer.trials[0].state == "failed"  # type: ignore[attr-defined]


def trials_until_the_stop(stopper: StopBelowGain, gains: Iterable[float | None]) -> int | None:
    for number, gain in enumerate(gains, 1):
        try:
            stopper(SimpleNamespace(expected_gain=gain), Trial(number, {}))  # type: ignore[arg-type]
        except StopSearch:
            return number
    return None


@pytest.mark.parametrize(
    ("gains", "stop"),
    [
        ([0.09, 0.08, 0.07], 3),
        ([0.09, 0.08, 0.1, 0.09, 0.08, 0.07], 6),
        ([None, None, None, 0.0, 0.0, 0.0], 6),
        ([0.09, 0.08, None, 0.07, 0.06], None),
        ([0.09, 0.09, 0.09, 0.08, 0.08, 0.07], 6),  # batches count once
    ],
)
def test_only_small_gains_in_a_row_end_the_run(gains: list[float | None], stop: int | None) -> None:
    stopper = StopBelowGain(0.1, patience=3)
    assert trials_until_the_stop(pickle.loads(pickle.dumps(stopper)), gains) == stop


def test_a_stopper_starts_afresh_after_its_stop() -> None:
    stopper = StopBelowGain(0.1, patience=2)
    assert [trials_until_the_stop(stopper, [0.0] * 5) for _ in range(2)] == [2, 2]


def test_the_gain_is_the_largest_expected_improvement_in_units_of_the_objective() -> None:
    settings: Any = {"model": AdditiveGP(main_effects()), "inference": given_draws}
    optimizer = Optimizer(BOX, "maximize", num_initial=4, criterion="log_ei", **settings)
    for _ in range(4):
        trial = optimizer.ask()
        optimizer.tell(trial, -1000.0 * bowl(trial.params))
        assert optimizer.expected_gain is None
    values = [trial.value for trial in optimizer.trials]
    trial = optimizer.ask()
    random = BOX[:, 0] + np.ptp(BOX, axis=1) * np.random.default_rng(0).random((300, 2))
    scores, _ = optimizer.score(np.vstack([trial.params, random]))
    gain = optimizer.expected_gain
    assert gain == pytest.approx(np.std(values) * np.exp(scores[0]), rel=1e-12)
    assert scores[0] >= scores.max()
    optimizer.tell(trial, -1000.0 * bowl(trial.params))
    assert optimizer.expected_gain == gain, "it is that before the evaluation"


@pytest.mark.parametrize("criterion", ["log_ei", "log_eqi", "interior_ei"])
def test_the_gain_of_warped_values_is_in_units_of_the_objective(
    monkeypatch: pytest.MonkeyPatch, criterion: str
) -> None:
    """The reference is simulated: the mean improvement of unwarped normal variables over draws."""
    monkeypatch.setattr(Chain, "warped", lambda self, data: warped(data, 2.5))
    model = AdditiveGP(main_effects())
    optimizer = Optimizer(BOX, "maximize", num_initial=6, model=model, criterion=criterion)
    for _ in range(6):
        trial = optimizer.ask()
        optimizer.tell(trial, -1000.0 * bowl(trial.params))
    values = np.array([trial.value for trial in optimizer.trials])
    point = optimizer.space.to_unit([optimizer.ask().params])
    given = (values - values.mean()) / values.std()
    raised = yeojohnson(given, 2.5)

    def objective(warped_values: np.ndarray) -> np.ndarray:
        """Unwarped values by SciPy's transform, interpolated; linear below the worst value."""
        fine = np.linspace(given.min(), 12.0, 200_000)
        scaled = (yeojohnson(fine, 2.5) - raised.mean()) / raised.std()
        slope = (scaled[1] - scaled[0]) / (fine[1] - fine[0])
        below = given.min() + (warped_values - scaled[0]) / slope
        inside = np.interp(warped_values, scaled, fine)
        return values.mean() + values.std() * np.where(warped_values < scaled[0], below, inside)

    acquisition = optimizer._engine._acquisition
    assert acquisition is not None
    gains, normal = [], np.random.default_rng(0).standard_normal(200_000)
    with double_precision():
        for k, context in enumerate(np.asarray(acquisition.contexts)):
            draw = jax.tree.map(lambda leaf, k=k: jnp.asarray(leaf)[k], acquisition.draws)
            mean, variance = (np.asarray(moment)[0] for moment in draw.predict(jnp.asarray(point)))
            best, noise = np.ravel(context)[0], context[1] if criterion == "log_eqi" else 0.0
            reached = mean + variance / np.sqrt(variance + noise) * normal
            gains.append(np.maximum(objective(reached) - objective(best), 0.0))
    error = np.std(np.mean(gains, 0)) / np.sqrt(len(normal))
    assert abs(optimizer.expected_gain - np.mean(gains)) < 4.0 * error


def test_the_gain_needs_expected_improvement() -> None:
    optimizer = Optimizer(BOX, criterion="ucb")
    with pytest.raises(ValueError, match=r'needs the criterion "interior_ei", .*got UCB'):
        _ = optimizer.expected_gain


@pytest.mark.nightly
def test_a_search_ends_by_itself_near_the_optimum() -> None:
    stopper = StopBelowGain(1e-3, patience=2)
    result = minimize(lambda x: float((x[0] - 0.3) ** 2), BOX[:1], 25, callbacks=[stopper])
    assert 6 <= len(result.trials) < 25
    assert result.best_value < 1e-3


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ({"least": 0.0}, "least must be a positive number, in units of the objective, got 0.0"),
        ({"least": "1e-3"}, "least must be .*, got '1e-3'"),
        ({"least": 1e-3, "patience": 0}, "patience must be"),
    ],
)
def test_bad_arguments_are_named(bad: dict[str, Any], message: str) -> None:
    with pytest.raises((TypeError, ValueError), match=message):
        StopBelowGain(**bad)
