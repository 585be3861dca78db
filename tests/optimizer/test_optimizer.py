"""Ask and tell: what an optimizer keeps, and what it refuses."""

import copy
import importlib
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from short_runs import BOX, bowl, given_draws

from structbo import (
    Categorical,
    Integer,
    Optimizer,
    Space,
    SpaceExhausted,
    Trial,
    anova_model,
    default_model,
)
from structbo.acquisition.registry import CRITERIA
from structbo.data import NO_WARPING, Data
from structbo.draws import Chain, Draws, DrawSource, latent_sites
from structbo.draws.posteriors import MAX_WIDTH
from structbo.models import AdditiveGP, active_sets, edges, main_effects
from structbo.posterior import Posterior
from structbo.samplers import default_sampler

SPACE = Space({"lr": (1e-3, 1.0, "log"), "k": Integer(1, 5), "act": Categorical(["a", "b", "c"])})
POINT = {"lr": 0.1, "k": 3, "act": "b"}


@pytest.fixture
def optimizer() -> Optimizer:
    return Optimizer(SPACE)


def keys(trials: Any) -> list[tuple[Any, ...]]:
    return [tuple(trial.params.values()) for trial in trials]


def test_asked_points_are_pending_until_they_are_told(optimizer: Optimizer) -> None:
    trial = optimizer.ask()
    assert trial == Trial(0, trial.params, "pending", None)
    assert optimizer.trials == (trial,)
    told = optimizer.tell(trial, 2.5)
    assert told == Trial(0, trial.params, "complete", 2.5)
    assert optimizer.trials == (told,)
    SPACE.to_unit(trial.params)


def test_ask_gives_one_trial_or_a_list_of_distinct_ones(optimizer: Optimizer) -> None:
    assert isinstance(optimizer.ask(), Trial)
    trials = optimizer.ask(np.int64(3)) + optimizer.ask(1)
    assert [t.number for t in trials] == [1, 2, 3, 4]
    assert len(set(keys(optimizer.trials))) == 5


def test_a_point_is_the_same_after_a_change_of_scale(monkeypatch: pytest.MonkeyPatch) -> None:
    """The map to a box and back loses a bit of coordinates; the first candidate is used."""
    rng = np.random.default_rng(0)
    best, second = rng.integers(0, 65, (2, 1, 6)) / 64
    box = np.array([-5.3, 0.1]) + rng.random((6, 1)) * [1.0, 20.0]
    optimizer = Optimizer(box, num_initial=1)
    there_and_back = optimizer.space.to_unit(optimizer.space.from_unit(best))
    assert (there_and_back != best).any()
    optimizer.tell(optimizer.space.from_unit(best)[0], 0.0)
    exact = SimpleNamespace(num_inducing=None)
    monkeypatch.setattr(Chain, "advance", lambda self, data: {})
    monkeypatch.setattr("structbo.optimizer.engine.Posteriors.of", lambda *_: exact)
    monkeypatch.setattr(Chain, "warped", lambda self, data: (data, NO_WARPING))
    proposal = [np.concatenate([best, second])], None
    monkeypatch.setattr("structbo.optimizer.engine.propose", lambda *_, **__: proposal)
    assert np.array_equal(optimizer.ask().params, optimizer.space.from_unit(second)[0])


def test_a_rounded_point_is_still_that_of_its_trial() -> None:
    """People type points as a table, a log or a report shows them; the nearest trial is told."""
    optimizer = Optimizer({"x": (0.0, 1.0), "t": (1e-3, 1.0, "log"), "k": Integer(0, 10**5)})
    for x in (0.123451, 0.123412, 0.5):
        optimizer.enqueue({"x": x, "t": 1 / 3, "k": 7})
    asked = optimizer.ask(3)
    for point, number in (({"x": 0.1234}, 1), ({"x": 0.12345}, 0), ({"x": 0.50004}, 2)):
        told = optimizer.tell({"t": 0.3333, "k": 7, **point}, 1.0)
        assert told.number == number and told.params == asked[number].params
    assert optimizer.tell({"x": 0.5, "t": 1 / 3, "k": 7}, 1.0).number == 3, "none is pending"


