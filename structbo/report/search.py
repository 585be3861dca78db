"""What the search has found, and what to try next."""

from typing import Any

import numpy as np

from structbo.plots import plot_convergence
from structbo.report.evidence import Evidence, listed, percent, value_text
from structbo.report.html import Html, joined, table, tag
from structbo.report.page import Section
from structbo.report.pictures import drawn

NUM_BEST = 10
BORDER = 0.02
"""A best point so near to an end of a range, relative to its length, is at that end."""
NEGLIGIBLE = 0.02
"""A share of the variance that hardly matters."""


def progress(evidence: Evidence) -> Section:
    """The best value so far over the evaluations."""
    best = evidence.best_first[0]
    counts = [f"{len(evidence.told)} evaluations"]
    if evidence.num_failed:
        counts.append(f"{evidence.num_failed} of them failed")
    if evidence.pending:
        verb = "is" if len(evidence.pending) == 1 else "are"
        counts.append(f"{len(evidence.pending)} more {verb} under way")
    finding = (
        f"The best of {', '.join(counts)}{',' * (len(counts) > 1)} is {value_text(best.value)} "
        f"({evidence.optimizer.direction}d). It is that of trial {best.number}."
    )
    description = f"The values of all evaluations, and the best so far. {finding}"
    picture = drawn(3.2, lambda ax: plot_convergence(evidence.optimizer, ax=ax), description)
    return Section("Progress", finding, picture)


def best_points(evidence: Evidence) -> Section:
    """The best points, with what the model thinks of them."""
    best = evidence.best_first
    mean, deviation = evidence.predicted([trial.params for trial in best])
    cells = evidence.cells(best[0].params)
    at = listed([f"{name} = {cell}" for name, cell in zip(evidence.names, cells, strict=True)][:8])
    more = f", and {len(cells) - 8} more" if len(cells) > 8 else ""
    favorite = best[int(np.argmax(evidence.sign * mean))]
    remark = (
        "The model agrees that it is the best of them without noise."
        if favorite is best[0]
        else f"Without noise, the model expects trial {favorite.number} to be better: the value "
        "of the best may be luck."
    )
    rows = [
        [
            str(trial.number),
            value_text(trial.value),
            _plus_minus(m, d),
            *evidence.cells(trial.params),
        ]
        for trial, m, d in zip(best[:NUM_BEST], mean, deviation, strict=False)
    ]
    header = ["trial", "value", "without noise", *evidence.names]
    caption = f"The best {len(rows)} trials; what the model expects there without noise"
    body = joined([tag("p", remark), table(caption, header, rows)])
    return Section("Best points", f"The best point is {at}{more}.", body)


def next_steps(evidence: Evidence) -> Section:
    """Points to evaluate next, and what to change about the search."""
    points = evidence.next_points
    parts: list[Html] = []
    finding = "No new points were asked for, or none are left."
    if points:
        mean, deviation = evidence.predicted(points)
        rows = [
            [str(k), _plus_minus(m, d), *evidence.cells(point)]
            for k, point, m, d in zip(
                range(1, len(points) + 1), points, mean, deviation, strict=True
            )
        ]
        finding = f"Evaluate {'this point' if len(points) == 1 else 'these points'} next."
        header = ["point", "expected value", *evidence.names]
        parts.append(
            table("Where improvement is expected, one chosen after the other", header, rows)
        )
    advice = [*_at_borders(evidence), *_negligible(evidence)]
    if advice:
        parts.append(tag("ul", *(tag("li", line) for line in advice)))
    return Section("What to try next", finding, joined(parts))


def settings(evidence: Evidence) -> Section:
    """The space and the settings."""
    space, settings = evidence.optimizer.space, evidence.optimizer.method
    rows = [[name, repr(parameter)] for name, parameter in space.spec.items()]
    lines = [
        *map(repr, space.constraints),
        f"criterion {settings.criterion!r}, batches by {settings.batch!r}, seed {settings.seed}",
        f"model {settings.model!r}",
    ]
    remarks = (tag("p", tag("code", line)) for line in lines)
    body = joined([table("The search space", ["parameter", "values"], rows), *remarks])
    return Section("Space and method", "", body)


def _plus_minus(mean: float, deviation: float) -> str:
    return f"{mean:.4g} ± {deviation:.2g}"


def _at_borders(evidence: Evidence) -> list[str]:
    """Where the best point is at an end of a range, and might be beyond it."""
    space, best = evidence.optimizer.space, evidence.best_first[0]
    (place,) = space.to_unit([best.params])
    found = []
    for name, parameter, u in zip(space.names, space.parameters, place, strict=True):
        few = parameter.levels is not None and len(parameter.levels) < 3
        if parameter.is_categorical or few or BORDER < u < 1.0 - BORDER:
            continue
        end = "lower" if u < 0.5 else "upper"
        found.append(
            f"The best point is at the {end} end of {name}: widen its range, if values beyond it "
            "make sense."
        )
    return found


def _negligible(evidence: Evidence) -> list[str]:
    """Parameters that could be fixed."""
    importances: Any = evidence.importances
    if importances is None:
        return []
    names = [
        name
        for name, upper in zip(importances.names, importances.total.upper, strict=True)
        if upper < NEGLIGIBLE
    ]
    if not names:
        return []
    return [
        f"Little depends on {listed(names)}: with 95 % probability at most {percent(NEGLIGIBLE)} "
        "of the variance each. To make the search easier, fix what is cheapest."
    ]
