"""Runs with a storage keep their trials, and continue like uninterrupted runs."""

import math
import pickle
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import optuna
import pytest
from optuna.trial import TrialState
from short_runs import BOX, MANY, bowl

import structbo
from structbo import (
    Categorical,
    Fixed,
    Integer,
    LinearConstraint,
    Optimizer,
    Ordinal,
    Real,
    Space,
    SpaceExhausted,
    Trial,
)
from structbo.integrations import read_study
from structbo.integrations.optuna import StructboSampler
from structbo.integrations.study_optimizer import StudyOptimizer
from structbo.space import Parameter

SPACE = Space({"b": (1e-3, 1.0, "log"), "a": (0.0, 1.0), "c": Categorical(["u", "v"])})
FAST_OR_MODEL = pytest.mark.parametrize(
    "num_initial", [MANY, pytest.param(4, marks=pytest.mark.nightly)]
)
minimize = partial(structbo.minimize, show_progress_bar=False, num_initial=MANY)


@pytest.fixture
def kept(tmp_path: Path) -> dict[str, Any]:
    """The arguments of a run with a storage."""
    url = f"sqlite:///{tmp_path}/runs.db"
    return {"storage": url, "study_name": "run", "load_if_exists": True}


def cost(params: dict[str, Any]) -> float:
    return float((params["a"] - 0.3) ** 2 + np.log10(params["b"]) ** 2 + (params["c"] == "u"))


def breaking_at(number: int, error: type[BaseException]) -> Callable[[Any], float]:
    calls = iter(range(MANY))

    def function(params: dict[str, Any]) -> float:
        if next(calls) == number:
            raise error("broken")
        return cost(params)

    return function


@FAST_OR_MODEL
@pytest.mark.parametrize(("objective", "space"), [(cost, SPACE), (bowl, BOX)])
def test_a_run_in_pieces_has_the_trials_of_one_without_storage(
    objective: Callable[[Any], float], space: Any, num_initial: int, kept: dict[str, Any]
) -> None:
    run = partial(minimize, objective, space, seed=3, num_initial=num_initial)
    whole = run(9)
    for n_trials in (2, 4, 3):
        last = run(n_trials, **kept)
    assert last.trials == whole.trials
    assert (last.best_value, repr(last.best_params)) == (whole.best_value, repr(whole.best_params))


@FAST_OR_MODEL
def test_the_study_goes_on_in_optuna_itself(num_initial: int, kept: dict[str, Any]) -> None:
    settings = {"seed": 3, "num_initial": num_initial}
    minimize(cost, SPACE, 3, **kept, **settings)
    sampler = StructboSampler(SPACE, **settings)  # type: ignore[arg-type]
    study = optuna.load_study(storage=kept["storage"], study_name="run", sampler=sampler)

    def objective(trial: optuna.Trial) -> float:
        real = {name: trial.suggest_float(name, *bounds) for name, bounds in {"a": (0, 1)}.items()}
        b = trial.suggest_float("b", 1e-3, 1.0, log=True)
        return cost({**real, "b": b, "c": trial.suggest_categorical("c", ["u", "v"])})

    study.optimize(objective, n_trials=4)
    whole = minimize(cost, SPACE, 7, **settings)
    assert [t.params for t in study.trials] == [t.params for t in whole.trials]
    assert [t.value for t in study.trials] == [t.value for t in whole.trials]


@pytest.mark.parametrize("error", [KeyboardInterrupt, ValueError])
def test_a_run_that_breaks_off_is_resumed(error: type[BaseException], kept: dict[str, Any]) -> None:
    whole = minimize(cost, SPACE, 6)
    with pytest.raises(error) as info:
        minimize(breaking_at(3, error), SPACE, 6, **kept)
    assert [t.state for t in info.value.optimizer.trials].count("pending") == 0  # type: ignore[union-attr,attr-defined]
    rest = minimize(cost, SPACE, 3, **kept)
    if error is KeyboardInterrupt:  # the point has no value
        assert [t.params for t in rest.trials if t.state == "complete"] == [
            t.params for t in whole.trials
        ]
    assert [t.value for t in rest.trials[:3]] == [t.value for t in whole.trials[:3]]


