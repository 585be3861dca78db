"""The command: its output, exit codes, and one line for every error."""

import csv
import json
import re
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import optuna
import pytest

from structbo import Integer, Optimizer, Space, maximize, suggest
from structbo.command_line import main

SPACE = Space({"lr": (1e-4, 1.0, "log"), "k": Integer(1, 8)})
YAML = "lr: {type: real, low: 1e-4, high: 1, log: true}\nk: {type: integer, low: 1, high: 8}\n"
RUNS = "lr,k,loss\n0.1,3,0.5\n0.01,4,failed\n0.001,2,\n"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "space.yaml").write_text(YAML)
    (tmp_path / "runs.csv").write_text(RUNS)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(command: str) -> int:
    return main([*command.split(), "--cache", ""])


def expected(n: int, seed: int = 0) -> object:
    points, pending = [{"lr": 0.1, "k": 3}, {"lr": 0.01, "k": 4}], [{"lr": 0.001, "k": 2}]
    return suggest(SPACE, points, [0.5, float("nan")], n, pending=pending, seed=seed)


@pytest.mark.usefixtures("folder")
def test_points_are_those_of_suggest(capsys: pytest.CaptureFixture[str]):
    command = "suggest --space space.yaml --data runs.csv -n 2 --seed 7 --format json"
    assert run(command) == 0
    assert json.loads(capsys.readouterr().out) == expected(2, seed=7)


def test_points_go_to_a_file_in_the_format_of_its_name(folder: Path):
    assert run("suggest --space space.yaml --data runs.csv --out next.json") == 0
    assert json.loads((folder / "next.json").read_text()) == expected(1)
    assert run("suggest --space space.yaml --data runs.csv --out next.csv") == 0
    assert (folder / "next.csv").read_text().splitlines()[0] == "lr,k"


def test_points_have_the_digits_that_matter(folder: Path, capsys: pytest.CaptureFixture[str]):
    """CSV has the points of JSON in fewer digits; all are new with respect to the table."""
    command = "suggest --space space.yaml --data runs.csv -n 5"
    assert run(command) == 0
    rows = list(csv.DictReader(capsys.readouterr().out.splitlines()))
    assert run(f"{command} --format json") == 0
    exact = json.loads(capsys.readouterr().out)
    short = [{"lr": float(row["lr"]), "k": int(row["k"])} for row in rows]
    assert all(len(row["lr"].lstrip("0.")) <= 5 for row in rows)
    for one, other in zip(SPACE.to_unit(short), SPACE.to_unit(exact), strict=True):
        assert SPACE.same(one, [other]).all()
    (folder / "narrow.yaml").write_text("x: {type: real, low: 0, high: 1}\n")
    found: list[str] = []
    for _ in range(3):
        table = "x,y\n" + "".join(f"{x},\n" for x in found)
        (folder / "pending.csv").write_text(table)
        assert run("suggest --space narrow.yaml --data pending.csv") == 0
        found.append(capsys.readouterr().out.splitlines()[1])
    assert len(set(found)) == 3 and all(len(x) <= 6 for x in found)


def test_a_file_of_points_opens_in_a_spreadsheet(folder: Path):
    """Non-ASCII letters need a byte order mark; a pure ASCII file has none."""
    (folder / "celsius.yaml").write_text("t °C: {type: real, low: 0, high: 1}\n", encoding="utf-8")
    assert run("suggest --space celsius.yaml --out next.csv") == 0
    assert (folder / "next.csv").read_bytes().startswith("\ufefft °C\n".encode())
    assert run("suggest --space space.yaml --out next.csv") == 0
    assert (folder / "next.csv").read_bytes().startswith(b"lr,k\n")


def test_standard_errors_reach_suggestions_and_reports(
    folder: Path, monkeypatch: pytest.MonkeyPatch
):
    (folder / "runs.csv").write_text("lr,k,loss,sem,se\n0.1,3,0.5,0.1,2\n0.2,3,0.6,,\n")
    seen: dict[str, Any] = {}

    def proposed(*table: Any, **settings: Any) -> Any:
        return suggest(*table, **seen.setdefault("settings", settings))

    def write(search: Optimizer, path: Path, **settings: Any) -> Path:
        seen["errors"] = [trial.sem for trial in search.trials]
        return path

    monkeypatch.setattr("structbo.command_line.entry_point.suggest", proposed)
    monkeypatch.setattr("structbo.command_line.entry_point.write_report", write)
    for option, error in (("", 0.1), ("--sem se", 2.0)):
        assert run(f"suggest --space space.yaml --data runs.csv --value loss {option}") == 0
        assert seen.pop("settings")["sem"].tolist() == [error, 0.0]
        command = f"report --space space.yaml --data runs.csv --value loss {option} --out r.html"
        assert run(command) == 0
        assert seen.pop("errors") == [error, None]


