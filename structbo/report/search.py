"""The sections on the best runs, the next points and the search space."""

from collections.abc import Sequence

import numpy as np

from structbo.plots import plot_convergence
from structbo.report.digits import percent
from structbo.report.evidence import Evidence, listed
from structbo.report.html import Html, details, joined, table, tag
from structbo.report.page import Section
from structbo.report.pictures import drawn
from structbo.report.ranges import constraint_text, range_text

NUM_BEST = 10
MAX_NAMED = 8
"""Parameters of the best run that its sentence names."""
BORDER = 0.02
"""Distance from an end of a range, relative to its length, at which a best point is at that end."""
NEGLIGIBLE = 0.05
"""Share of the variation below which a parameter could be fixed."""


def best_so_far(evidence: Evidence) -> Section:
    """The progress, and the best runs with what the model expects there."""
    best, name = evidence.best_first[:NUM_BEST], evidence.value_name
    extreme = "highest" if evidence.sign > 0 else "lowest"
    cells = evidence.cells([trial.params for trial in best])
    expected = evidence.of_best_first.cells(NUM_BEST)
    finding = (
        f"Run {evidence.best.number} has the {extreme} {name}, {evidence.value_texts[0]}, with "
        f"{_settings(evidence, cells[0])}."
    )
    picture = drawn(
        3.2,
        lambda ax: plot_convergence(evidence.optimizer, value_name=name, ax=ax),
        f"{name} of all runs, and the best so far. {finding}",
    )
    rows = [
        [str(trial.number), value, *prediction, *row]
        for trial, value, prediction, row in zip(
            best, evidence.value_texts, expected, cells, strict=False
        )
    ]
    header = ["run", name, f"expected {name}", "90 % interval", *evidence.names]
    remark = (
        f"The expected {name} is the estimate of a statistical model, without measurement error. "
        "The true value lies in the 90 % interval with a probability of 90 % if the model is right."
        f"{_luck(evidence)}"
    )
    body = [
        tag("p", _counts(evidence)),
        picture,
        tag("p", remark, class_="remark"),
        table(f"The {len(rows)} best runs", header, rows),
    ]
    return Section("What is the best so far?", finding, joined(body))


def _settings(evidence: Evidence, cells: Sequence[str]) -> str:
    """A point in words."""
    values = [f"{name} = {cell}" for name, cell in zip(evidence.names, cells, strict=True)]
    more = f" and {len(values) - MAX_NAMED} more" if len(values) > MAX_NAMED else ""
    return f"{', '.join(values[:MAX_NAMED])}{more}"


def _counts(evidence: Evidence) -> str:
    counts = [f"{len(evidence.best_first)} runs have a value"]
    if evidence.num_failed:
        counts.append(f"{evidence.num_failed} failed")
    if waiting := len(evidence.pending):
        counts.append(f"{waiting} {'is' if waiting == 1 else 'are'} under way")
    return f"{listed(counts)}."


def _luck(evidence: Evidence) -> str:
    """A sentence where the model prefers another run."""
    mean = evidence.of_best_first.mean
    favorite = evidence.best_first[int(np.argmax(evidence.sign * mean))]
    if favorite is evidence.best:
        return ""
    return (
        f" Run {favorite.number} has the best expected {evidence.value_name}: the value of run "
        f"{evidence.best.number} may be luck."
    )


def next_steps(evidence: Evidence) -> Section:
    """Points to evaluate next, and what to change about the search."""
    points, name = evidence.next_points, evidence.value_name
    parts: list[Html] = []
    finding = "No new points were asked for, or none are left."
    if points:
        cells, expected = evidence.cells(points), evidence.predictions(points).cells()
        first = _settings(evidence, cells[0])
        finding = f"Try {first}."
        if len(points) > 1:
            finding = f"Try the {len(points)} points in the table. The first is {first}."
        rows = [
            [str(k), *prediction, *row]
            for k, prediction, row in zip(range(1, len(points) + 1), expected, cells, strict=True)
        ]
        remark = (
            f"These points have the best chance to improve {name}: what the model expects there is "
            "good, or uncertain enough to be good. The points complement each other, so run all "
            f"of them if you can. The model knows no limits of {name}, and an interval may exceed "
            "them."
        )
        header = ["point", f"expected {name}", "90 % interval", *evidence.names]
        parts += [tag("p", remark, class_="remark"), table("The next points", header, rows)]
    advice = [*_at_borders(evidence), *_negligible(evidence)]
    if advice:
        parts.append(tag("ul", *(tag("li", line) for line in advice)))
    return Section("What should be tried next?", finding, joined(parts))


def settings(evidence: Evidence) -> Section:
    """The space and the settings."""
    space, settings = evidence.optimizer.space, evidence.optimizer.method
    rows = [[name, range_text(parameter)] for name, parameter in space.spec.items()]
    goal = "as large" if evidence.sign > 0 else "as small"
    sought = f"The search looks for values of these parameters that make {evidence.value_name} "
    bounds = [tag("p", f"{constraint_text(constraint)}.") for constraint in space.constraints]
    lines = [
        f"criterion {settings.criterion!r}, batches by {settings.batch!r}, seed {settings.seed}",
        f"model {settings.model!r}",
    ]
    remarks = (tag("p", tag("code", line)) for line in lines)
    body = [
        tag("p", f"{sought}{goal} as possible."),
        table("The search space", ["parameter", "values"], rows),
        *bounds,
        details("Settings of the method", joined(remarks)),
    ]
    return Section("What was searched, and how?", "", joined(body))


def _at_borders(evidence: Evidence) -> list[str]:
    """Advice for ranges with the best run at one end."""
    space = evidence.optimizer.space
    (place,) = space.to_unit([evidence.best.params])
    found = []
    for name, parameter, u in zip(space.names, space.parameters, place, strict=True):
        few = parameter.levels is not None and len(parameter.levels) < 3
        if parameter.is_categorical or few or BORDER < u < 1.0 - BORDER:
            continue
        end = "lower" if u < 0.5 else "upper"
        found.append(
            f"The best run is at the {end} end of {name}: widen its range, if values beyond it "
            "make sense."
        )
    return found


def _negligible(evidence: Evidence) -> list[str]:
    """Parameters that could be fixed."""
    importances = evidence.importances
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
        f"{evidence.value_name} hardly depends on {listed(names)}: at most {percent(NEGLIGIBLE)} "
        "of its variation each, with a probability of 95 %. To make the search easier, keep "
        "constant what is cheapest."
    ]
