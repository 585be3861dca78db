"""The command: its output, exit codes, and one line for every error."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from structbo import Integer, Space, suggest
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


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("suggest --space none.yaml", "No such file or directory: 'none.yaml'"),
        ("suggest --space runs.csv", "runs.csv must map names to parameters"),
        ("suggest --space space.yaml --data space.yaml", "has no column 'lr'"),
        ("suggest --space space.yaml -n 0", "n must be an integer of at least 1, got 0"),
        ("suggest --space space.yaml --seed -1", "seed must be an integer"),
        ("demo --trials -1", "n_trials must be an integer of at least 0, got -1"),
    ],
)
def test_an_error_is_one_line_and_the_exit_code_1(
    command: str, message: str, capsys: pytest.CaptureFixture[str]
):
    assert run(command) == 1
    line = capsys.readouterr().err
    assert line.startswith("structbo: error: ") and message in line and line.count("\n") == 1


def test_wrong_options_exit_with_2(capsys: pytest.CaptureFixture[str]):
    with pytest.raises(SystemExit, match="2"):
        main(["suggest"])
    assert "--space" in capsys.readouterr().err


def test_help_says_how_files_look(capsys: pytest.CaptureFixture[str]):
    with pytest.raises(SystemExit, match="0"):
        main(["suggest", "--help"])
    assert "type: real, low: 1e-5" in capsys.readouterr().out


def test_a_fresh_process_writes_nothing_else(folder: Path):
    code = "import sys; from structbo.command_line import main; sys.exit(main())"
    command = [sys.executable, "-c", code, "suggest", "--space", "space.yaml", "--cache", ""]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True)
    assert done.stderr == ""
    assert len(done.stdout.splitlines()) == 2
