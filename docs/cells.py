"""The folder of the results, and what the cells of tables have in common."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from papers.harness.table import rendered

BENCHMARKS = Path(__file__).parents[1] / "examples" / "benchmarks" / "results"


class Table(NamedTuple):
    """A table whose `str` is Markdown.

    Args:
        header: names of the columns.
        rows: the cells of every row.
    """

    header: Sequence[str]
    rows: Sequence[Sequence[str]]

    def __str__(self) -> str:
        return rendered(self.header, self.rows)

    def of(self, names: Sequence[str]) -> "Table":
        """Some of the columns."""
        places = [self.header.index(name) for name in names]
        return Table(names, [[row[place] for place in places] for row in self.rows])


def joined(values: Iterable[float], spec: str) -> str:
    """Several numbers in a cell."""
    return ", ".join(format(value, spec) for value in values)


def short(value: float) -> str:
    """Two digits."""
    return f"{value:.2g}" if abs(value) < 100 else f"{value:.0f}"
