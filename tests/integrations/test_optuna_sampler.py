"""The sampler proposes the points of an `Optimizer`, in any process."""

import logging
import pickle
from typing import Any

import numpy as np
import optuna
import pytest
from optuna import Study, Trial
from optuna.storages import BaseStorage, InMemoryStorage

from structbo import Categorical, Fixed, Integer, LinearConstraint, Optimizer, Ordinal, Space
from structbo.integrations.history import PROPOSAL, proposal_of
from structbo.integrations.optuna import StructboSampler
from structbo.optimizer import Engine

MANY = 100
"""More quasi-random points than any test here evaluates: no model, hence fast."""
SPACE = Space(
    {
        "b": (1e-3, 1.0, "log"),
        "a": (0.0, 1.0),
        "k": Integer(1, 5),
        "c": Categorical(["u", "v", "w"]),
        "o": Ordinal([4, 8, 16]),
    }
)
PLANE = {"x": (0.0, 1.0), "y": (0.0, 1.0)}
CHILDREN = {"C": (1e-3, 1e3, "log"), "rate": (0.0, 1.0)}


def value(params: dict[str, Any]) -> float:
    return float((params["a"] - 0.3) ** 2 + params["k"] * (params["c"] == "v"))


def suggested(trial: Trial) -> dict[str, Any]:
    return {
        "a": trial.suggest_float("a", 0.0, 1.0),
        "b": trial.suggest_float("b", 1e-3, 1.0, log=True),
        "k": trial.suggest_int("k", 1, 5),
        "c": trial.suggest_categorical("c", ["u", "v", "w"]),
        "o": trial.suggest_categorical("o", [4, 8, 16]),
    }


def study_with(sampler: StructboSampler, storage: BaseStorage | None = None) -> Study:
    """A study with this name, new or shared with another process."""
    return optuna.create_study(
        sampler=sampler,
        storage=storage,
        study_name="shared",
        direction="maximize",
        load_if_exists=True,
    )


@pytest.mark.parametrize("num_initial", [MANY, pytest.param(4, marks=pytest.mark.nightly)])
def test_points_are_those_of_an_optimizer(num_initial: int) -> None:
    """Some trials fail, and the objective suggests parameters in another order."""
    study = study_with(StructboSampler(SPACE, seed=5, num_initial=num_initial))
    optimizer = Optimizer(SPACE, "maximize", seed=5, num_initial=num_initial)

    def objective(trial: Trial) -> float:
        params = suggested(trial)
        if trial.number == 2:
            raise RuntimeError("out of memory")
        return np.nan if trial.number == 3 else value(params)

    study.optimize(objective, n_trials=9, catch=RuntimeError)
    for number in range(9):
        trial = optimizer.ask()
        optimizer.tell(trial, None if number in (2, 3) else value(trial.params))
    assert [t.params for t in study.trials] == [t.params for t in optimizer.trials]


@pytest.mark.nightly
def test_another_process_continues_the_chain() -> None:
    """A new sampler at every trial proposes the same points as one sampler."""

    def run(is_fresh: bool) -> list[dict[str, Any]]:
        study = study_with(StructboSampler(PLANE, num_initial=2), InMemoryStorage())
        for _ in range(6):
            if is_fresh:
                study.sampler = StructboSampler(PLANE, num_initial=2)
            study.optimize(
                lambda t: t.suggest_float("x", 0.0, 1.0) * t.suggest_float("y", 0.0, 1.0), 1
            )
        assert study.trials[-1].system_attrs[PROPOSAL]["chain"] is not None
        return [t.params for t in study.trials]

    assert run(is_fresh=True) == run(is_fresh=False)