def test_points_that_differ_by_more_are_trials_of_their_own() -> None:
    optimizer = Optimizer({"x": (0.0, 1.0), "k": Integer(0, 10**5)})
    optimizer.enqueue({"x": 0.5, "k": 7})
    optimizer.ask()
    assert optimizer.tell({"x": 0.5, "k": 8}, 1.0).number == 1
    assert optimizer.tell({"x": 0.5002, "k": 7}, 1.0).number == 2
    assert optimizer.trials[0].state == "pending"


@pytest.mark.parametrize("how", ["trial", "number", "params", "series"])
def test_a_trial_is_told_by_itself_its_number_or_its_point(optimizer: Optimizer, how: str) -> None:
    """Telling the point of a pending trial completes it, without adding another trial."""
    first, second = optimizer.ask(2)
    name: Any = {
        "trial": second,
        "number": np.int64(1),
        "params": dict(second.params),
        "series": pd.Series(second.params),
    }[how]
    assert optimizer.tell(name, 1.0).number == 1
    assert [t.state for t in optimizer.trials] == ["pending", "complete"]
    assert optimizer.trials[0] is first


def test_trials_of_a_box_are_told_by_their_arrays() -> None:
    optimizer = Optimizer(BOX)
    first, second = optimizer.ask(2)
    assert isinstance(first.params, np.ndarray) and first.params.shape == (2,)
    assert optimizer.tell(second.params.copy(), 1.0).number == 1
    own = optimizer.tell([0.5, 5.0], 0.5)
    assert own.number == 2 and np.allclose(own.params, [0.5, 5.0])
    assert np.array_equal(optimizer.best.params, own.params)


def test_points_of_ones_own_become_trials(optimizer: Optimizer) -> None:
    assert optimizer.tell(POINT, 1.0).number == 0
    assert optimizer.tell(POINT, 2.0).number == 1, "an evaluation may be repeated"
    (trial, _) = optimizer.trials
    assert trial.params == POINT and trial.value == 1.0
    assert optimizer.best is trial


@pytest.mark.parametrize("space", [SPACE, BOX])
def test_an_optimizer_is_told_the_table_of_another_one(space: Any) -> None:
    """It continues that run; points without a value are asked for first."""
    first = Optimizer(space, num_initial=100)
    for trial in first.ask(4):
        first.tell(trial, np.nan if trial.number == 1 else trial.number / 10)
    first.ask()
    second = Optimizer(space, num_initial=100)
    told = second.tell_frame(first.to_frame())
    assert tuple(told) == second.trials
    assert [t.state for t in told] == ["complete", "failed", "complete", "complete", "waiting"]
    assert second.trials[:4] == first.trials[:4]
    assert second.ask() == first.trials[4]
    assert second.ask() == first.ask()


def test_an_optimizer_is_told_its_own_table_after_values_are_filled_in() -> None:
    optimizer = Optimizer(SPACE, num_initial=100)
    optimizer.ask(2)
    queued = optimizer.enqueue(POINT)
    frame = optimizer.to_frame()
    frame.loc[1, "value"] = 0.5
    (told,) = optimizer.tell_frame(frame)
    assert (told.number, told.value) == (1, 0.5)
    assert [t.state for t in optimizer.trials] == ["pending", "complete", "waiting"]
    assert optimizer.ask().params == queued.params


def test_a_table_tells_pending_trials_or_nothing(optimizer: Optimizer) -> None:
    trial = optimizer.ask()
    frame = pd.DataFrame([{**trial.params, "value": 1.0}, {**POINT, "k": 9, "value": 2.0}])
    with pytest.raises(ValueError, match=r"frame\[1\]\['k'\]: value must be in"):
        optimizer.tell_frame(frame)
    assert optimizer.trials == (trial,)
    optimizer.tell_frame(frame[:1])
    assert [(t.number, t.value) for t in optimizer.trials] == [(0, 1.0)]


