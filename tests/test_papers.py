"""The harness of the papers' experiments: its functions, its records, and quick runs of all."""

import importlib.util
import itertools
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from argparse import Namespace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from papers import commands
from papers.harness.picture import picture
from papers.harness.ranks import complete_runs, ranked
from papers.harness.records import Key, Records, keys_of
from papers.harness.running import run_missing
from papers.harness.scores import paired_p, scores, spread
from papers.kinds.reactions import OnTable
from papers.kinds.screening import Screening
from papers.kinds.search import Search
from papers.kinds.tuning import AFTER_40, Tuning
from papers.methods.by_name import METHODS
from papers.methods.peers import PEERS, Rescaled
from papers.methods.smac_hebo import hebo_ranges
from papers.methods.tuning_methods import Rounding
from papers.problems import functions
from papers.problems.by_name import PROBLEMS
from papers.problems.embedded import quad, rescaled
from papers.problems.graph_functions import GRID, GraphGP
from papers.problems.problem import Problem
from papers.problems.task_module import task_module
from papers.problems.tuning_tasks import Task
from papers.problems.waves import Factor, best_indices
from papers.registry import EXPERIMENTS

import structbo as sb

ROOT = Path(__file__).parents[1]
NEEDS = {
    "CMA-ES": ("optuna", "cmaes"),
    "GPSampler": ("optuna", "torch"),
    "BoTorch": ("botorch",),
    "TuRBO": ("botorch",),
    "SMAC": ("smac",),
    "HEBO": ("hebo",),
}
"""Packages of peers other than Optuna."""
FAST = ("chen-figure-2", "rolland-figure-8")
"""Experiments whose quick runs need no compilation."""
DATA = ROOT.parent / "shared" / "data"
"""The folder of the real tasks, which lies beside the project where it is at hand."""
OWN = [experiment for experiment in EXPERIMENTS.values() if not experiment.runs_of]


def needs(peer: str) -> None:
    """Skips a test where the packages of a peer are not installed."""
    for package in NEEDS.get(peer, ("optuna",)):
        pytest.importorskip(package)


def command(*arguments: object) -> list[str]:
    return [sys.executable, str(ROOT / "examples/papers"), *map(str, arguments)]


