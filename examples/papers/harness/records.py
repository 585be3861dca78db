"""Runs as lines of JSON, so that an interrupted experiment goes on where it stopped."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, NamedTuple

from papers.harness.experiment import Experiment, Kind, Values

LIBRARIES = ("structbo", "jax", "numpyro", "numpy", "scipy")
PEERS = ("optuna", "cmaes", "botorch", "gpytorch", "torch", "smac", "HEBO", "scikit-learn")
TASKS = ("gymnasium", "mujoco", "camb")
"""Optional libraries of methods and tasks, whose versions are recorded if installed."""


class Key(NamedTuple):
    """Identifies a run of an experiment."""

    problem: str
    method: str
    seed: int


class Records:
    """The runs of a file; runs with other settings are kept and ignored.

    An unfinished last line, left by a killed process, is cut off before the next run is written.

    Args:
        path: the file, which is created with the first run.
        kind: the kind of run, with its settings.
        others: kinds whose runs serve as well, such as longer ones.
    """

    def __init__(self, path: Path, kind: Kind, others: Sequence[Kind] = ()) -> None:
        self.path, self._settings = path, settings_of(kind)
        accepted = [settings_of(one) for one in (kind, *others)]
        self.runs: dict[Key, Values] = {}
        text = path.read_text() if path.exists() else ""
        lines = text.splitlines(keepends=True)
        self._complete: int | None = None
        if lines and not _is_complete(lines[-1]):
            self._complete = len(text.removesuffix(lines.pop()).encode())
        for line in map(json.loads, lines):
            if line["settings"] in accepted:
                self.runs[Key(*(line[name] for name in Key._fields))] = line["values"]

    def add(self, key: Key, values: Values, seconds: float) -> None:
        """Appends a run to the file."""
        line = key._asdict() | {"values": values, "settings": self._settings}
        line |= {"seconds": round(seconds, 2)} | ORIGIN
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("a") as file:
            if self._complete is not None:
                file.truncate(self._complete)
                self._complete = None
            file.write(json.dumps(line) + "\n")
        self.runs[key] = values

    def of(self, experiment: Experiment, problem: str, method: str) -> dict[int, Values]:
        """The runs of a method on a problem, by seed."""
        keys = [Key(problem, method, seed) for seed in range(experiment.seeds)]
        return {key.seed: self.runs[key] for key in keys if key in self.runs}


def keys_of(experiment: Experiment) -> list[Key]:
    """All runs of an experiment, seed by seed."""
    return [
        Key(problem, method, seed)
        for seed in range(experiment.seeds)
        for problem in experiment.problems
        for method in experiment.methods
    ]


def settings_of(kind: Kind) -> dict[str, Any]:
    """The settings of a run as JSON has them."""
    settings: dict[str, Any] = json.loads(json.dumps(kind.settings()))
    return settings


def rounded(values: Mapping[str, list[float]]) -> Values:
    """The numbers with six digits."""
    return {name: [float(f"{v:.6g}") for v in series] for name, series in values.items()}


def _is_complete(line: str) -> bool:
    try:
        json.loads(line)
    except json.JSONDecodeError:
        return False
    return line.endswith("\n")


def _versions(names: Sequence[str]) -> Iterator[tuple[str, str]]:
    for name in names:
        try:
            yield name, version(name)
        except PackageNotFoundError:
            continue


def _commit() -> str:
    folder = str(Path(__file__).parent)
    command = ["git", "-C", folder, "describe", "--always", "--dirty", "--exclude", "*"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.stdout.strip() or "unknown"


ORIGIN = {
    "versions": {"python": sys.version.split()[0], **dict(_versions(LIBRARIES + PEERS + TASKS))},
    "commit": _commit(),
    "machine": f"{os.cpu_count()} cores",
}
"""Versions, commit and machine of the runs of this process."""
