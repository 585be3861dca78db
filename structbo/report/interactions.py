"""Which pairs of parameters interact."""

import math
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from structbo.plots import plot_interactions
from structbo.posterior import Importances, Shares
from structbo.posterior.importances import LEAST_SHARE
from structbo.posterior.interactions import FOUND, NONE, UNDECIDED, UNKNOWN, verdict
from structbo.report.digits import percent
from structbo.report.evidence import Evidence
from structbo.report.html import Html, details, joined, table, tag
from structbo.report.page import Section
from structbo.report.pictures import blank_axes, picture
from structbo.report.support import MAX_UNEXPLAINED

MAX_ROWS = 15
MAX_ALL = 200
"""Rows of the table of all pairs, so that many parameters do not make a large page."""
HEADER = ("pair", "share of the variation (90 % interval)", "verdict")
MANY_RUNS = 1000
"""From this number on, simulated runs are not counted."""
MIN_PAIRS = 3
"""Pairs from which a graph shows more than the table."""


class Pair(NamedTuple):
    """Two parameters and the 90 % interval of the share of their interaction.

    Args:
        dims: their indices.
        names: their names.
        lower: lower end of the interval, in [0, 1].
        upper: its upper end.
        is_like_prior: whether the runs say nothing about the pair.
    """

    dims: tuple[int, int]
    names: tuple[str, str]
    lower: float
    upper: float
    is_like_prior: bool = False

    @property
    def verdict(self) -> str:
        """Whether the interval is on one side of the least share that matters."""
        return verdict(self.lower, self.upper, LEAST_SHARE, is_like_prior=self.is_like_prior)

    @property
    def share(self) -> str:
        """The interval in percent, rounded down: a rounded end has the verdict of the exact one.

        Example:
            >>> Pair((0, 1), ("a", "b"), 0.0049, 0.1).share
            '0.4 to 10.0\\xa0%'
        """
        ends = (f"{_tenths(end) / 10.0:.1f}" for end in (self.lower, self.upper))
        return f"{' to '.join(ends)}\N{NO-BREAK SPACE}%"

    @property
    def cells(self) -> list[str]:
        """A row of a table."""
        return [" and ".join(self.names), self.share, self.verdict]


def likeliest_first(importances: Importances, is_like_prior: NDArray[np.bool_]) -> list[Pair]:
    """All pairs, first the ones whose shares have the largest lower ends, to a tenth of a percent.

    Pairs with equal lower ends are in the order of their upper ends.

    Args:
        importances: of D parameters.
        is_like_prior: about which pairs the runs say nothing, shape (D, D).
    """
    names, (_, lower, upper, *_) = importances.names, importances.pairs
    pairs = [
        Pair(
            (a, b),
            (names[a], names[b]),
            float(lower[a, b]),
            float(upper[a, b]),
            bool(is_like_prior[a, b]),
        )
        for a in range(len(names))
        for b in range(a + 1, len(names))
    ]
    return sorted(pairs, key=lambda pair: (-_tenths(pair.lower), -pair.upper))


def interaction_section(evidence: Evidence, importances: Importances) -> Section:
    """The shares of pairs, with intervals, and whether these tell that the pairs interact."""
    title = "Which parameters interact?"
    meaning = "Two parameters interact if the effect of one depends on the value of the other."
    if evidence.support.unexplained > MAX_UNEXPLAINED:
        finding = "These runs do not tell which parameters interact over the whole search space."
        remark = (
            f"{meaning} Any pair may cause the variation that the runs leave unexplained, up to "
            f"{percent(evidence.support.unexplained)} of the variation of {evidence.value_name}."
        )
        return Section(title, finding, tag("p", remark, class_="remark"))
    pairs = likeliest_first(importances, evidence.like_prior)
    finding = _finding(pairs)
    possible = [pair for pair in pairs if pair.verdict != NONE]
    shown = possible[:MAX_ROWS]
    remark = f"{meaning} {_rules(evidence)} {_counts(pairs)}" + (
        f" The table has the first {MAX_ROWS} of the pairs that may interact."
        if len(possible) > MAX_ROWS
        else ""
    )
    parts = [tag("p", remark, class_="remark")]
    if more := _more_runs(evidence, [pair for pair in possible if pair.verdict != FOUND]):
        parts.append(tag("p", more))
    if shown:
        rows = [pair.cells for pair in shown]
        shares = [table("Pairs that interact or may interact", HEADER, rows)]
        if len(shown) >= MIN_PAIRS:
            shares.insert(0, _graph(importances, shown, finding))
        parts.append(tag("div", *shares, class_="pictures"))
    return Section(title, finding, joined([*parts, _all_pairs(pairs)]))


