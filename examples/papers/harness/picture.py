"""The picture of an experiment: means over runs with standard errors, or medians with quartiles."""

from typing import Any

import numpy as np
from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator
from papers.harness.experiment import Experiment
from papers.harness.records import Records
from papers.harness.scores import curves, spread

Problems = tuple[str, ...]


def picture(experiment: Experiment, records: Records) -> Figure:
    """Lines along the axis of the runs; bars if each measure is one number.

    Args:
        experiment: the row of the registry.
        records: its runs.
    """
    lengths = {measure: _length(experiment, records, measure) for measure in experiment.measures}
    columns: list[Problems] = [(problem,) for problem in experiment.problems]
    if max(lengths.values()) == 1:
        columns = [experiment.problems]
    size = (max(4.2 * len(columns) + 0.6, 6.5), 3.0 * len(experiment.measures) + 0.6)
    figure = Figure(figsize=size, layout="constrained")
    panels = figure.subplots(len(experiment.measures), len(columns), squeeze=False)
    for row, measure in zip(panels, experiment.measures, strict=True):
        for panel, problems in zip(row, columns, strict=True):
            draw = _lines if lengths[measure] > 1 else _bars
            draw(panel, experiment, records, problems, measure)
    handles, labels = panels[0, 0].get_legend_handles_labels()
    figure.legend(
        handles,
        labels,
        loc="outside upper center",
        ncols=4 if len(columns) > 1 else 2,
        frameon=False,
        fontsize=8,
    )
    return figure


def _length(experiment: Experiment, records: Records, measure: str) -> int:
    """How many numbers a measure has along the axis."""
    found = [
        curves(experiment, records, problem, method, measure)
        for problem in experiment.problems
        for method in experiment.methods
    ]
    return max(len(curve) for runs in found for curve in runs.values())


def _lines(
    panel: Axes, experiment: Experiment, records: Records, problems: Problems, measure: str
) -> None:
    (problem,) = problems
    for method in experiment.methods:
        found = list(curves(experiment, records, problem, method, measure).values())
        if found:
            values = np.array(found)
            steps = experiment.kind.steps(values.shape[1])
            center, low, high = _averages(values, experiment)
            (line,) = panel.plot(steps, center, label=method, lw=1.4)
            panel.fill_between(steps, low, high, color=line.get_color(), alpha=0.15, lw=0)
    panel.set(xlabel=experiment.kind.axis, ylabel=measure, title=problem)
    panel.xaxis.set_major_locator(MaxNLocator(integer=True))


def _bars(
    panel: Axes, experiment: Experiment, records: Records, problems: Problems, measure: str
) -> None:
    places = np.arange(len(problems))
    width = 0.8 / len(experiment.methods)
    for k, method in enumerate(experiment.methods):
        found = [
            np.array([c[-1] for c in curves(experiment, records, p, method, measure).values()])
            for p in problems
        ]
        unknown = np.full((1,), np.nan)
        ends = [_averages(v if len(v) else unknown, experiment) for v in found]
        heights, low, high = np.transpose(ends)
        errors = np.array([heights - low, high - heights])
        panel.bar(places + (k + 0.5) * width - 0.4, heights, width, yerr=errors, label=method)
    panel.set(ylabel=measure, xticks=places)
    slanted: dict[str, Any] = {"rotation": 20, "ha": "right", "rotation_mode": "anchor"}
    panel.set_xticklabels(problems, fontsize=8, **(slanted if len(places) > 3 else {}))


def _averages(
    values: Float[np.ndarray, "runs ..."], experiment: Experiment
) -> tuple[Float[np.ndarray, "..."], Float[np.ndarray, "..."], Float[np.ndarray, "..."]]:
    """The average over runs, and the two ends of its error bar."""
    if experiment.average == "median":
        low, center, high = np.quantile(values, [0.25, 0.5, 0.75], axis=0)
        return center, low, high
    mean, error = values.mean(0), spread(values)
    return mean, mean - error, mean + error
