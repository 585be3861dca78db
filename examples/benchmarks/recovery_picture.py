"""The picture of recovery.py: reliability of edges, and scores by number of observations."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from recovery_problems import HALVES
from recovery_records import Key, Records
from recovery_scores import SMALL, Curve
from recovery_table import mean_and_error

BY_SIZE = {"AP share 2.0%": "average precision, pairs above 2 %", "error pairs": "error of pairs"}
"""Scores that are shown by number of observations."""


def of_recovery(path: Path) -> Figure:
    """Results on random data, of the reporting half if it has any."""
    records = Records(path)
    keys = [key for key in records.runs if key.data == "random"]
    reported = [key for key in keys if key.problem in HALVES["report"]]
    keys = reported or keys
    figure = Figure(figsize=(12.0, 3.8), layout="constrained")
    reliability, *panels = figure.subplots(1, 1 + len(BY_SIZE))
    reliability.plot([0, 1], [0, 1], color="0.8")
    reliability.set(xlabel="probability of an edge", ylabel=f"fraction above {SMALL:.1%}")
    for axes, title in zip(panels, BY_SIZE.values(), strict=True):
        axes.set(xlabel="observations", ylabel=title)
    for place, method in enumerate(dict.fromkeys(key.method for key in keys)):
        own, color = [key for key in keys if key.method == method], f"C{place}"
        curve(reliability, records, own, color)
        compared = [key for key in own if key.problem in at_all_sizes(keys)]
        for axes, score in zip(panels, BY_SIZE, strict=True):
            by_size(axes, records, compared, score, color)
    handles = {
        label: handle
        for axes in figure.axes
        for handle, label in zip(*axes.get_legend_handles_labels(), strict=True)
    }
    figure.legend(handles.values(), handles.keys(), loc="outside right center")
    return figure


def at_all_sizes(keys: Sequence[Key]) -> set[str]:
    """The problems with runs for every number of observations, so that means are comparable."""
    problems = [{key.problem for key in keys if key.n == n} for n in {key.n for key in keys}]
    return set.intersection(*problems)


def by_size(axes: Axes, records: Records, keys: Sequence[Key], score: str, color: str) -> None:
    """Mean of a method's score over problems by number of observations, with standard errors."""
    method, sizes = keys[0].method, sorted({key.n for key in keys})
    found = [
        mean_and_error(records.scores(method, [key for key in keys if key.n == n])[score])
        for n in sizes
    ]
    means, errors = np.transpose(found)
    if not np.isnan(means).all():
        axes.errorbar(sizes, means, np.nan_to_num(errors), marker=".", label=method, color=color)


def curve(axes: Axes, records: Records, keys: Sequence[Key], color: str) -> None:
    """Reliability curve of a method's probabilities of edges, over all problems."""
    method, runs = keys[0].method, [records.runs[key]["pairs"] for key in keys]
    known = [run for run in runs if run["probability"] is not None]
    if known:
        probability, true = (
            np.concatenate([np.array(run[name]) for run in known])
            for name in ("probability", "true")
        )
        found = Curve.of(true > SMALL, probability)
        axes.plot(found.probability, found.frequency, marker=".", label=method, color=color)
