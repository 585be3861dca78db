"""A table of benchmark runs that grows by one row at a time and outlives interruptions."""

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
        description: of the benchmark.
        table: name of the file in results/ that its runs are written to.
        problems: those of the benchmark, by name.
        choices: the problems that can be asked for; by default any.
        folder: what the folder of the problems is called.
    """
    made = argparse.ArgumentParser(description=description)
    made.add_argument(f"--{folder}", type=Path, default=Path("../shared") / folder)
    made.add_argument("--problems", nargs="+", default=problems, choices=choices)
    made.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    made.add_argument("--results", type=Path, default=Path(__file__).parent / "results" / table)
    return made


class Runs:
    """The rows of a csv file: cells that say which run it was, the seed last, then its numbers.

    Args:
        path: the file; created if there is none.
        keys: names of the first columns.
        values: names of the others.
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
        """Has this run been made?"""
        return tuple(map(str, key)) in self.rows

    def add(self, key: Sequence[object], values: Sequence[float]) -> None:
        """Writes and prints a row."""
        cells = [f"{value:.4g}" for value in values]
        self.rows[tuple(map(str, key))] = list(map(float, cells))
        self._append([*map(str, key), *cells])
        print(*key, *cells, flush=True)

    def of_seeds(self, *key: object) -> np.ndarray:
        """The numbers of all runs whose first cells these are, shape (seeds, values)."""
        start = tuple(map(str, key))
        return np.array([row for k, row in self.rows.items() if k[:-1] == start])

    def settings(self) -> list[Key]:
        """The settings of the runs: the keys without their seeds, in the order of the file."""
        return list(dict.fromkeys(key[:-1] for key in self.rows))

    def _append(self, row: Sequence[str]) -> None:
        with self.path.open("a", newline="") as file:
            csv.writer(file, lineterminator="\n").writerow(row)