def test_points_keep_the_constraints_of_the_space_file(
    folder: Path, capsys: pytest.CaptureFixture[str]
):
    """This holds for proposed points and for points of a table."""
    real = "{type: real, low: 0, high: 1}"
    limit = "[{weights: {a: 1, b: 1}, high: 0.1}]"
    (folder / "corner.yaml").write_text(f"a: {real}\nb: {real}\nconstraints: {limit}\n")
    assert run("suggest --space corner.yaml -n 4 --format json") == 0
    points = json.loads(capsys.readouterr().out)
    assert len(points) == 4 and all(point["a"] + point["b"] <= 0.1 + 1e-6 for point in points)
    (folder / "outside.csv").write_text("a,b,value\n0.5,0.5,1.0\n")
    assert run("suggest --space corner.yaml --data outside.csv") == 1
    message = "breaks a constraint: 1 * a + 1 * b must be at most 0.1, got 1"
    assert message in capsys.readouterr().err


@pytest.mark.usefixtures("folder")
@pytest.mark.filterwarnings("always:no --space is given")
@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("suggest --space none.yaml", "No such file or directory: 'none.yaml'"),
        ("suggest --space runs.csv", "runs.csv must map names to parameters"),
        ("suggest --space space.yaml --data space.yaml", "has no column 'lr'"),
        ("suggest --space space.yaml -n 0", "n must be an integer of at least 1, got 0"),
        ("suggest --space space.yaml --seed -1", "seed must be an integer"),
        ("report --data none.csv --out r.html", "No such file or directory: 'none.csv'"),
        ("report --data runs.csv --out r.html", "must have at least two complete trials, it has 1"),
        ("report --data runs.csv --space runs.csv --out r.html", "must map names to parameters"),
        (
            "report --data runs.csv --out r.html -n -1",
            "num_suggestions must be an integer of at le",
        ),
        (
            "report --data runs.csv --out no/r.html",
            "no/r.html cannot be written: there is no folder",
        ),
        (
            "suggest --space none.yaml --out no/x.csv",
            "no/x.csv cannot be written: there is no fold",
        ),
        ("demo --out no/r.html", "there is no folder no; create it, or choose another path"),
        ("demo --out runs.csv/r.html", "there is no folder runs.csv; create it, or choose"),
        ("suggest --space none.yaml --out .", ". is a folder: add the name of a file"),
        ("demo --trials -1", "n_trials must be an integer of at least 0, got -1"),
    ],
)
def test_an_error_is_one_line_and_the_exit_code_1(
    command: str, message: str, capsys: pytest.CaptureFixture[str]
):
    assert run(command) == 1
    warned, line = capsys.readouterr().err.rpartition("structbo: error: ")[::2]
    assert message in line and line.count("\n") == 1
    assert all(text.startswith("structbo: warning: ") for text in warned.splitlines())


