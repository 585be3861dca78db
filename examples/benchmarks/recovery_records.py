"""Runs of recovery.py as lines of JSON, and the table of their scores."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from recovery_scores import scores_of

Run = dict[str, Any]
"""The answers of a method beside the truth; see `scores_of`."""


class Key(NamedTuple):
    """The settings that identify a run.

    Args:
        problem: name of the problem.
        data: how points were chosen.
        noise: variance of the noise of functions, relative to theirs.
        n: number of observations.
        method: name of the method.
        seed: seed of the data and of the method.
    """

    problem: str
    data: str
    noise: float
    n: int
    method: str
    seed: int


class Records:
    """Runs in a file with a line of JSON for each, so that interrupted benchmarks resume.

    Args:
        path: the file, which is created with the first run.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self.runs: dict[Key, Run] = {}
        lines = path.read_text().splitlines() if path.exists() else []
        for line in lines:
            record = json.loads(line)
            key = Key(**{name: record.pop(name) for name in Key._fields})
            self.runs[key] = record

    def add(self, key: Key, run: Run) -> None:
        """Writes a run, and prints how it ended."""
        record = _plain(key._asdict() | run)
        self.runs[key] = {name: value for name, value in record.items() if name not in Key._fields}
        with self._path.open("a") as file:
            file.write(json.dumps(record) + "\n")
        print(*key, f"{record['CPU s']:.1f} CPU s", flush=True)

    def scores(self, method: str, cases: Iterable[Key]) -> dict[str, list[np.ndarray]]:
        """Scores by name, with an array over seeds for every problem.

        Args:
            method: name of the method.
            cases: the runs to look up, whatever their methods.
        """
        found: dict[str, list[dict[str, float]]] = {}
        for key in dict.fromkeys(case._replace(method=method) for case in cases):
            if key in self.runs:
                found.setdefault(key.problem, []).append(scores_of(self.runs[key]))
        return {
            name: [np.array([scores[name] for scores in runs]) for runs in found.values()]
            for name in next(iter(found.values()), [{}])[0]
        }


def _plain(value: Any) -> Any:
    """The value as JSON has it, with five decimals; missing numbers are None."""
    if isinstance(value, dict):
        return {name: _plain(part) for name, part in value.items()}
    if isinstance(value, np.ndarray):
        return None if np.isnan(value).all() else [_plain(part) for part in value.tolist()]
    if isinstance(value, float):
        return round(float(value), 5) if np.isfinite(value) else None
    return value