@pytest.mark.parametrize("space", [SPACE, BOX])
def test_editing_params_changes_no_trial(space: Any) -> None:
    optimizer = Optimizer(space)
    first = next(iter(SPACE.names)) if space is SPACE else 0
    asked = optimizer.ask()
    proposed = asked.params
    asked.params[first] = 0.5
    optimizer.trials[0].params[first] = 0.5
    own = asked.params
    own[first] = 0.5
    assert own[first] == 0.5, "a copy is the reader's own"
    assert asked == optimizer.trials[0] == Trial(0, proposed) != Trial(0, own)
    told = optimizer.tell(asked, 1.0)
    told.params[first] = 0.5
    optimizer.best.params[first] = 0.5
    assert optimizer.trials == (Trial(0, proposed, "complete", 1.0),)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, None])
def test_values_that_are_not_finite_are_failures(optimizer: Optimizer, value: Any) -> None:
    told = optimizer.tell(optimizer.ask(), value)
    assert (told.state, told.value) == ("failed", None)
    with pytest.raises(ValueError, match="none of 1 trials is complete"):
        _ = optimizer.best
    complete = optimizer.tell(optimizer.ask(), np.array([1.0]))
    assert optimizer.best is complete and complete.value == 1.0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((0, 2.0), "trial 0 was already told.*value=1.0"),
        ((7, 2.0), "trial 7 is unknown: this optimizer has 2"),
        ((-1, 2.0), "trial -1 is unknown"),
        ((1, "bad"), "value must be one number, got 'bad'"),
        ((1, "0.5"), "value must be one number, got '0.5'"),
        (
            (1, [1.0]),
            r"value must be one number, got \[1.0\]; tell\(trial, value\) takes",
        ),
        ((1, np.array([1.0, 2.0])), "value must be one number, got array"),
        ((1, 1.0 + 2.0j), r"value must be one number, got \(1\+2j\)"),
        ((1.0, Trial(1, POINT)), r"got Trial.*; tell\(trial, value\) takes .* its value second"),
        ((1.0, POINT), r"value must be one number, got {"),
        (([Trial(0, POINT), Trial(1, POINT)], [1.0, 2.0]), "takes one trial"),
        (([Trial(0, POINT), Trial(1, POINT)], 1.0), "trial must be one trial, got 2; give one at"),
        (({**POINT, "k": 9}, 2.0), "'k'.*9"),
        (({"lr": 0.1, "k": 1}, 2.0), "missing 'act'"),
        ((POINT, "bad"), "value must be one number"),
    ],
)
def test_what_was_told_stays_when_a_tell_is_refused(
    optimizer: Optimizer, arguments: tuple[Any, Any], message: str
) -> None:
    optimizer.tell(optimizer.ask(), 1.0)
    optimizer.ask()
    before = optimizer.trials
    with pytest.raises(ValueError, match=message):
        optimizer.tell(*arguments)
    assert optimizer.trials == before


def test_telling_a_trial_again_is_refused_also_by_the_old_object(optimizer: Optimizer) -> None:
    asked = optimizer.ask()
    told = optimizer.tell(asked, 1.0)
    for trial in (asked, told):
        with pytest.raises(ValueError, match="already told"):
            optimizer.tell(trial, 2.0)
    assert optimizer.trials == (told,)


def test_a_trial_of_another_optimizer_is_refused(optimizer: Optimizer) -> None:
    other = Optimizer(SPACE, seed=99)
    own, stranger = optimizer.ask(), other.ask()
    with pytest.raises(ValueError, match="not asked from this optimizer"):
        optimizer.tell(stranger, 1.0)
    assert optimizer.trials == (own,)


def test_a_withdrawn_trial_says_nothing(optimizer: Optimizer) -> None:
    first, second = optimizer.ask(2)
    assert optimizer.withdraw(first).state == "withdrawn"
    optimizer.tell(second, 3.0)
    assert [t.state for t in optimizer.trials] == ["withdrawn", "complete"]
    with pytest.raises(ValueError, match="already withdrawn"):
        optimizer.tell(first, 1.0)
    with pytest.raises(ValueError, match="must be a trial"):
        optimizer.withdraw(POINT)
    assert optimizer.best.number == 1


