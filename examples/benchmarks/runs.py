"""A table of benchmark runs, written row by row so that interrupted benchmarks resume."""

import argparse
import csv
from collections.abc import Collection, Sequence
from pathlib import Path

import numpy as np

Key = tuple[str, ...]


def parser(
    description: str,
    table: str,
    problems: Sequence[str],
    choices: Collection[str] | None = None,
    *,
    folder: str = "bench",
) -> argparse.ArgumentParser:
    """The command line of the benchmarks on shared problems.

    Args:
        description: description of the benchmark.
        table: name of the file of its runs in results/.
        problems: names of the problems of the benchmark.
        choices: names of allowed problems; by default any.
        folder: name of the option for the folder of the problems.
    """
    made = argparse.ArgumentParser(description=description)
    made.add_argument(f"--{folder}", type=Path, default=Path("../shared") / folder)
    made.add_argument("--problems", nargs="+", default=problems, choices=choices)
    made.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    made.add_argument("--results", type=Path, default=Path(__file__).parent / "results" / table)
    return made


class Runs:
    """The rows of a CSV file: cells that identify a run, with the seed last, then its numbers.

    Args:
        path: the file, which is created if missing.
        keys: names of the first columns.
        values: names of the other columns.
    """

    def __init__(self, path: Path, keys: Sequence[str], values: Sequence[str]) -> None:
        self.path = path
        self.rows: dict[Key, list[float]] = {}
        if not path.exists():
            self._append([*keys, *values])
        with path.open(newline="") as file:
            for row in list(csv.reader(file))[1:]:
                self.rows[tuple(row[: len(keys)])] = [float(cell) for cell in row[len(keys) :]]

    def __contains__(self, key: Sequence[object]) -> bool:
        """Whether the table has this run."""
        return tuple(map(str, key)) in self.rows

    def add(self, key: Sequence[object], values: Sequence[float]) -> None:
        """Writes and prints a row."""
        cells = [f"{value:.4g}" for value in values]
        self.rows[tuple(map(str, key))] = list(map(float, cells))
        self._append([*map(str, key), *cells])
        print(*key, *cells, flush=True)

    def of_seeds(self, *key: object) -> np.ndarray:
        """The numbers of all runs with these first cells, shape (seeds, values)."""
        start = tuple(map(str, key))
        return np.array([row for k, row in self.rows.items() if k[:-1] == start])

    def settings(self) -> list[Key]:
        """The settings of the runs: the keys without their seeds, in the order of the file."""
        return list(dict.fromkeys(key[:-1] for key in self.rows))

    def _append(self, row: Sequence[str]) -> None:
        with self.path.open("a", newline="") as file:
            csv.writer(file, lineterminator="\n").writerow(row)