@FAST_OR_MODEL
def test_fixed_values_and_steps_are_kept(num_initial: int, kept: dict[str, Any]) -> None:
    """Trials of a study with another fixed value are refused."""
    space = {"d": Fixed("adam"), "b": Real(0.0, 1.0, step=0.1), "a": (0.0, 1.0), "c": Fixed("v")}
    run = partial(minimize, lambda p: cost({**p, "b": 1.0 + p["b"]}), num_initial=num_initial)
    whole = run(space, 7, initial_points=[{"a": 0.5, "b": 0.3}])
    for n_trials in (3, 4):
        last = run(space, n_trials, initial_points=[{"a": 0.5, "b": 0.3}], **kept)
    assert last.trials == whole.trials
    assert list(whole.trials[0].params.values()) == ["adam", 0.3, 0.5, "v"]
    assert {t.params["b"] for t in whole.trials} <= {k / 10 for k in range(11)}
    assert last.optimizer.tell({"a": 0.25, "b": 0.7}, 1.0).params["d"] == "adam"
    assert last.optimizer.study.trials[0].params["d"] == "adam"  # type: ignore[attr-defined]
    with pytest.raises(ValueError, match=r"\['d'\]: value is fixed at 'sgd', got 'adam'"):
        run({**space, "d": Fixed("sgd")}, 1, **kept)


def test_failures_are_remembered_as_such(kept: dict[str, Any]) -> None:
    """A killed process leaves the same trial state, but no mark of failure."""
    run = partial(minimize, breaking_at(1, ValueError), SPACE, 4, catch=ValueError)
    with pytest.warns(UserWarning, match="trial 1 failed"):
        run(**kept)
    again = minimize(cost, SPACE, 1, **kept)
    assert [t.state for t in again.trials] == [
        *(["complete", "failed", "complete", "complete", "complete"])
    ]
    assert len({tuple(t.params.values()) for t in again.trials}) == 5


def test_values_are_stored_when_they_are_told(kept: dict[str, Any]) -> None:
    """The callback reads the storage as another process does."""

    def check(optimizer: Optimizer, trial: Trial) -> None:
        study = optuna.load_study(storage=kept["storage"], study_name="run")
        stored = study.trials[trial.number]
        assert (stored.value, stored.params) == (trial.value, trial.params)

    minimize(cost, SPACE, 3, callbacks=[check], **kept)


def test_trials_that_were_running_are_lost_and_their_points_asked_for_again(
    kept: dict[str, Any],
) -> None:
    optimizer = minimize(cost, SPACE, 2, **kept).optimizer
    lost = optimizer.ask()
    trials = minimize(cost, SPACE, 2, **kept).trials
    assert [t.state for t in trials] == [
        "complete",
        "complete",
        "withdrawn",
        "complete",
        "complete",
    ]
    assert trials[2].params == trials[3].params == lost.params
    assert [t.params for t in trials if t.value is not None] == [
        t.params for t in minimize(cost, SPACE, 4).trials
    ]


@pytest.mark.parametrize("reads", [False, True])
def test_values_of_trials_that_were_taken_for_lost_are_kept(
    reads: bool, kept: dict[str, Any]
) -> None:
    optimizer = minimize(cost, SPACE, 1, **kept).optimizer
    assert isinstance(optimizer, StudyOptimizer)
    slow = optimizer.ask()
    minimize(cost, SPACE, 1, **kept)
    if reads:
        optimizer.read()
    told = optimizer.tell(slow, 0.25)
    assert (told.number, told.value, told.params) == (3, 0.25, slow.params)
    assert optuna.load_study(storage=kept["storage"], study_name="run").trials[3].value == 0.25


def test_points_of_ones_own_are_kept(kept: dict[str, Any]) -> None:
    optimizer = minimize(bowl, BOX, 1, **kept).optimizer
    assert optimizer.tell([0.5, 2.0], 1.5).value == 1.5
    assert optimizer.tell([0.25, 3.0], math.nan).state == "failed"
    again = minimize(bowl, BOX, 0, **kept)
    assert [t.state for t in again.trials] == ["complete", "complete", "failed"]
    assert again.trials[1].params.tolist() == [0.5, 2.0]


def test_batches_are_those_of_an_optimizer(kept: dict[str, Any]) -> None:
    study = optuna.create_study(storage=kept["storage"])
    kept_batch = StudyOptimizer(study, SPACE, num_initial=MANY).ask(3)
    assert kept_batch == Optimizer(SPACE, num_initial=MANY).ask(3)