def test_a_report_is_that_of_an_optimizer_that_was_told_the_table(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    found = {}

    def write(search: Optimizer, path: Path, **settings: Any) -> Path:
        found.update(settings, search=search, path=path)
        return path

    monkeypatch.setattr("structbo.command_line.entry_point.write_report", write)
    command = "report --space space.yaml --data runs.csv --out r.html -n 2 --seed 3"
    assert run(f"{command} --direction maximize --value loss") == 0
    assert capsys.readouterr().out == "wrote r.html\n"
    search = found["search"]
    told = [(trial.number, trial.params, trial.value, trial.state) for trial in search.trials]
    assert told == [
        (2, {"lr": pytest.approx(0.1), "k": 3}, 0.5, "complete"),
        (3, {"lr": pytest.approx(0.01), "k": 4}, None, "failed"),
    ]
    assert search.space == SPACE and search.direction == "maximize" and search.method.seed == 3
    assert found["pending"] == [{"lr": 0.001, "k": 2}] and found["num_suggestions"] == 2
    assert found["title"] == "Report on runs.csv" and found["value_name"] == "loss"
    assert found["remark"].startswith("Run numbers are lines of runs.csv")


def test_a_report_is_also_of_a_study(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    found = {}

    def write(search: Optimizer, path: Path, **settings: Any) -> Path:
        found.update(settings, search=search)
        return path

    monkeypatch.setattr("structbo.command_line.entry_point.write_report", write)
    command = "report --storage sqlite:///runs.db --out r.html"
    assert run(command) == 1
    assert capsys.readouterr().err.endswith("there is no file runs.db.\n")
    given = {"storage": "sqlite:///runs.db", "study_name": "mine", "show_progress_bar": False}
    result = maximize(lambda p: p["x"], {"x": (0.0, 1.0)}, 3, num_initial=9, **given)
    assert run(f"{command} --study mine --seed 3") == 0
    assert found["search"].direction == "maximize" and found["search"].method.seed == 3
    assert found["search"].best.value == result.best_value
    assert found["title"] == "Report on study mine" and found["value_name"] == "objective"
    study = optuna.load_study(storage=given["storage"], study_name="mine")
    with pytest.warns(optuna.exceptions.ExperimentalWarning):
        study.set_metric_names(["accuracy"])
    assert run(f"{command} --study mine") == 0 and found["value_name"] == "accuracy"
    capsys.readouterr()
    for option in ("--direction minimize", "--value loss", "--sem e"):
        assert run(f"{command} {option}") == 1
        assert "--value, --sem and --direction are for tables" in capsys.readouterr().err
    assert run("report --data runs.csv --out r.html --study mine") == 1
    assert "--study is for --storage" in capsys.readouterr().err


@pytest.mark.nightly
def test_the_demonstration_ends_with_importances_and_a_report(
    folder: Path, capsys: pytest.CaptureFixture[str]
):
    """The true shares are estimated by Saltelli's design on 8192 points; intervals have 90 %."""
    truth = {"lr": 59.6, "momentum": 59.2, "width": 20.4, "depth": 22.7, "dropout": 5.5}
    assert run("demo --trials 30 --out demo.html") == 0
    lines = capsys.readouterr().out.splitlines()
    rows = [re.fullmatch(r"  (\w+) +(\d+) %  \((\d+) to (\d+)\)", line) for line in lines]
    shares = {row[1]: [float(number) for number in row.groups()[1:]] for row in rows if row}
    named, means = list(shares), [mean for mean, _, _ in shares.values()]
    assert len(named) == 5 and set(named[:2]) == {"lr", "momentum"}
    assert shares.keys() == truth.keys() and means == sorted(means, reverse=True)
    assert sum(low - 1 <= truth[d] <= high + 1 for d, (_, low, high) in shares.items()) >= 4
    assert lines[-1] == "wrote demo.html" and "momentum" in (folder / "demo.html").read_text()


def test_wrong_options_exit_with_2(capsys: pytest.CaptureFixture[str]):
    with pytest.raises(SystemExit, match="2"):
        main(["suggest"])
    assert "--space" in capsys.readouterr().err


def test_help_says_how_files_look(capsys: pytest.CaptureFixture[str]):
    with pytest.raises(SystemExit, match="0"):
        main(["suggest", "--help"])
    found = capsys.readouterr().out
    assert "type: real, low: 1e-5" in found and "constraints: [{weights:" in found


def test_the_package_runs_as_a_module(folder: Path):
    """It prints points, and returns the exit code of a failure."""
    command = [sys.executable, "-m", "structbo", "suggest", "--space", "space.yaml", "--cache", ""]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[0] == "lr,k" and len(done.stdout.splitlines()) == 2
    command[command.index("space.yaml")] = "missing.yaml"
    failed = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert failed.returncode == 1 and failed.stderr.startswith("structbo: error: ")


def test_a_fresh_process_writes_nothing_else(folder: Path):
    code = "import sys; from structbo.command_line import main; sys.exit(main())"
    command = [sys.executable, "-c", code, "suggest", "--space", "space.yaml", "--cache", ""]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True)
    assert done.stderr == ""
    assert len(done.stdout.splitlines()) == 2


@pytest.mark.skipif(sys.platform == "win32", reason="HOME has another name")
def test_points_come_also_where_programs_cannot_be_kept(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.setenv("HOME", str(folder / "space.yaml"))
    warnings.simplefilter("default")
    assert main(["suggest", "--space", "space.yaml"]) == 0
    out, err = capsys.readouterr()
    assert out.startswith("lr,k\n") and "programs are not kept" in err and "--cache" in err
    assert main(["suggest", "--space", "space.yaml", "--cache", "space.yaml/programs"]) == 1
