"""Inserts results of `examples/benchmarks/recovery.py`, from the file of its runs.

``{recovery} anova`` is a directive: one row for each problem of the reporting half.
``{recovery-search} anova`` has the tables of reactions, from the runs of a search.
``{recovery-peers} anova random_forest ...`` compares several methods on tables and functions.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from cells import BENCHMARKS, Table
from docutils import nodes
from recovery_problems import HALVES
from recovery_records import Key, Records
from sphinx.util.docutils import SphinxDirective

RESULTS = BENCHMARKS / "recovery.jsonl"

NUM_POINTS, NUM_CHOSEN = 150, 50
"""Numbers of random points, and of points that a search chose."""
TABLES_OF_REACTIONS = ("buchwald_a", "buchwald_b")
NAMES = {
    "buchwald_a": "Buchwald-Hartwig A, table",
    "buchwald_b": "Buchwald-Hartwig B, table",
    "ishigami_weak": "weak Ishigami and 7 inert parameters",
    "g_flat": "flat g-function",
    "additive12": "sum of 7 functions, 12 parameters",
    "graph15": "random graph of 15 parameters",
    "rough15": "rough random graph of 15 parameters",
    "mixed12": "random function of 12 mixed parameters",
    "anova": "structbo",
    "random_forest": "random forest",
    "extra_trees": "extra trees",
    "botorch": "BoTorch's OrthogonalAdditiveGP",
}
Values = dict[str, list[np.ndarray]]


def count(name: str) -> Callable[[Values], str]:
    """How many calls are made, and how many are right."""
    return lambda found: f"{total(found[name])}, {total(found[f'{name} right'])}"


def mean(name: str, decimals: int = 2) -> Callable[[Values], str]:
    """The mean of a score over problems and seeds; empty if it has no values."""

    def cell(found: Values) -> str:
        values = np.concatenate(found[name])
        known = values[~np.isnan(values)]
        return f"{known.mean():.{decimals}f}" if len(known) else ""

    return cell


def total(values: Sequence[np.ndarray]) -> int:
    return int(np.nansum(np.concatenate(values)))


COLUMNS = {
    "seeds": lambda found: str(sum(map(len, found["CPU s"]))),
    "edges called, right": count("called"),
    "shares found, right": count("found"),
    "ruled out, right": count("none"),
    "strongest pair named": mean("strongest"),
    "error of pairs": mean("error pairs", 4),
    "intervals that hold, pairs": mean("cover pairs"),
    "main effects": mean("cover main"),
    "correlation": mean("correlation"),
    "CPU s": mean("CPU s", 0),
    "R-hat": mean("R-hat"),
}


class Recovery(SphinxDirective):
    """Scores of one method on the problems of the reporting half."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        problems = HALVES["report"]
        rows = [[NAMES[problem], *cells([problem], self.arguments[0])] for problem in problems]
        rows.append(["all", *cells(problems, self.arguments[0])])
        return inserted(self, ["problem", *COLUMNS], rows)


class SearchRecovery(SphinxDirective):
    """Scores of one method on the runs that a search chose in tables."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        rows = [
            [NAMES[problem], *cells([problem], self.arguments[0], "search", NUM_CHOSEN)]
            for problem in TABLES_OF_REACTIONS
        ]
        return inserted(self, ["problem", *COLUMNS], rows)


def cells(
    problems: Sequence[str], method: str, data: str = "random", num_points: int = NUM_POINTS
) -> list[str]:
    """The cells of a row."""
    found = scores(problems, method, data, num_points)
    return [of(found) for of in COLUMNS.values()]


class Peers(SphinxDirective):
    """Errors and correlations of several methods on the tables."""

    required_arguments = 1
    final_argument_whitespace = True

    def run(self) -> list[nodes.Node]:
        rows = []
        for problem in (*TABLES_OF_REACTIONS, "ishigami_weak"):
            for method in self.arguments[0].split():
                found = scores([problem], method)
                rows.append([NAMES[problem], NAMES[method], *(of(found) for of in PEERS.values())])
        return inserted(self, ["problem", "method", *PEERS], rows)


PEERS = {
    "seeds": COLUMNS["seeds"],
    "error of pairs": COLUMNS["error of pairs"],
    "error of main effects": mean("error main", 3),
    "correlation": COLUMNS["correlation"],
    "log density": mean("log density"),
}


def scores(
    problems: Sequence[str], method: str, data: str = "random", num_points: int = NUM_POINTS
) -> Values:
    """Scores of a method, which must have runs of every problem.

    Args:
        problems: names of the problems.
        method: name of the method.
        data: "random" points, or the points of a "search".
        num_points: number of points.
    """
    records = Records(RESULTS)
    keys = [
        key for key in records.runs if (key.data, key.n, key.method) == (data, num_points, method)
    ]
    if lacking := {*problems} - {key.problem for key in keys}:
        raise ValueError(f"{RESULTS.name} has no runs of {method} on {sorted(lacking)}.")
    chosen: list[Key] = [key for key in keys if key.problem in problems]
    return records.scores(method, chosen)


def inserted(
    directive: SphinxDirective, header: Sequence[str], rows: Sequence[Sequence[str]]
) -> list[nodes.Node]:
    """A table, built again when the runs change."""
    directive.env.note_dependency(str(RESULTS))
    return directive.parse_text_to_nodes(str(Table(header, rows)))


def setup(app: Any) -> dict[str, bool]:
    """Called by Sphinx."""
    app.add_directive("recovery", Recovery)
    app.add_directive("recovery-search", SearchRecovery)
    app.add_directive("recovery-peers", Peers)
    return {"parallel_read_safe": True}