def test_an_interruption_of_ask_leaves_no_pending_trial(
    kept: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    optimizer = minimize(cost, SPACE, 1, **kept).optimizer

    def interrupted(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("structbo.integrations.optuna.proposal_of", interrupted)
    with pytest.raises(KeyboardInterrupt):
        optimizer.ask(2)
    states = [t.state for t in optuna.load_study(storage=kept["storage"], study_name="run").trials]
    assert states == [TrialState.COMPLETE, TrialState.FAIL]


def test_finite_spaces_end_a_run(kept: dict[str, Any]) -> None:
    space = {"k": Integer(1, 3)}
    with pytest.warns(UserWarning, match="every point of the space is evaluated"):
        result = minimize(lambda p: p["k"], space, 5, **kept)
    assert sorted(t.params["k"] for t in result.trials) == [1, 2, 3]
    with pytest.raises(SpaceExhausted):
        result.optimizer.ask()


def test_results_pickle_with_their_study(kept: dict[str, Any]) -> None:
    restored = pickle.loads(pickle.dumps(minimize(cost, SPACE, 2, **kept)))
    assert restored.optimizer.ask().params == minimize(cost, SPACE, 3).trials[2].params
    assert restored.optimizer.study.study_name == "run"


OWN: list[dict[str, Any]] = [{"b": 0.1, "a": 0.1, "c": "v"}, {"b": 1.0, "a": 0.5, "c": "u"}]


@FAST_OR_MODEL
def test_initial_points_go_on_after_a_kill(num_initial: int, kept: dict[str, Any]) -> None:
    """The same call resumes: evaluated points are skipped, interrupted ones are enqueued again."""
    run = partial(minimize, cost, SPACE, initial_points=OWN, seed=3, num_initial=num_initial)
    whole = run(7)
    optimizer = run(1, **kept).optimizer
    assert [t.state for t in optimizer.trials] == ["complete", "waiting"]
    killed = optimizer.ask()  # by a process that is killed then
    assert killed == optimizer.trials[1]
    run(2, **kept)
    assert run(4, **kept).trials == whole.trials
    assert [t.params for t in whole.trials[:2]] == OWN


@pytest.mark.parametrize("space", [SPACE, BOX], ids=["names", "box"])
def test_the_queue_of_a_study_is_that_of_an_optimizer(space: Any, kept: dict[str, Any]) -> None:
    study = optuna.create_study(storage=kept["storage"])
    point = OWN[0] if space is SPACE else np.array([0.5, 2.0])
    runs = []
    for optimizer in (StudyOptimizer(study, space, num_initial=MANY), Optimizer(space)):
        steps = [optimizer.ask(), optimizer.enqueue(point), optimizer.enqueue(point)]
        steps += [optimizer.withdraw(2), *optimizer.ask(2), optimizer.withdraw(1), optimizer.ask()]
        steps += [optimizer.enqueue(point), optimizer.withdraw(1), optimizer.withdraw(1)]
        steps += [optimizer.tell(point, (1.5, 0.5)), optimizer.ask()]
        runs.append([*steps, *optimizer.trials])
    assert runs[0] == runs[1]
    states = ["pending", "withdrawn", "withdrawn", "pending", "complete", "pending"]
    assert [t.state for t in runs[0][-6:]] == states


def test_points_that_others_enqueued_are_asked_for(kept: dict[str, Any]) -> None:
    """This excludes incomplete points, which the sampler completes."""
    optimizer = minimize(cost, SPACE, 1, **kept).optimizer
    study = optuna.load_study(storage=kept["storage"], study_name="run")
    study.enqueue_trial(OWN[0])
    study.enqueue_trial({"a": 0.125})
    first, second = optimizer.ask(2)
    assert (first.params, second.params["a"]) == (OWN[0], 0.125)


def test_failed_trials_may_have_other_parameters(kept: dict[str, Any]) -> None:
    """A trial that failed early, or whose parameter was renamed since, has no point."""
    minimize(cost, SPACE, 1, **kept)
    study = optuna.load_study(storage=kept["storage"], study_name="run")
    misspelled, early = study.ask(), study.ask()
    misspelled.suggest_float("learning", 0.0, 1.0)
    study.tell(misspelled, state=optuna.trial.TrialState.FAIL)
    early.report(1.0, step=0)
    study.tell(early, state=optuna.trial.TrialState.PRUNED)
    states = [trial.state for trial in StudyOptimizer(study, SPACE).trials]
    assert states == ["complete", "withdrawn", "withdrawn"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"load_if_exists": False}, "study_name='run' exists in the storage: pass load_if_exists"),
        (
            {"space": {"a": (0.0, 1.0)}},
            r"space must have the parameters of study 'run'.*; missing 'b', missing 'c'\.",
        ),
        ({"space": {"a": (0.0, 0.1), "b": (0.1, 1.0)}}, "space must have the parameters"),
        ({"space": SPACE.parameters[:0]}, "spec must hold at least one parameter"),
        ({"screening": structbo.HierarchicalDiagonalSampling(SPACE, budget=9)}, "cannot hold"),
        ({"optimizer": Optimizer(SPACE), "space": None}, "leave out either it or storage"),
        ({"storage": None}, "study_name and load_if_exists need a storage"),
    ],
)
def test_arguments_that_contradict_a_study(
    arguments: dict[str, Any], message: str, kept: dict[str, Any]
) -> None:
    minimize(cost, SPACE, 1, **kept)
    given = {"space": SPACE, **kept, **arguments}
    with pytest.raises(ValueError, match=message):
        structbo.minimize(cost, n_trials=1, show_progress_bar=False, **given)