def run(*arguments: object) -> str:
    environment = os.environ | {"JAX_DISABLE_MOST_OPTIMIZATIONS": "1", "MPLBACKEND": "agg"}
    done = subprocess.run(command(*arguments), capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize(
    ("function", "best", "value"),
    [
        (functions.styblinski_tang, [-2.903534] * 3, -39.16617 * 3),
        (functions.michalewicz, [2.202906, 1.570796], -1.8013),
        (functions.branin, [np.pi, 2.275], 0.397887),
        (functions.beale, [3.0, 0.5], 0.0),
        (functions.hartmann6, [0.20169, 0.150011, 0.476874, 0.275332, 0.311652, 0.6573], -3.32237),
        (functions.cosines, [0.3125, 0.3125], 0.9),
    ],
)
def test_functions_have_their_known_optimum(function, best, value) -> None:
    assert function(np.array(best)) == pytest.approx(value, abs=1e-4)
    assert function(np.array([best, best])).shape == (2,)


def test_elimination_finds_the_best_levels() -> None:
    rng = np.random.default_rng(0)
    factors = [Factor(pair, rng.normal(size=(3, 3))) for pair in [(0, 1), (1, 2), (0, 3), (2, 3)]]

    def total(x) -> float:
        return sum(f.table[tuple(x[d] for d in f.scope)] for f in factors)

    best = max(itertools.product(range(3), repeat=4), key=total)
    assert best_indices(factors, 4) == list(best)


def test_functions_on_a_graph_have_their_gradient() -> None:
    drawn, x = GraphGP(9, GRID, 0.2, 0), np.random.default_rng(0).random(9)
    moves = 1e-5 * np.eye(9)
    slopes = [(drawn(x + move) - drawn(x - move)) / 2e-5 for move in moves]
    np.testing.assert_allclose(drawn.gradient(x), slopes, rtol=1e-5, atol=1e-6)


def test_functions_on_a_graph_have_unit_variance_and_stay_below_their_maximum() -> None:
    drawn = [GraphGP(9, GRID, 0.2, seed) for seed in range(40)]
    x = np.random.default_rng(0).random((200, 9))
    values = np.array([function(x) for function in drawn])
    # The standard error of the mean square over 40 draws is about 0.05.
    assert np.square(values).mean() == pytest.approx(1.0, abs=0.2)
    assert values[0].max() < drawn[0].maximum
    assert drawn[0].edges.sum() == 2 * len(GRID)


def test_rescaled_functions_have_the_deviation_of_the_process() -> None:
    rng = np.random.default_rng(0)
    function = rescaled(quad, 3.0)(rng, 5, np.array([1, 3]))
    values = [function(x) for x in rng.uniform(-1, 1, (2000, 5))]
    assert abs(np.mean(values)) < 0.4 and np.std(values) == pytest.approx(3.0, rel=0.1)


def test_a_task_that_cannot_be_loaded_says_so_each_time(tmp_path: Path) -> None:
    (tmp_path / "task.py").write_text("import package_that_is_not_there")
    for _ in range(2):
        with pytest.raises(ModuleNotFoundError, match="package_that_is_not_there"):
            task_module(tmp_path)


def test_a_task_may_define_data_classes(tmp_path: Path) -> None:
    """They look their module up while it is loaded."""
    lines = ("from __future__ import annotations", "from dataclasses import KW_ONLY, dataclass")
    lines += ("@dataclass", "class Point:", "    _: KW_ONLY", "    x: float")
    (tmp_path / "task.py").write_text("\n".join(lines))
    assert task_module(tmp_path).Point(x=2.0).x == 2.0


@pytest.mark.parametrize("name", [n for n in PROBLEMS if n not in ("star", "cosmology")])
def test_no_point_is_above_the_maximum(name: str) -> None:
    try:
        problem = PROBLEMS[name](3, None)
    except FileNotFoundError as error:
        assert "--data" in str(error)
        return
    x = np.random.default_rng(0).uniform(*np.transpose(problem.bounds), (300, problem.num_dims))
    assert problem.maximum is not None
    assert max(map(problem.function, x)) <= problem.maximum


def test_regrets() -> None:
    found = Search(4).measures({"value": [1.0, 3.0, 2.0, 4.0], "maximum": [5.0]})
    assert found["simple regret"].tolist() == [4.0, 2.0, 2.0, 1.0]
    assert found["average cumulative regret"].tolist() == [4.0, 3.0, 3.0, 2.5]
    assert "CPU seconds per suggestion" not in found
    timed = Search(2).measures({"value": [1.0, 3.0], "maximum": [5.0], "seconds": [0.5, 1.5]})
    assert timed["CPU seconds per suggestion"].tolist() == [1.0]
    unknown = Search(3).measures({"value": [1.0, 3.0, 2.0], "maximum": []})
    assert unknown["best value"].tolist() == [1.0, 3.0, 3.0]


@pytest.mark.parametrize("name", [e.name for e in OWN if isinstance(e.kind, Search)])
def test_methods_suit_their_problems(name: str) -> None:
    """Problems with data have stand-ins of the same size."""
    sizes = {"face cascade": 22, "cosmology": 9, "cosmology among 40": 40, "matrix completion": 3}
    experiment = EXPERIMENTS[name]
    for problem, method in itertools.product(experiment.problems, experiment.methods):
        stand_in = Problem(lambda x: 0.0, [(0.0, 1.0)] * sizes.get(problem, 0))
        made = stand_in if problem in sizes else PROBLEMS[problem](0, None)
        if method not in PEERS:
            optimizer = METHODS[method](made, 0)
            assert isinstance(optimizer, sb.Optimizer) and optimizer.direction == "maximize"


@pytest.mark.parametrize("peer", PEERS)
def test_peers_start_from_the_first_points(peer: str) -> None:
    needs(peer)
    ours, theirs = (Search(8, 5).run("Styblinski-Tang", m, 0, None) for m in ("random", peer))
    assert theirs["value"][:5] == ours["value"][:5]
    assert np.isfinite(theirs["value"]).all() and len(theirs["value"]) == 8


def test_methods_of_the_unit_cube_work_on_other_boxes() -> None:
    class Center:
        def ask(self) -> np.ndarray:
            return np.array([0.5, 0.25])

        def tell(self, point: np.ndarray, value: float) -> None:
            told.append((point.tolist(), value))

    told: list[tuple[list[float], float]] = []
    problem = Problem(lambda x: 0.0, [(-4.0, 4.0), (0.0, 2.0)])
    rescaled = Rescaled(lambda problem, seed: Center(), problem, 0)
    assert rescaled.ask().tolist() == [0.0, 0.5]
    rescaled.tell(np.array([-4.0, 1.5]), 3.0)
    assert told == [([0.0, 0.75], 3.0)]


@pytest.mark.parametrize(
    "name", EXPERIMENTS["peers-structure"].problems + EXPERIMENTS["peers-trees"].problems
)
def test_compared_functions_have_a_deviation_of_about_one(name: str) -> None:
    deviations = []
    for seed in range(20):
        problem = PROBLEMS[name](seed, None)
        points = np.random.default_rng(seed).uniform(
            *np.transpose(problem.bounds), (100, problem.num_dims)
        )
        deviations.append(np.std([problem.function(point) for point in points]))
    assert 0.5 < np.mean(deviations) < 1.5


def test_paired_tests_use_equal_seeds_only() -> None:
    first = {seed: float(seed) for seed in range(6)}
    second = {seed: float(seed) + 1.0 for seed in range(1, 7)}
    assert paired_p(first, second) == pytest.approx(2 * 0.5**5)
    assert paired_p(first, first) == 1.0
    assert np.isnan(paired_p(first, {0: 1.0}))


def test_ranks_are_of_cases_that_all_methods_have(tmp_path: Path) -> None:
    """The middle of the run is ranked, too, and ties share their rank."""
    experiment = EXPERIMENTS["peers-tasks"]._replace(
        kind=Tuning(evaluations=2, num_initial=1),
        problems=("a",),
        methods=("structbo", "TPE"),
        seeds=3,
    )
    records = Records(tmp_path / "runs.jsonl", experiment.kind)
    for seed, ours, theirs in ((0, [1.0, 3.0], [2.0, 2.5]), (1, [1.0, 1.0], [1.0, 2.0])):
        for method, values in (("structbo", ours), ("TPE", theirs)):
            records.add(Key("a", method, seed), {"value": values, "seconds": [0.0]}, 0.0)
    records.add(Key("a", "TPE", 2), {"value": [9.0, 9.0], "seconds": [0.0]}, 0.0)
    values = complete_runs(experiment, records, "best value")
    assert values.tolist() == [[-3.0, -2.5], [-1.0, -2.0]]
    ours = complete_runs(experiment._replace(methods=("structbo",)), records, AFTER_40)
    assert ours.tolist() == [[-3.0], [-1.0]]
    row = ranked(experiment._replace(measures=("best value",)), records).splitlines()[-1]
    assert row == "| TPE | 1.5 | 1, 1 | 1 |"


def test_parameters_of_a_task_are_rounded_and_found_again() -> None:
    bounds = np.array([[-2.0, 1.0], [0.0, 4.0], [1.0, 5.0], [0.0, 2.0]])
    task = Task(["log", "lin", "int", "cat"], bounds, lambda x: x.sum())
    params = task.params(np.array([1.0, 0.25, 0.6, 0.4]))
    assert list(params.values()) == [pytest.approx(10.0), 1.0, 3, "1"]
    assert task.value(params) == pytest.approx(1.0 + 1.0 + 3.0 + 1.0)
    assert task.unit(params) == pytest.approx([1.0, 0.25, 0.5, 0.5])
    ranges = {of["name"]: of for of in hebo_ranges(task.distributions)}
    assert list(ranges) == list(params)
    assert [of["type"] for of in ranges.values()] == ["pow", "num", "int", "cat"]
    assert (ranges["p00"]["lb"], ranges["p00"]["ub"]) == pytest.approx((0.01, 10.0))
    assert ranges["p03"]["categories"] == ["0", "1", "2"]


def test_a_method_that_rounds_is_told_what_it_proposed() -> None:
    told = []
    proposer = SimpleNamespace(ask=lambda: np.array([0.6]), tell=lambda *pair: told.append(pair))
    task = Task(["int"], np.array([[0.0, 4.0]]), lambda x: x.sum())
    method = Rounding(lambda problem, seed: proposer, task, 0)
    method.tell({"p00": 4}, 4.0)
    assert method.ask() == {"p00": 2}
    method.tell({"p00": 2}, 2.0)
    assert told == [(1.0, 4.0), (0.6, 2.0)]


def test_a_method_on_a_table_sees_numbers_of_levels() -> None:
    space = sb.Space({"heat": sb.Ordinal([20.0, 30.0, 90.0]), "base": sb.Categorical(["a", "b"])})
    told: list[tuple[dict[str, Any], float]] = []
    made: list[Task] = []

    def make(task: Task, seed: int) -> Any:
        made.append(task)
        asked = {"p00": 1, "p01": "1"}
        return SimpleNamespace(ask=lambda: asked, tell=lambda *pair: told.append(pair))

    method = OnTable(make, space, 0)
    assert made[0].kinds == ["int", "cat"]
    assert method.ask() == {"heat": 30.0, "base": "b"}
    method.tell({"heat": 90.0, "base": "a"}, 4.0)
    assert told == [({"p00": 2, "p01": "0"}, 4.0)]


def test_spread_is_the_standard_error() -> None:
    values = np.array([[1.0, 5.0], [2.0, 5.0], [3.0, 5.0], [6.0, 5.0]])
    assert spread(values) == pytest.approx([np.sqrt(14 / 3) / 2, 0.0])


def test_scores_are_of_the_last_step(tmp_path: Path) -> None:
    experiment = EXPERIMENTS["rolland-figure-3"]._replace(methods=("Overlap", "random"), seeds=2)
    records = Records(tmp_path / "runs.jsonl", experiment.kind)
    for seed, method in itertools.product(range(2), experiment.methods):
        values = {"value": [0.0, 1.0 + seed], "maximum": [4.0]}
        records.add(Key("star", method, seed), values, seconds=1.0)
    found = scores(experiment, records, "random")
    assert len(found) == 4 and {score.mean for score in found[:2]} == {2.5}
    assert np.isnan(found[1].p) and found[0].p == 1.0


def test_runs_with_other_settings_are_not_mistaken_for_these(tmp_path: Path) -> None:
    path, key = tmp_path / "runs.jsonl", Key("D = 10", "GPT", 0)
    Records(path, Screening()).add(key, {"recovered": [1.0]}, seconds=1.0)
    assert key in Records(path, Screening()).runs
    assert key not in Records(path, Screening(budget=7)).runs


@pytest.mark.parametrize("tail", ['{"problem": "D = 10", "meth', '{"problem": \n', '{"seed": 1}'])
def test_a_corrupt_last_line_is_replaced(tail: str, tmp_path: Path) -> None:
    path = tmp_path / "runs.jsonl"
    Records(path, Screening()).add(Key("D = 10", "GPT", 0), {"recovered": [1.0]}, seconds=1.0)
    with path.open("a") as file:
        file.write(tail)
    records = Records(path, Screening())
    assert len(records.runs) == 1
    assert path.read_text().endswith(tail)  # reading changes nothing
    records.add(Key("D = 10", "GPT", 1), {"recovered": [0.0]}, seconds=1.0)
    assert [json.loads(line)["seed"] for line in path.read_text().splitlines()] == [0, 1]


def test_a_method_without_its_package_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def without(problem: Problem, seed: int) -> sb.Optimizer:
        optimizer: sb.Optimizer = importlib.import_module("no_such_package").Optimizer
        return optimizer

    monkeypatch.setitem(METHODS, "absent", without)
    experiment = EXPERIMENTS["peers-structure"]._replace(
        kind=Search(3, 2), problems=("additive",), methods=("absent", "random"), seeds=1
    )
    assert run_missing(experiment, tmp_path, None, jobs=1) == 1
    assert "method='absent', seed=0): needs no_such_package." in capsys.readouterr().err
    assert len(Records(tmp_path / experiment.file_name, experiment.kind).runs) == 1


@pytest.mark.parametrize(
    ("name", "reason"), [("peers-tasks", "it needs --data"), ("kathuria-figure-2", "not at hand")]
)
def test_an_experiment_that_cannot_run_says_why(
    name: str, reason: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert commands.run(Namespace(experiments=[name], all=False, data=None)) == 1
    assert f"{name} is skipped: " in (printed := capsys.readouterr().out) and reason in printed


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_killed_run_goes_on(jobs: int, tmp_path: Path) -> None:
    path = tmp_path / "chen-figure-2.jsonl"
    arguments = ["run", "chen-figure-2", "--quick", "--jobs", jobs, "--results", tmp_path]
    process = subprocess.Popen(
        command(*arguments, "--seeds", 400), stderr=subprocess.DEVNULL, start_new_session=True
    )
    while not path.exists() or len(path.read_text().splitlines()) < 5:
        assert process.poll() is None
        time.sleep(0.02)
    process.send_signal(signal.SIGKILL)
    process.wait()
    before = path.read_text()
    complete = before[: before.rindex("\n") + 1]
    seeds = 1 + max(json.loads(line)["seed"] for line in complete.splitlines())
    run(*arguments, "--seeds", seeds)
    after = path.read_text()
    assert after.startswith(complete)
    keys = [(d["method"], d["seed"]) for d in map(json.loads, after.splitlines())]
    assert len(keys) == len(set(keys)) == seeds * len(EXPERIMENTS["chen-figure-2"].methods)


def test_every_experiment_has_its_runs_or_a_reason() -> None:
    for name, experiment in EXPERIMENTS.items():
        records = Records(ROOT / "examples/papers/results" / experiment.file_name, experiment.kind)
        lacking = [key for key in keys_of(experiment) if key not in records.runs]
        is_complete = experiment.problems and not lacking
        assert bool(experiment.missing) != bool(is_complete), experiment.name
        assert experiment.missing or experiment.why, experiment.name
        assert bool(experiment.printed) != name.startswith("peers"), name


def test_every_run_says_how_long_it_took_and_with_what() -> None:
    for file in (ROOT / "examples/papers/results").glob("*.jsonl"):
        for line in map(json.loads, file.read_text().splitlines()):
            run = file.name, line["problem"], line["method"], line["seed"]
            assert line["seconds"] is not None, run
            assert line["versions"] and line["commit"] and line["machine"], run


def test_quick_runs_are_of_one_problem() -> None:
    for experiment in EXPERIMENTS.values():
        assert len(experiment.quick().problems) == min(len(experiment.problems), 1)
    assert EXPERIMENTS["li-table-2"].quick().problems == ("mixture, D = 50",)


def quick(name: str, folder: Path) -> None:
    data = ("--data", DATA) if EXPERIMENTS[name].needs_data else ()
    run("run", name, "--quick", "--results", folder, *data)
    lines = (folder / EXPERIMENTS[name].file_name).read_text().splitlines()
    assert len(lines) == len(EXPERIMENTS[name].methods)
    for line in map(json.loads, lines):
        assert line["versions"]["structbo"] and "cores" in line["machine"]
        assert np.isfinite([series[-1] for series in line["values"].values() if series]).all()


@pytest.mark.parametrize("name", FAST)
def test_fast_quick_runs(name: str, tmp_path: Path) -> None:
    quick(name, tmp_path)


@pytest.mark.nightly
@pytest.mark.parametrize("name", [e.name for e in OWN if e.problems and e.name not in FAST])
def test_all_quick_runs(name: str, tmp_path: Path) -> None:
    for peer in PEERS.keys() & {*EXPERIMENTS[name].methods}:
        needs(peer)
    if EXPERIMENTS[name].needs_data and not DATA.exists():
        pytest.skip(f"needs the folder of the tasks, {DATA}")
    quick(name, tmp_path)


def test_show_prints_a_table_and_draws_a_picture(tmp_path: Path) -> None:
    experiment = EXPERIMENTS["rolland-figure-8"]
    shutil.copy(ROOT / "examples/papers/results" / experiment.file_name, tmp_path)
    shown = run("show", experiment.name, "--results", tmp_path)
    assert (
        experiment.printed in shown and f"| {experiment.methods[0]} | {experiment.seeds} |" in shown
    )
    assert (tmp_path / f"{experiment.name}.png").stat().st_size > 5000


@pytest.mark.parametrize(("average", "ends"), [("mean", [3.0, 7.0]), ("median", [2.5, 6.5])])
def test_error_bars_are_of_the_average_that_is_drawn(average, ends, tmp_path: Path) -> None:
    """A mean of 5 with a standard error of 2; a median of 3 with its quartiles."""
    experiment = EXPERIMENTS["rolland-figure-3"]._replace(
        methods=("random",), measures=("simple regret",), seeds=3, average=average
    )
    records = Records(tmp_path / "runs.jsonl", experiment.kind)
    for seed, regret in enumerate((1.0, 7.0, 7.0) if average == "mean" else (2.0, 3.0, 10.0)):
        values = {"value": [-regret] * 2, "maximum": [0.0]}
        records.add(Key("star", "random", seed), values, seconds=1.0)
    (panel,) = picture(experiment, records).axes
    (band,) = panel.collections
    heights = band.get_paths()[0].vertices[:, 1]
    assert [heights.min(), heights.max()] == pytest.approx(ends)


def test_docs_refuse_a_number_without_its_runs(tmp_path: Path, monkeypatch) -> None:
    pytest.importorskip("sphinx")
    spec = importlib.util.spec_from_file_location("experiments", ROOT / "docs/experiments.py")
    docs = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(docs)
    complete = EXPERIMENTS["rolland-figure-8"]
    assert len(docs.records_of(complete).runs) == complete.seeds
    monkeypatch.setattr(docs, "RESULTS", tmp_path)
    with pytest.raises(ValueError, match="lacks 10 runs"):
        docs.records_of(complete)
    with pytest.raises(ValueError, match="no experiment"):
        docs.experiment_named("rolland-figure-99")
