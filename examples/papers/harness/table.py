"""The table of an experiment, for a terminal and for the documentation."""

import math
from collections.abc import Iterable, Sequence

from papers.harness.experiment import Experiment
from papers.harness.records import Records
from papers.harness.scores import Score, scores


def markdown(experiment: Experiment, records: Records, reference: str = "") -> str:
    """A row for each problem and method, with the measures at the end of the runs.

    Args:
        experiment: the row of the registry.
        records: its runs.
        reference: the method of the paired tests; by default the one of the experiment.
    """
    reference = reference or experiment.reference or experiment.methods[0]
    found = {(s.problem, s.method, s.measure): s for s in scores(experiment, records, reference)}
    measures = [m for m in experiment.measures if any(m == measure for *_, measure in found)]
    header = ["problem", "method", "runs"]
    for measure in measures:
        header += [f"{measure}, mean", "median", "p"]
    rows = []
    for problem in experiment.problems:
        for method in experiment.methods:
            cells = [found.get((problem, method, measure)) for measure in measures]
            runs = max((cell.runs for cell in cells if cell), default=0)
            if runs:
                numbers = [text for cell in cells for text in _cells(cell)]
                rows.append([problem, method, str(runs), *numbers])
    return rendered(header, rows)


def rendered(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table in Markdown."""
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def number(value: float) -> str:
    """Three digits."""
    return f"{value:.3g}" if abs(value) < 1000 else f"{value:.0f}"


def mean_with_error(score: Score) -> str:
    """The mean, and its standard error if there are several runs."""
    error = "" if math.isnan(score.error) else f" ± {score.error:.2g}"
    return number(score.mean) + error


def _cells(score: Score | None) -> list[str]:
    if score is None:
        return ["", "", ""]
    p = "" if math.isnan(score.p) else f"{score.p:.2g}"
    return [mean_with_error(score), number(score.median), p]