def test_the_first_points_of_processes_differ_and_are_those_of_one_process() -> None:
    """This holds even if no process knows the points of the others."""
    storage = InMemoryStorage()
    samplers = [StructboSampler(PLANE, num_initial=MANY) for _ in range(4)]
    trials = [study_with(sampler, storage).ask() for sampler in samplers]
    points = {t.number: (t.suggest_float("x", 0, 1), t.suggest_float("y", 0, 1)) for t in trials}
    optimizer = Optimizer(PLANE, num_initial=MANY)
    assert [points[i] for i in range(4)] == [tuple(t.params.values()) for t in optimizer.ask(4)]


@pytest.mark.parametrize("moment", ["while this one thinks", "when this one is about to propose"])
def test_a_point_that_another_process_proposed_meanwhile_is_left_to_it(
    monkeypatch: pytest.MonkeyPatch, moment: str
) -> None:
    study = study_with(StructboSampler(PLANE, num_initial=MANY))
    design = [tuple(t.params.values()) for t in Optimizer(PLANE, num_initial=MANY).ask(3)]
    first = proposal_of(dict(zip("xy", design[0], strict=True)), None)
    faster = iter([True])

    def before(call: Any) -> Any:
        def slow(*arguments: Any, **settings: Any) -> Any:
            if next(faster, False):
                running = optuna.trial.TrialState.RUNNING
                attrs = {PROPOSAL: first}
                study.add_trial(optuna.create_trial(state=running, system_attrs=attrs))
            return call(*arguments, **settings)

        return slow

    trial = study.ask()
    if moment == "while this one thinks":
        monkeypatch.setattr(Engine, "propose", before(Engine.propose))
    else:
        storage = study._storage
        monkeypatch.setattr(storage, "set_trial_system_attr", before(storage.set_trial_system_attr))
    point = trial.suggest_float("x", 0, 1), trial.suggest_float("y", 0, 1)
    assert point == design[1]


def test_a_lost_trial_is_asked_for_again() -> None:
    study = study_with(StructboSampler(SPACE, num_initial=MANY))
    study.optimize(lambda trial: value(suggested(trial)), n_trials=2)
    lost = study.ask()
    point = suggested(lost)
    study._storage.set_trial_state_values(lost._trial_id, optuna.trial.TrialState.FAIL)
    assert suggested(study.ask()) == point


def test_a_failed_evaluation_is_not_asked_for_again() -> None:
    study = study_with(StructboSampler(SPACE, num_initial=MANY))
    failed = study.ask()
    point = suggested(failed)
    study.tell(failed, state=optuna.trial.TrialState.FAIL)
    assert suggested(study.ask()) != point


def conditional(trial: Trial) -> float:
    """An objective whose best model is "svm", but only near C = 10."""
    if trial.suggest_categorical("kind", ["svm", "tree"]) == "svm":
        return float(np.log10(trial.suggest_float("C", 1e-3, 1e3, log=True)) - 1) ** 2
    return 5.0 + trial.suggest_float("rate", 0.0, 1.0)


@pytest.mark.parametrize("space", [None, {"kind": Categorical(["svm", "tree"]), **CHILDREN}])
def test_conditional_parameters_are_proposed_where_they_exist(
    space: dict[str, Any] | None, caplog: pytest.LogCaptureFixture
) -> None:
    study = optuna.create_study(sampler=StructboSampler(space, num_initial=MANY))
    study.optimize(conditional, n_trials=4)
    assert {t.params["kind"] for t in study.trials} == {"svm", "tree"}
    study.optimize(conditional, n_trials=8)
    for trial in study.trials[4:]:
        proposed = trial.system_attrs[PROPOSAL]["params"]
        assert list(proposed) == (["C", "kind", "rate"] if space is None else list(space))
        assert {name for name, value in proposed.items() if value is not None} == set(trial.params)
        child = "C" if trial.params["kind"] == "svm" else "rate"
        assert trial.params[child] == proposed[child]
    assert len({tuple(t.params.values()) for t in study.trials}) == 12
    assert not [one for one in caplog.records if one.name.startswith("structbo")]


