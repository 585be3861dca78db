"""Problems, runs and the summary of examples/benchmarks/wide.py."""

import json
import sys
from pathlib import Path

import numpy as np
import pytest
import wide
from papers.harness.records import Key, Records
from papers.harness.table import rendered
from wide_methods import METHODS, OnePenalty
from wide_problems import MAKERS, NAMED, RANDOM, TASK_MAKERS, of_half, problem_of
from wide_search import COUNTS, WideSearch
from wide_summary import LEAST, costs, summary

TASK = """
DIM = 4
def objective(x):
    return 1.0 - float(sum(x))

class Lasso:
    dim = 5
    def __init__(self, name, noise):
        self.best = 0.2 if noise else 0.4
    def objective(self, x):
        return float(((x - self.best) ** 2).sum())
"""
"""A stand-in for the modules of the lasso and the rover."""


@pytest.fixture
def data(tmp_path: Path, monkeypatch) -> Path:
    for name in ("lasso", "rover"):
        monkeypatch.delitem(sys.modules, f"task_{name}", raising=False)
        (tmp_path / name).mkdir()
        (tmp_path / name / "task.py").write_text(TASK)
    return tmp_path


def run(monkeypatch, folder: Path, *arguments: object) -> list[dict]:
    """Runs the benchmark, and returns the lines of its file."""
    words = map(str, ("wide.py", "--results", folder, *arguments))
    monkeypatch.setattr(sys, "argv", list(words))
    assert wide.main() == 0
    return [json.loads(line) for line in (folder / "wide.jsonl").read_text().splitlines()]


@pytest.mark.parametrize("name", MAKERS)
def test_no_point_is_above_the_maximum(name: str) -> None:
    problem = problem_of(name, 1)
    optimum, rng = problem.truth["optimum"], np.random.default_rng(0)
    assert problem.function(optimum) == pytest.approx(problem.maximum, abs=1e-9)
    assert (optimum >= 0).all() and (optimum <= 1).all()
    near = np.clip(optimum + 0.02 * rng.normal(size=(200, len(optimum))), 0.0, 1.0)
    for x in (*rng.random((2000, len(optimum))), *near):
        assert problem.function(x) <= problem.maximum


@pytest.mark.parametrize(
    ("name", "maximum"),
    [
        ("hartmann6-100", 3.32237),
        ("hartmann6-300", 3.32237),
        ("levy4-100", 0.0),
        ("levy4-300", 0.0),
        ("ackley53", 0.0),
        ("rosenbrock100", 0.0),
        ("rotated60-dev", 4.0),
        ("quadratic200-report", 0.0),
    ],
)
def test_known_maxima(name: str, maximum: float) -> None:
    assert problem_of(name, 0).maximum == pytest.approx(maximum, abs=1e-5)


@pytest.mark.parametrize(
    ("name", "num_dims", "num_active"),
    [
        ("tree20-dev", 20, 20),
        ("8of40-dev", 40, 8),
        ("12of100-report", 100, 12),
        ("20of300-dev", 300, 20),
        ("hartmann6-300", 300, 6),
        ("levy4-100", 100, 4),
        ("additive100-dev", 100, 100),
    ],
)
def test_only_active_variables_matter(name: str, num_dims: int, num_active: int) -> None:
    problem = problem_of(name, 2)
    assert problem.num_dims == num_dims
    center, moves = np.full(num_dims, 0.41), 0.27 * np.eye(num_dims)
    changes = [problem.function(center + move) - problem.function(center) for move in moves]
    assert np.count_nonzero(changes) == num_active


def test_main_effects_alone_have_no_interactions() -> None:
    function = problem_of("additive100-dev", 0).function
    x, y = np.random.default_rng(0).random((2, 100))
    for size in (1, 40):
        mixed, others = np.append(x[:size], y[size:]), np.append(y[:size], x[size:])
        assert function(mixed) + function(others) == pytest.approx(function(x) + function(y))


def test_halves_share_no_instance() -> None:
    halves = [of_half(half) for half in ("development", "report")]
    names = [{name for family in half.values() for name in family} for half in halves]
    assert not names[0] & names[1]
    assert names[0] | names[1] == {*MAKERS, *TASK_MAKERS}
    assert {family for half in halves for family in half} > {*RANDOM, *NAMED["report"]}
    x = np.full(20, 0.3)
    values = {
        problem_of(f"tree20-{half}", seed).function(x)
        for half in ("dev", "report")
        for seed in range(3)
    }
    assert len(values) == 6
    assert problem_of("tree20-dev", 1).function(x) == problem_of("tree20-dev", 1).function(x)


def test_a_run_goes_on_after_an_unfinished_line(tmp_path: Path, monkeypatch) -> None:
    asked = ("--problems", "unstructured8-dev", "--methods", "random", "--against", "random")
    first = run(monkeypatch, tmp_path, *asked, "--seeds", 2, "--evaluations", 50)
    path = tmp_path / "wide.jsonl"
    path.write_text(path.read_text()[:-40])
    again = run(monkeypatch, tmp_path, *asked, "--seeds", 2, "--evaluations", 50)
    numbers = [[line["values"][name] for name in ("value", "maximum")] for line in (*first, *again)]
    assert numbers[:2] == numbers[2:]
    assert again[0] == first[0] and [line["seed"] for line in again] == [0, 1]
    for line in again:
        assert len(line["values"]["value"]) == 50 and len(line["values"]["seconds"]) == 30
        assert line["versions"]["structbo"]


