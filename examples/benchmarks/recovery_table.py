"""The table of the scores of recovery.py."""

from collections.abc import Sequence

import numpy as np
from recovery_records import Key, Records

DECIMALS = {"error pairs": 4, "error main": 4, "error higher": 3, "CPU s": 1, "R-hat": 3}
"""Decimals of the scores, two by default."""


def show(records: Records, title: str, methods: Sequence[str], cases: Sequence[Key]) -> None:
    """Prints means with standard errors over seeds: by problem, and over all problems.

    Args:
        records: the runs.
        title: title of the table.
        methods: names of the methods.
        cases: the runs to show, whatever their methods.
    """
    groups = {case.problem: [c for c in cases if c.problem == case.problem] for case in cases}
    groups["all"] = list(cases)
    found = {
        (name, method): cells(records.scores(method, group))
        for name, group in groups.items()
        for method in methods
    }
    rows = {label: row for label, row in found.items() if row}
    names = list(dict.fromkeys(name for row in rows.values() for name in row))
    widths = [max([len(name), *(len(row[name]) for row in rows.values())]) for name in names]
    lines = [(title, "", names)]
    lines += [(*label, [row[name] for name in names]) for label, row in rows.items()]
    print()
    for name, method, row in lines:
        shown = (cell.rjust(width) for cell, width in zip(row, widths, strict=True))
        print(f"{name:<14}{method:<15}", *shown, sep="  ")


def cells(scores: dict[str, list[np.ndarray]]) -> dict[str, str]:
    """The cells of a row of the table, by column."""
    if not scores:
        return {}
    found = {}
    for name in ("called", "found", "none"):
        right, count = (np.concatenate(scores.pop(key)) for key in (f"{name} right", name))
        known = f"{np.nansum(right):.0f} of {np.nansum(count):.0f}"
        found[name] = "" if np.isnan(count).all() else known
    for name, values in scores.items():
        mean, error = mean_and_error(values)
        decimals = DECIMALS.get(name, 2)
        shown = f"{mean:.{decimals}f}" + ("" if np.isnan(error) else f" ±{error:.{decimals}f}")
        found[name] = "" if np.isnan(mean) else shown
    return found


def mean_and_error(problems: Sequence[np.ndarray]) -> tuple[float, float]:
    """Mean over problems of means over seeds, and its standard error given the problems.

    Args:
        problems: for each problem the values of all seeds. NaN is ignored.

    Returns:
        Both numbers; NaN without values, and an error of NaN for a problem with a single value.
    """
    known = [values[~np.isnan(values)] for values in problems]
    known = [values for values in known if len(values)]
    if not known:
        return float("nan"), float("nan")
    variances = [v.var(ddof=1) / len(v) if len(v) > 1 else np.nan for v in known]
    mean = float(np.mean([values.mean() for values in known]))
    return mean, float(np.sqrt(np.sum(variances)) / len(known))