@pytest.mark.nightly
def test_a_choice_and_its_parameters_are_optimized_together() -> None:
    """Without the model, one run of ten comes within .0026 in 25 trials; the median is .02."""
    study = optuna.create_study(sampler=StructboSampler(seed=0, num_initial=8))
    study.optimize(conditional, n_trials=25)
    assert study.best_value < 1e-4
    assert sum(t.params["kind"] == "svm" for t in study.trials[8:]) > 12


def test_parameters_without_a_condition_are_random_and_named_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    study = study_with(StructboSampler(num_initial=MANY))

    def objective(trial: Trial) -> float:
        x = trial.suggest_float("x", 0.0, 1.0)
        return x if trial.number % 2 else x + trial.suggest_float("only_here", 0.0, 1.0)

    study.optimize(objective, n_trials=8)
    (record,) = [one for one in caplog.records if one.levelno == logging.WARNING]
    assert record.getMessage() == (
        "Parameter 'only_here' is random in trial 2: no choice or integer in the trials tells "
        "when it exists."
    )
    drawn = [t.params["only_here"] for t in study.trials if t.number % 2 == 0]
    assert len(set(drawn)) == 4
    for trial in study.trials[2:]:
        proposed = trial.system_attrs[PROPOSAL]["params"]
        assert proposed == {"only_here": None, "x": trial.params["x"]}


def test_ranges_may_vary(caplog: pytest.LogCaptureFixture) -> None:
    """Proposals span all ranges; values outside the range of a trial are replaced."""
    study = study_with(StructboSampler(num_initial=MANY))

    def objective(trial: Trial) -> float:
        n = trial.suggest_int("n", 1, 9)
        return n + trial.suggest_int("k", 1, n)

    study.optimize(objective, n_trials=12)
    num_kept = 0
    for trial in study.trials[2:]:
        proposed = trial.system_attrs[PROPOSAL]["params"]
        assert proposed["n"] == trial.params["n"]
        if proposed["k"] <= trial.params["n"]:
            assert trial.params["k"] == proposed["k"]
            num_kept += 1
    assert 0 < num_kept < 10
    (record,) = [one for one in caplog.records if one.levelno == logging.WARNING]
    assert "'k' is random" in record.getMessage()
    assert record.getMessage().endswith("its range there does not contain the proposed value.")


def test_a_parameter_of_a_queued_trial_is_no_surprise(caplog: pytest.LogCaptureFixture) -> None:
    study = optuna.create_study(sampler=StructboSampler(num_initial=MANY))
    study.optimize(conditional, n_trials=6)
    for kind in ("svm", "tree"):
        study.enqueue_trial({"kind": kind})
    study.optimize(conditional, n_trials=2)
    assert [t.params["kind"] for t in study.trials[6:]] == ["svm", "tree"]
    assert not [one for one in caplog.records if one.name.startswith("structbo")]


