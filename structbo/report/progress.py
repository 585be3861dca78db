"""The sections on the state of a search: the best runs, the next points, what is searched."""

from collections.abc import Sequence

import numpy as np

from structbo.data import trial_values
from structbo.plots import plot_convergence
from structbo.report.digits import column_texts, percent
from structbo.report.evidence import Evidence
from structbo.report.html import Html, details, joined, table, tag
from structbo.report.lists import listed, some
from structbo.report.page import Section
from structbo.report.pictures import drawn
from structbo.report.ranges import constraint_text, range_text
from structbo.report.stopping import stop_or_go_on
from structbo.space import Real

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
    values = column_texts(trial_values(best))
    cells = evidence.cells([trial.params for trial in best])
    expected = evidence.of_best_first.cells(NUM_BEST)
    finding = (
        f"Run {evidence.best.number} has the {extreme} {name}, {values[0]}, with "
        f"{_settings(evidence, cells[0])}."
    )
    picture = drawn(
        3.2,
        lambda ax: plot_convergence(evidence.optimizer, value_name=name, ax=ax),
        f"{name} of all runs, and the best so far. {finding}",
        f"All runs in their order, and the best {name} so far.",
    )
    rows = [
        [str(trial.number), value, *prediction, *row]
        for trial, value, prediction, row in zip(best, values, expected, cells, strict=True)
    ]
    header = ["run", name, f"expected {name}", "90 % interval", *evidence.names]
    remark = (
        f"The expected {name} is the estimate of a statistical model, without measurement error. "
        "The true value lies in the 90 % interval with a probability of 90 % if the model is right."
        f"{_scatter(evidence)}{_luck(evidence)}"
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
    known, waiting = len(evidence.best_first), len(evidence.pending)
    under_way = f" {waiting} more {'is' if waiting == 1 else 'are'} under way." if waiting else ""
    if not evidence.num_failed:
        return f"{known} runs have a value.{under_way}"
    return (
        f"{len(evidence.told)} runs are finished: {known} have a value, and {evidence.num_failed} "
        f"failed, which the model counts as the worst value. Only the {known} values test the "
        f"predictions.{under_way}"
    )


def _scatter(evidence: Evidence) -> str:
    """Why a measured value may lie outside of its interval."""
    error = evidence.measurement_error
    if error is None:
        return " The interval is for the true value, not for one more measurement."
    (text,) = column_texts([error], digits=2)
    return (
        " The interval is for the true value, not for one more measurement: measurements scatter "
        f"around the true value with a standard deviation of about {text}."
    )


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
    points = evidence.next_points
    parts: list[Html] = []
    finding = "No new points were asked for, or none are left."
    if points:
        cells = evidence.cells(points, resolution=0.0)
        first = _settings(evidence, cells[0])
        finding = f"Try {first}."
        if len(points) > 1:
            finding = f"Try the {len(points)} points in the table. The first is {first}."
        parts += [
            tag("p", tag("strong", "Stop or go on? "), stop_or_go_on(evidence)),
            *_proposals(evidence, cells),
        ]
    advice = [*_at_borders(evidence), *_negligible(evidence)]
    if advice:
        parts.append(tag("ul", *(tag("li", line) for line in advice)))
    return Section("What should be tried next?", finding, joined(parts))


def _proposals(evidence: Evidence, cells: Sequence[Sequence[str]]) -> list[Html]:
    """The next points, with what the model expects there and why they are worth a run."""
    name = evidence.value_name
    expected = evidence.of_next_points.cells()
    chances = evidence.chances(evidence.next_points)
    best, *_ = column_texts([evidence.best_expected, *np.ravel(evidence.of_next_points)], digits=3)
    better = f"{'above' if evidence.sign > 0 else 'below'} {best}"
    remark = (
        f"The best expected {name} of all runs is {best}. The chance is the probability that the "
        f"true value at a point is {better}, if the model is right. {_why_these(evidence)} The "
        f"model knows no limits of {name}, and an interval may exceed them.{_rounding(evidence)}"
    )
    header = ["point", f"expected {name}", "90 % interval", f"chance of {better}", *evidence.names]
    rows = (
        [str(k), *prediction, percent(chance), *row]
        for k, (prediction, chance, row) in enumerate(
            zip(expected, chances, cells, strict=True), start=1
        )
    )
    return [tag("p", remark, class_="remark"), table("The next points", header, rows)]


def _why_these(evidence: Evidence) -> str:
    """Why the next points are worth a run."""
    if not evidence.is_modeled:
        return "The model did not choose the points: they show it the whole search space."
    return (
        "A point with a worse expected value is worth a run if it is uncertain: it may be much "
        "better, and the model learns from it. The points complement each other, so run all of "
        "them if you can."
    )


def _rounding(evidence: Evidence) -> str:
    """Advice about numbers that have too many digits."""
    space = evidence.optimizer.space
    fine = {
        name: parameter
        for name, parameter in zip(space.names, space.parameters, strict=True)
        if isinstance(parameter, Real) and parameter.step is None
    }
    if not fine:
        return ""
    remark = f" Round {some([*fine])} to what you can set, and record what you ran."
    if all(parameter.log for parameter in fine.values()):
        return remark
    return f"{remark} A step in the search space gives round numbers on a linear scale."


def settings(evidence: Evidence) -> Section:
    """The space and the settings."""
    space, settings = evidence.optimizer.space, evidence.optimizer.method
    rows = [[name, range_text(parameter)] for name, parameter in space.spec.items()]
    goal = "as large" if evidence.sign > 0 else "as small"
    sought = f"The search looks for values of these parameters that make {evidence.value_name} "
    bounds = [tag("p", f"{constraint_text(constraint)}.") for constraint in space.constraints]
    lines = [
        f"criterion {settings.criterion!r}, batches by {settings.batch!r}, seed {settings.seed}",
        f"model of the search {settings.model!r}",
        f"model of this report {evidence.posterior.model!r}",
    ]
    meaning = (
        "These settings are written as Python code that the documentation describes. Unless a "
        "model was given, the search and the report have different ones: a faster model proposes "
        "points, and the report is about a model whose pairs are interactions and nothing else."
    )
    remarks = (tag("p", tag("code", line)) for line in lines)
    body = [
        tag("p", f"{sought}{goal} as possible."),
        table("The search space", ["parameter", "values"], rows),
        *bounds,
        details("To repeat this search in Python", tag("p", meaning), joined(remarks)),
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
