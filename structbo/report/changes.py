"""Changes of one parameter of the best run: which clearly help, and which clearly harm."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from structbo.posterior import Effect
from structbo.report.digits import column_texts, parameter_texts
from structbo.report.evidence import Evidence
from structbo.report.html import Html, table
from structbo.report.lists import some


def clear_changes(evidence: Evidence, effects: Sequence[Effect]) -> str:
    """Which parameters of the best run to change, and which to keep.

    Args:
        evidence: about the search.
        effects: slices of the function through the best run, one for every parameter.
    """
    up, down = ("raise", "lower") if evidence.sign > 0 else ("lower", "raise")
    name, run = evidence.value_name, evidence.best.number
    helpful, harmful = (
        [effect.names[0] for effect in effects if _is_beyond(evidence, effect, side).any()]
        for side in (evidence.sign, -evidence.sign)
    )
    finding = f"No change of a single parameter of run {run} is expected to {up} {name} clearly."
    if helpful:
        finding = f"Other values of {some(helpful)} than in run {run} {up} {name} clearly."
    if not harmful:
        return f"{finding} None is known to {down} it clearly."
    return (
        f"{finding} Keep {some(harmful)} near the values of run {run}: other values can clearly "
        f"{down} it."
    )


def changes_table(evidence: Evidence, effects: Sequence[Effect]) -> Html:
    """A change for the worse of every parameter: a clear one if there is any.

    Args:
        evidence: about the search.
        effects: slices of the function through the best run, each with a finite mean somewhere.
    """
    best = evidence.optimizer.space.by_name(evidence.best.params)
    rows, ends = [], []
    for effect in effects:
        (name,), (grid,) = effect.names, effect.grid
        is_clear = _is_beyond(evidence, effect, -evidence.sign)
        loss = np.where(is_clear | ~is_clear.any(), -evidence.sign * effect.mean, np.nan)
        worst = int(np.nanargmax(loss))
        change = parameter_texts(evidence.parameters[name], [best[name], grid[worst]])
        rows.append([name, *change])
        ends.append((effect.mean[worst], effect.lower[worst], effect.upper[worst]))
        rows[-1].append("yes" if is_clear[worst] else "no")
    means, lows, highs = np.reshape(column_texts(np.ravel(ends), digits=3), (-1, 3)).T
    header = [
        "parameter",
        "from",
        "to",
        f"expected {evidence.value_name}",
        "90 % interval",
        "clear",
    ]
    cells = (
        [*change, mean, f"{low} to {high}", verdict]
        for (*change, verdict), mean, low, high in zip(rows, means, lows, highs, strict=True)
    )
    return table(f"Changes of run {evidence.best.number} for the worse", header, cells)


def _is_beyond(evidence: Evidence, effect: Effect, side: float) -> NDArray[np.bool_]:
    """Whether intervals lie above the interval of the best run, or below it if side is negative."""
    _, lower, upper = (values[0] for values in evidence.of_best_first)
    return effect.lower > upper if side > 0 else effect.upper < lower