def test_the_wait_for_a_model_is_announced(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    study = study_with(StructboSampler(PLANE, num_initial=2))

    def compiles(*arguments: Any, **settings: Any) -> None:
        raise TimeoutError

    monkeypatch.setattr(Engine, "compile", compiles)
    with caplog.at_level(logging.INFO, "structbo"), pytest.raises(TimeoutError):
        study.optimize(lambda t: t.suggest_float("x", 0, 1) + t.suggest_float("y", 0, 1), 3)
    messages = [one.getMessage() for one in caplog.records if one.name.startswith("structbo")]
    assert messages == ["Trial 2: compiling a model of 2 parameters, which may take a minute."]


def test_random_values_of_a_trial_differ_from_parameter_to_parameter() -> None:
    study = study_with(StructboSampler())
    trial = study.ask()
    assert trial.suggest_float("a", 0.0, 1.0) != trial.suggest_float("b", 0.0, 1.0)


def test_an_exhausted_space_has_random_points() -> None:
    study = study_with(StructboSampler({"k": Integer(1, 3)}, num_initial=MANY))
    study.optimize(lambda trial: trial.suggest_int("k", 1, 3), n_trials=20)
    points = [t.params["k"] for t in study.trials]
    assert set(points[:3]) == set(points[3:]) == {1, 2, 3}


def test_enqueued_points_come_first() -> None:
    study = study_with(StructboSampler(PLANE, num_initial=MANY))
    study.enqueue_trial({"x": 0.25})
    study.optimize(lambda t: t.suggest_float("x", 0, 1) + t.suggest_float("y", 0, 1), n_trials=2)
    assert study.trials[0].params["x"] == 0.25 != study.trials[1].params["x"]


@pytest.mark.parametrize("num_initial", [MANY, pytest.param(4, marks=pytest.mark.nightly)])
def test_threads_share_a_sampler(num_initial: int) -> None:
    study = study_with(StructboSampler(SPACE, num_initial=num_initial))
    study.optimize(lambda trial: value(suggested(trial)), n_trials=12, n_jobs=2)
    points = {tuple(t.params.values()) for t in study.trials}
    assert len(points) == 12


def test_samplers_pickle() -> None:
    study = study_with(StructboSampler(SPACE, num_initial=MANY))
    study.optimize(lambda trial: value(suggested(trial)), n_trials=2)
    restored = study_with(pickle.loads(pickle.dumps(study.sampler)), study._storage)
    ahead = study_with(study.sampler, study._storage)
    assert suggested(restored.ask()) == Optimizer(SPACE, num_initial=MANY).ask(3)[2].params
    assert ahead.sampler is study.sampler


def test_settings_are_checked_before_the_first_trial() -> None:
    with pytest.raises(TypeError, match=r"'sede' is not a setting \(did you mean 'seed'\?\)"):
        StructboSampler(sede=1)  # type: ignore[call-arg]
    for space in (None, PLANE):
        with pytest.raises(ValueError, match="criterion"):
            StructboSampler(space, criterion="best")
    for seed in (None, -1):
        with pytest.raises((TypeError, ValueError), match="seed"):
            StructboSampler(seed=seed)  # type: ignore[arg-type]


def test_a_fixed_parameter_is_not_random() -> None:
    study = optuna.create_study(sampler=StructboSampler({"x": (0.0, 1.0), "o": Fixed("adam")}))
    study.optimize(lambda trial: ask(trial, ["sgd", "adam"]), n_trials=8)
    assert {trial.params["o"] for trial in study.trials} == {"adam"}
    with pytest.raises(ValueError, match=r"'o' is fixed at 'adam' .* suggests it from"):
        study.optimize(lambda trial: ask(trial, ["sgd", "rmsprop"]), n_trials=1)


def ask(trial: Trial, choices: list[str]) -> float:
    trial.suggest_categorical("o", choices)
    return trial.suggest_float("x", 0.0, 1.0)


@pytest.mark.filterwarnings("ignore::optuna.exceptions.ExperimentalWarning")
def test_another_sampler_may_fix_parameters_without_constraints() -> None:
    limit = LinearConstraint({"x": 1.0, "y": 1.0}, high=1.0)
    space = Space({"x": (0.0, 1.0), "y": (0.0, 1.0), "z": (0.0, 1.0)}, constraints=[limit])

    def total(trial: Trial) -> float:
        return sum(trial.suggest_float(name, 0.0, 1.0) for name in space.names)

    def fixed(name: str) -> Study:
        sampler = StructboSampler(space, num_initial=MANY)
        partial = optuna.samplers.PartialFixedSampler({name: 0.9}, sampler)
        return optuna.create_study(sampler=partial)

    study = fixed("z")
    study.optimize(total, n_trials=3)
    assert all(t.params["x"] + t.params["y"] <= 1.0 and t.params["z"] == 0.9 for t in study.trials)
    with pytest.raises(ValueError, match=r"PartialFixedSampler, keeps \['x'\]: leave them out"):
        fixed("x").optimize(total, n_trials=1)