def test_values_outside_of_the_space_are_named(kept: dict[str, Any]) -> None:
    minimize(cost, SPACE, 1, **kept)
    narrow = Space({"b": (1e-3, 2e-3, "log"), "a": (0.0, 1.0), "c": Categorical(["u", "v"])})
    with pytest.raises(ValueError, match=r"trial 0 of 'run'\['b'\]: value must be in"):
        minimize(cost, narrow, 1, **kept)


@pytest.mark.parametrize(
    ("name", "made"),
    [
        ("c", Categorical(["u", "v", "w"])),
        ("a", Integer(0, 1)),
        ("b", Real(1e-3, 1.0)),
    ],
)
def test_parameters_that_optuna_refuses_in_a_study_are_named(
    name: str, made: Parameter, kept: dict[str, Any]
) -> None:
    """The refused run adds no trial. A space for reading may differ."""
    optimizer = minimize(cost, SPACE, 0, **kept).optimizer
    optimizer.tell({"a": 0.0, "b": 1.0, "c": "v"}, 1.0)
    space = Space({**SPACE.spec, name: made})
    message = rf"parameter '{name}' is .* in study 'run', and .* Pass another study_name"
    with pytest.raises(ValueError, match=message):
        minimize(cost, space, 1, **kept)
    assert len(optimizer.study.trials) == 1  # type: ignore[attr-defined]
    assert read_study(kept["storage"], space=space).space == space


def test_the_direction_is_that_of_the_study(kept: dict[str, Any]) -> None:
    minimize(cost, SPACE, 1, **kept)
    with pytest.raises(ValueError, match=r"study 'run' is to \['minimize'\], not to maximize"):
        structbo.maximize(cost, SPACE, 1, **kept)


def test_wrong_settings_leave_no_study(kept: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="criterion"):
        minimize(cost, SPACE, 1, criterion="best", **kept)
    with pytest.raises(ValueError, match=r"initial_points must have exactly the names"):
        minimize(cost, SPACE, 1, initial_points=[{"a": 0.5}], **kept)
    assert optuna.get_all_study_names(kept["storage"]) == []


@pytest.mark.parametrize("url", ["none://me:secret@host/db", "postgresql+none://me:secret@host/db"])
def test_errors_hide_passwords(url: str) -> None:
    with pytest.raises(
        ValueError, match=r"storage '.*://me:\*\*\*@host/db' cannot be opened"
    ) as info:
        minimize(cost, SPACE, 1, storage=url)
    assert "secret" not in str(info.value)
    assert info.value.__suppress_context__


def test_without_optuna_the_error_says_how_to_install_it(
    kept: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "optuna", None)
    with pytest.raises(ImportError, match=r'pip install "structbo\[optuna\]"'):
        minimize(cost, SPACE, 1, **kept)


def suggested(trial: optuna.Trial) -> float:
    """An objective with parameters of all kinds."""
    x = trial.suggest_float("x", 1e-3, 1.0, log=True)
    k = trial.suggest_int("k", 0, 8, step=2)
    act = trial.suggest_categorical("act", ["relu", "gelu"])
    trial.suggest_categorical("device", ["cpu"])
    return float(np.log10(x) + k + (act == "relu"))


@pytest.fixture
def url(tmp_path: Path) -> str:
    """The URL of a storage with a run of a random sampler."""
    storage = f"sqlite:///{tmp_path}/optuna.db"
    sampler = optuna.samplers.RandomSampler(seed=0)
    study = optuna.create_study(storage=storage, study_name="random", sampler=sampler)
    study.optimize(suggested, n_trials=5)
    study.ask()
    return storage