def _rules(evidence: Evidence) -> str:
    """The meaning of shares, intervals and verdicts."""
    unexplained = evidence.support.unexplained
    reach = " So no pair can be ruled out." if unexplained >= LEAST_SHARE else ""
    return (
        f"The share of a pair is the part of the variation of {evidence.value_name} over the "
        "search space that the interaction causes, beyond what each parameter causes alone. "
        f"Intervals count that predictions may leave {percent(unexplained)} of the variation "
        f"unexplained, and that any pair may cause it.{reach} An interaction is "
        f"\N{LEFT DOUBLE QUOTATION MARK}{FOUND}\N{RIGHT DOUBLE QUOTATION MARK} if the lower end of "
        f"the interval is at least {_least()}. The verdict is \N{LEFT DOUBLE QUOTATION MARK}{NONE}"
        f"\N{RIGHT DOUBLE QUOTATION MARK} if the upper end is below {_least()}, and "
        f"\N{LEFT DOUBLE QUOTATION MARK}{UNDECIDED}\N{RIGHT DOUBLE QUOTATION MARK} otherwise. It "
        f"is \N{LEFT DOUBLE QUOTATION MARK}{UNKNOWN}\N{RIGHT DOUBLE QUOTATION MARK} if the runs "
        "have taught nothing about the pair: the model knows as much without them."
    )


def _more_runs(evidence: Evidence, open_pairs: Sequence[Pair]) -> str:
    """How many runs would decide about the likeliest of the open pairs, if the model can tell."""
    if not open_pairs:
        return ""
    first, second = open_pairs[0].names
    runs = evidence.runs_to_decide(first, second)
    if runs is None or not 0.0 < runs.median < MANY_RUNS:
        return ""
    most = f"{runs.upper:.0f}" if runs.upper < MANY_RUNS else f"more than {MANY_RUNS}"
    return (
        f"By simulations of the model, about {runs.median:.0f} more runs, with settings spread "
        f"over the search space, would decide whether {first} and {second} interact (90 % "
        f"interval: {max(runs.lower, 1.0):.0f} to {most})."
    )


def _counts(pairs: Sequence[Pair]) -> str:
    """How many pairs have which verdict."""
    count = Counter(pair.verdict for pair in pairs)
    words = [f"{count[word]} {word}" for word in (FOUND, UNDECIDED, UNKNOWN, NONE)]
    return f"Verdicts of all {len(pairs)} pairs: {', '.join(words)}."


def _graph(importances: Importances, shown: Sequence[Pair], finding: str) -> Html:
    """The pairs in the table as lines, and nothing else."""
    is_shown = np.zeros_like(importances.pairs.mean)
    is_found = np.zeros_like(is_shown)
    for pair in shown:
        for place in (pair.dims, pair.dims[::-1]):
            is_shown[place], is_found[place] = 1.0, float(pair.verdict == FOUND)
    dims = np.unique([pair.dims for pair in shown])
    square = np.ix_(dims, dims)
    names = tuple(importances.names[dim] for dim in dims)
    drawn = importances._replace(
        names=names, pairs=Shares(*((is_shown * value)[square] for value in importances.pairs))
    )
    axes = blank_axes(4.8)
    plot_interactions(is_found[square], names, importances=drawn, max_names=len(names), ax=axes)
    axes[0].set_title("")
    return picture(
        axes[0],
        f"The graph of the pairs in the table. {finding}",
        "The pairs in the table as lines. Wider lines have a larger expected share, and pale ones "
        "are undecided or unknown.",
    )


def _all_pairs(pairs: Sequence[Pair]) -> Html:
    """A folded table of all pairs; with very many parameters, of the likeliest ones."""
    shown, others = pairs[:MAX_ALL], pairs[MAX_ALL:]
    if not others:
        return details("All pairs", table("All pairs", HEADER, [pair.cells for pair in shown]))
    title = f"The {len(shown)} likeliest of {len(pairs)} pairs"
    bound = math.ceil(1000.0 * max(pair.upper for pair in others)) / 1000.0
    remark = (
        "The upper end of the interval of every other pair is at most "
        f"{100.0 * bound:.1f}\N{NO-BREAK SPACE}%."
    )
    rows = [pair.cells for pair in shown]
    return details(title, tag("p", remark, class_="remark"), table(title, HEADER, rows))


def _finding(pairs: Sequence[Pair]) -> str:
    found = [pair for pair in pairs if pair.verdict == FOUND]
    if found:
        words = [f"{' with '.join(pair.names)} ({pair.share} of the variation)" for pair in found]
        more = f"; and {len(found) - 3} more" if len(found) > 3 else ""
        return f"The data show interactions: {'; '.join(words[:3])}{more}."
    undecided = sum(pair.verdict != NONE for pair in pairs)
    if not undecided:
        return f"The runs rule out all pairs: each causes less than {_least()} of the variation."
    known = (
        f"The runs rule out {len(pairs) - undecided} of {len(pairs)} pairs and leave {undecided} "
        "undecided."
        if undecided < len(pairs)
        else "The runs cannot decide about any pair yet."
    )
    likeliest = pairs[0]
    return (
        f"{known} The likeliest is {' and '.join(likeliest.names)}, with {likeliest.share} of the "
        "variation."
    )


def _tenths(share: float) -> int:
    """A share in tenths of a percent, rounded down."""
    return math.floor(1000.0 * share)


def _least() -> str:
    return f"{100.0 * LEAST_SHARE:g}\N{NO-BREAK SPACE}%"