@pytest.mark.parametrize("n", [0, -1, 1.0, True])
def test_a_number_of_points_that_is_none_is_refused(optimizer: Optimizer, n: Any) -> None:
    with pytest.raises(ValueError, match="n must be an integer of at least 1"):
        optimizer.ask(n)
    assert optimizer.trials == ()


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ({"seed": None}, "seed must be an integer of at least 0, got None"),
        ({"seed": -1}, "seed must be"),
        ({"seed": 2**63}, "seed must be at most"),
        ({"num_initial": 1.5}, "num_initial must be an integer of at least 0, got 1.5"),
        ({"model": "edges"}, "model must be a NumPyro model"),
        ({"model": edges()}, r"such as AdditiveGP\(edges\(\)\), which makes one of a structure"),
        ({"model": AdditiveGP}, "model must be a NumPyro model"),
        ({"screening": "hds"}, "screening must be an instance"),
    ],
)
def test_bad_settings_are_named_at_once(bad: dict[str, Any], message: str) -> None:
    with pytest.raises((TypeError, ValueError), match=message):
        Optimizer(BOX, **bad)


def test_a_direction_is_minimize_or_maximize() -> None:
    with pytest.raises(ValueError, match="got 'max'"):
        Optimizer(SPACE, "max")  # type: ignore[arg-type]


@pytest.mark.parametrize(("direction", "best"), [("minimize", -3.0), ("maximize", 2.0)])
def test_the_best_is_the_least_or_the_greatest(direction: Any, best: float) -> None:
    optimizer = Optimizer(SPACE, direction)
    for value in (1.0, -3.0, np.nan, 0.0, 2.0):
        optimizer.tell(optimizer.ask(), value)
    optimizer.ask()
    assert optimizer.best.value == best


def test_an_exhausted_space_refuses_to_be_asked_and_keeps_its_trials() -> None:
    optimizer = Optimizer([Integer(0, 2)])
    optimizer.ask(2)
    with pytest.raises(SpaceExhausted):
        optimizer.ask(2)
    assert len(optimizer.trials) == 2
    assert sorted(t.params["x0"] for t in [*optimizer.trials, optimizer.ask()]) == [0, 1, 2]


def run(direction: Any = "minimize", num_trials: int = 7, **settings: Any) -> Optimizer:
    model = AdditiveGP(main_effects())
    optimizer = Optimizer(BOX, direction, **{"model": model, "inference": given_draws, **settings})
    sign = 1.0 if direction == "minimize" else -1.0
    for _ in range(num_trials):
        trial = optimizer.ask()
        optimizer.tell(trial, np.nan if trial.number == 2 else sign * bowl(trial.params))
    return optimizer


@pytest.fixture(scope="module")
def finished() -> Optimizer:
    """Four quasi-random values and a failure, then two points of the model."""
    return run()


def points(optimizer: Optimizer) -> np.ndarray:
    return np.stack([trial.params for trial in optimizer.trials])


def test_runs_are_reproducible_and_symmetric(finished: Optimizer) -> None:
    assert np.array_equal(points(run()), points(finished))
    assert np.array_equal(points(run("maximize")), points(finished))
    assert not np.array_equal(points(run(seed=1, num_trials=1)), points(finished)[:1])


def test_a_pending_trial_is_not_asked_again(finished: Optimizer) -> None:
    optimizer = copy.deepcopy(finished)
    trials = [optimizer.ask(), *optimizer.ask(2), optimizer.ask()]
    assert [t.number for t in trials] == [7, 8, 9, 10]
    assert len(np.unique(points(optimizer), axis=0)) == 11
    gaps = np.abs(points(optimizer)[7:, None] - points(optimizer)[None, 7:]).max(2)
    assert gaps[~np.eye(4, dtype=bool)].min() > 1e-3, "near copies teach nothing"


def test_the_point_asked_for_has_the_best_score(optimizer: Optimizer, finished: Optimizer) -> None:
    with pytest.raises(ValueError, match="there are no scores yet"):
        optimizer.score([POINT])
    asking = copy.deepcopy(finished)
    trial = asking.ask()
    random = BOX[:, 0] + np.ptp(BOX, axis=1) * np.random.default_rng(0).random((300, 2))
    scores, errors = asking.score(np.vstack([trial.params, random]))
    assert scores.shape == errors.shape == (301,)
    assert scores[0] >= scores[1:].max()
    # With six draws, the relative error of a mean is at most 1, if a single draw dominates.
    assert ((errors > 0.0) & (errors <= 1.0)).all()