def test_longer_runs_serve_for_fewer_evaluations(tmp_path: Path, monkeypatch, capsys) -> None:
    asked = ("--problems", "linear200-dev", "--methods", "random", "--against", "random")
    for evaluations, count in ((50, 1), (200, 2), (100, 2)):
        lines = run(monkeypatch, tmp_path, *asked, "--seeds", 1, "--evaluations", evaluations)
        assert len(lines) == count
    shown = capsys.readouterr().out
    assert "regret at 200, mean" in shown and "regret at 500" not in shown


def test_methods_of_a_seed_start_alike(monkeypatch) -> None:
    told = []

    def recorded(problem, optimizer, first, noise):
        told.append([*first[-1], *noise])
        return {}

    monkeypatch.setattr("wide_search.maximized", recorded)
    for method, seed in (("random", 3), ("one_penalty", 3), ("random", 4)):
        WideSearch(50).run("rotated60-dev", method, seed, None)
    assert told[0] == told[1] and told[0][:60] != told[2][:60] and told[0][60:] != told[2][60:]


def test_noise_is_relative_to_the_range(data: Path, monkeypatch) -> None:
    noises = {}

    def recorded(problem, optimizer, first, noise):
        noises[problem.num_dims] = noise.std()
        return {}

    monkeypatch.setattr("wide_search.maximized", recorded)
    for name in ("quadratic200-dev", "rover60", "lasso60"):
        WideSearch(500).run(name, "random", 0, data)
    problem = problem_of("quadratic200-dev", 0)
    median = np.median([problem.function(x) for x in np.random.default_rng(1).random((99, 200))])
    assert noises[200] == pytest.approx(-0.01 * median, rel=0.2)
    assert noises[4] == noises[5] == 0.0


def test_tasks_are_maximized(data: Path) -> None:
    lasso = problem_of("lasso300-noisy", 2, data)
    assert lasso.function(np.full(5, 0.6)) == pytest.approx(0.0)  # the best point 0.2 of [-1, 1]
    assert lasso.function(np.zeros(5)) < -1.0 and lasso.maximum == 0.0
    assert problem_of("rover60", 0, data).function(np.zeros(4)) == pytest.approx(1.0, abs=1e-5)
    with pytest.raises(FileNotFoundError, match="--data"):
        problem_of("lasso60", 0, None)


def test_one_penalty_is_a_grid_of_common_penalties(data: Path) -> None:
    baseline = OnePenalty(problem_of("lasso60", 0, data), 0)
    points = np.array([baseline.ask() for _ in range(31)])
    assert (points == points[:, :1]).all() and (points[30] == points[0]).all()
    np.testing.assert_allclose(points[:30, 0], np.linspace(0, 1, 30))


def test_summary_pairs_equal_cases_with_the_best_peer(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(sys, "argv", ["wide.py"])
    kind = WideSearch(50)
    family = wide.experiments(
        wide.parser().parse_args(["--families", "trees", "--methods", "structbo", "tpe", "turbo"])
    )[0]._replace(kind=kind)
    records = Records(tmp_path / family.file_name, kind)
    regrets = {
        "structbo": (2.0, 1.0, 1e-9),
        "botorch": (8.0, 4.0, 2.0),
        "turbo": (4.0, 8.0, 1.0),
        "tpe": (16.0, 16.0, 16.0),
    }
    for method, ends in regrets.items():
        for seed, end in enumerate(ends):
            values = {"value": [-16.0] * 49 + [-end], "maximum": [0.0], "seconds": [1.0]}
            records.add(Key("tree20-dev", method, seed), values, seconds=1.0)
    found = costs(family, records, "structbo", 50)
    assert found["tree20-dev", 0] == pytest.approx(np.log(2.0))
    assert found["tree20-dev", 2] == pytest.approx(np.log(16.0 * LEAST))
    lines = rendered(*summary([family], tmp_path, ["botorch", "turbo"], COUNTS)).splitlines()
    rows = {line.split(" | ")[1]: line.strip("| ").split(" | ") for line in lines[2:]}
    assert set(rows) == {"structbo", "tpe"}
    # Ratios 2/4, 1/4 and a tiny one; 16/4, 16/4 and 16/1.
    assert rows["structbo"][3:5] == ["3", "-1.39"] and rows["structbo"][6:] == ["3", "0", "0.25"]
    assert rows["tpe"][4] == "1.39" and rows["tpe"][6:8] == ["0", "3"]


def test_chosen_names_must_be_of_the_half() -> None:
    for given in (["--families", "rover"], ["--problems", "levy4-100"]):
        with pytest.raises(SystemExit, match="not in the half 'development'"):
            wide.experiments(wide.parser().parse_args(given))


def test_the_lasso_always_has_its_baseline() -> None:
    families = wide.experiments(wide.parser().parse_args(["--families", "lasso", "trees"]))
    assert [("one_penalty" in family.methods) for family in families] == [True, False]


@pytest.mark.parametrize("method", ["structbo", "vanilla", "saas", "random"])
def test_own_methods_maximize(method: str) -> None:
    optimizer = METHODS[method](problem_of("rotated60-dev", 0), 0)
    assert optimizer.direction == "maximize"


def test_turbo_halves_its_region_after_failures() -> None:
    pytest.importorskip("botorch")
    from wide_turbo import Region

    region = Region(max_failures=3)
    for best in (1.0, 1.0, 2.0, 2.0, 2.0, 2.0):
        region.update(best, 1.0 if best == 1.0 else 2.0)
    assert region.length == 0.4
    for _ in range(10):
        region.update(2.0, 1.0)
    assert region.length == 0.8