def test_a_study_of_any_sampler_is_read(url: str) -> None:
    optimizer = read_study(url)
    assert optimizer.space == Space(
        {
            "act": Categorical(["relu", "gelu"]),
            "device": Fixed("cpu"),
            "k": Integer(0, 8, step=2),
            "x": Real(1e-3, 1.0, log=True),
        }
    )
    trials = optuna.load_study(storage=url, study_name="random").trials
    assert [t.value for t in optimizer.trials] == [t.value for t in trials]
    assert [t.params for t in optimizer.trials[:5]] == [t.params for t in trials[:5]]
    assert (optimizer.direction, optimizer.trials[5].state) == ("minimize", "withdrawn")
    assert optimizer.best.value == min(t.value for t in trials[:5])


def test_a_space_of_ones_own_goes_before_that_of_the_study(url: str) -> None:
    wide = Space({**read_study(url).space.spec, "x": Real(1e-4, 10.0, log=True)})
    assert read_study(url, "random", wide).space == wide


CONSTRAINED = Space(
    {"a": (0.0, 1.0), "b": (0.0, 1.0), "s": Ordinal([16, 32, 64])},
    constraints=[
        LinearConstraint({"a": 1.0, "b": 1.0}, high=1.0),
        LinearConstraint({"a": 1.0, "b": -2.0}, low=-1.5, high=0.5),
    ],
)


def test_the_order_of_choices_and_the_constraints_are_read(kept: dict[str, Any]) -> None:
    """Optuna records neither."""
    minimize(lambda p: p["a"], CONSTRAINED, 2, **kept)
    read = read_study(kept["storage"])
    assert read.space == CONSTRAINED
    loose = Space({**CONSTRAINED.spec, "s": Categorical([16, 32, 64])})
    assert read_study(kept["storage"], space=loose).space == loose
    assert read_study(kept["storage"]).space == CONSTRAINED, "reading changes no study"
    minimize(lambda p: p["a"], loose, 1, **kept)
    assert read_study(kept["storage"]).space == loose


def test_a_study_whose_ranges_vary_is_read_with_the_span_of_all(kept: dict[str, Any]) -> None:
    """Failed trials have a point, too."""
    minimize(lambda p: p["x"], {"x": (0.0, 1.0)}, 2, **kept)
    optimizer = minimize(lambda p: p["x"], {"x": (-1.0, 1.0)}, 0, **kept).optimizer
    optimizer.tell({"x": -0.5}, math.nan)
    assert read_study(kept["storage"]).space == Space({"x": (-1.0, 1.0)})
    assert [t.state for t in read_study(kept["storage"]).trials][2:] == ["failed"]


def test_studies_that_cannot_be_read_are_named(url: str, tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"there is no file .*none\.db"):
        read_study(f"sqlite:///{tmp_path}/none.db")
    assert not (tmp_path / "none.db").exists()
    with pytest.raises(ValueError, match="no study 'mine': the storage has 'random'"):
        read_study(url, "mine")
    optuna.create_study(storage=url, study_name="two", directions=["minimize", "maximize"])
    with pytest.raises(ValueError, match=r"give the name of a study: .* 'random', 'two'"):
        read_study(url)
    with pytest.raises(ValueError, match="study 'two' has 2 objectives, not one"):
        read_study(url, "two")
    study = optuna.create_study(storage=url, study_name="conditional")
    with pytest.raises(ValueError, match=r"'conditional' must have the same .*: there are none"):
        read_study(url, "conditional")
    study.optimize(lambda trial: trial.suggest_float(f"x{trial.number % 2}", 0.0, 1.0), n_trials=4)
    with pytest.raises(ValueError, match=r"'conditional' must have .*: not all have x0, x1"):
        read_study(url, "conditional")
    with pytest.raises(ValueError, match=r"storage 'none://me:\*\*\*@host/db' cannot be opened"):
        read_study("none://me:secret@host/db")


KILLS = Path(__file__).parents[2] / "examples" / "benchmarks" / "kills.py"


@pytest.mark.nightly
@pytest.mark.parametrize(
    "options",
    ["--runs 1 --kills 1 --n-trials 6 --num-initial 100", "--runs 10 --kills 5 --n-trials 30"],
)
def test_nothing_is_lost_when_a_process_is_killed(options: str, tmp_path: Path) -> None:
    command = [sys.executable, str(KILLS), *options.split()]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, timeout=3600)
    assert done.returncode == 0, done.stderr
    assert "nothing told was lost, and all trials are the same" in done.stdout