def test_the_posterior_is_that_of_everything_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """`fit` draws it at the first access, on signed values (larger is better).

    The search's model is faster, and its edges may stand for main effects.
    """
    calls: list[Any] = []

    def recorded(model: Any, X: np.ndarray, y: np.ndarray, **options: Any) -> Posterior:
        calls.append((model, X, y, options))
        draws = dict.fromkeys(latent_sites(model, X.shape[1]), np.ones((1, 1)))
        return Posterior(model, X, y, draws, names=options["names"])

    monkeypatch.setattr(importlib.import_module("structbo.optimizer.optimizer"), "fit", recorded)
    finished = run(model=None, num_initial=100)
    first = finished.posterior
    assert finished.posterior is first
    ((model, X, y, options),) = calls
    assert model == anova_model(finished.space)
    told = [t.value for t in finished.trials]
    worst = max(v for v in told if v is not None)
    values = np.array([worst if v is None else v for v in told])
    assert np.allclose(y, (values.mean() - values) / values.std())
    assert np.allclose(first.units.values(first.y), values)
    assert first.units.space == finished.space
    assert np.allclose(X, (points(finished) - BOX[:, 0]) / np.ptp(BOX, axis=1))
    assert options.pop("show_progress_bar") is False, "standard error is no terminal here"
    assert options == {
        "seed": 0, "names": ("x0", "x1"), "sampler": default_sampler, "sem": None,
        "num_samples": 150, "device": "auto",
    }  # fmt: skip

    finished.ask()
    assert finished.posterior is first, "a pending trial changes nothing"
    finished.tell([0.0, 0.0], 1.0)
    assert finished.posterior is not first and len(calls) == 2
    assert run(model=default_model(), num_initial=100).posterior.model == default_model()


@pytest.mark.parametrize("values", [(), (1.0,), (1.0, np.nan, None)])
def test_the_posterior_needs_two_values(optimizer: Optimizer, values: tuple[Any, ...]) -> None:
    for value in values:
        optimizer.tell(optimizer.ask(), value)
    with pytest.raises(ValueError, match="at least two complete trials"):
        _ = optimizer.posterior


class Recorded:
    """A source of draws that records the active parameters."""

    def __init__(self, source: DrawSource) -> None:
        self.source = source
        self.active: list[np.ndarray] = []

    def advance(self, data: Data) -> Draws:
        draws = self.source.advance(data)
        self.active.append(np.asarray(draws["active"]))
        return draws


@pytest.mark.nightly
def test_two_of_six_parameters_are_found_and_tuned_by_a_model_of_active_sets() -> None:
    """Its single component is at times too wide for message passing, which then omits it."""
    sources: list[Recorded] = []

    def inference(model: Any, seed: int) -> DrawSource:
        sources.append(Recorded(Chain(model, 6, seed)))
        return sources[0]

    model = AdditiveGP(active_sets())
    box = np.array([[0.0, 1.0]] * 6)
    optimizer = Optimizer(box, model=model, num_initial=6, inference=inference)
    for _ in range(16):
        trial = optimizer.ask()
        optimizer.tell(trial, float(np.square(trial.params[[1, 4]] - [0.3, 0.6]).sum()))
    active = np.concatenate(sources[0].active)
    assert active.sum(1).max() > MAX_WIDTH + 1
    assert optimizer.best.value < 0.002, "16 random points reach 0.02 on average"
    last = active[-24:].mean(0)
    assert last[[1, 4]].min() > 0.75 and last[[0, 2, 3, 5]].max() < 0.5


@pytest.mark.nightly
@pytest.mark.parametrize("criterion", [*CRITERIA])
def test_a_search_may_use_the_model_of_what_interacts(criterion: str) -> None:
    space = {"x": (0.0, 1.0), "k": Integer(1, 5), "c": Categorical(["a", "b", "d"])}
    optimizer = Optimizer(space, seed=0, model=anova_model(space), criterion=criterion)
    for _ in range(12):
        trial = optimizer.ask()
        p = trial.params
        optimizer.tell(trial, (p["x"] - 0.3) ** 2 + (0.1 if p["c"] == "a" else 0.02) * p["k"])
    assert optimizer.best.value is not None and optimizer.best.value < 0.1
