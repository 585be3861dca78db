"""Which pairs of parameters interact."""

import math

import numpy as np

from structbo.plots import plot_interactions
from structbo.report.digits import percent
from structbo.report.evidence import Evidence
from structbo.report.html import details, joined, table, tag
from structbo.report.page import Section
from structbo.report.pictures import blank_axes, picture

CLEAR = 3.0
"""Monte Carlo errors by which a probability must differ from the prior to count as raised."""
FOUND = 0.9
"""Probability from which an interaction counts as found."""
MAX_ROWS = 15
MAX_NODES = 16
ALL_PAIRS = "print(result.posterior.together_probabilities())"
MIN_PAIRS = 3
"""Pairs from which a graph shows more than the table."""

Pair = tuple[int, int]


def raised_pairs(evidence: Evidence) -> list[Pair]:
    """Pairs that the data made clearly more probable, the most probable first."""
    after, before = evidence.together, evidence.together_before
    raised = after.mean - before.mean > CLEAR * np.hypot(after.mcse, before.mcse)
    pairs = [(int(a), int(b)) for a, b in zip(*np.nonzero(np.triu(raised, 1)), strict=True)]
    return sorted(pairs, key=lambda pair: -float(after.mean[pair]))


def interaction_section(evidence: Evidence) -> Section:
    """The pairs that the data speak for, their probabilities before and after the data."""
    title = "Which parameters interact?"
    pairs = raised_pairs(evidence)
    finding = _finding(evidence, pairs)
    meaning = (
        "Two parameters interact if the effect of one depends on the value of the other. "
        f"An interaction counts as found from a probability of {percent(FOUND)}; below that it is "
        "undecided."
    )
    if not pairs:
        return Section(title, finding, tag("p", meaning, class_="remark"))
    after, before = evidence.together, evidence.together_before
    shown = pairs[:MAX_ROWS]
    error = math.ceil(200.0 * max(float(after.mcse[pair]) for pair in shown))
    likeliest = float(after.mean[shown[0]])
    reach = [percent(min(1.0, max(0.0, likeliest + side * error / 100.0))) for side in (-1, 1)]
    remark = (
        f"{meaning} The probability before the data is an assumption of the model about a pair. By "
        "default it is the same for all pairs, and depends on the number of parameters. "
        f"The data raised it for {len(pairs)} of {math.comb(len(evidence.names), 2)} pairs"
        f"{f', the first {MAX_ROWS} of which are shown' if len(pairs) > MAX_ROWS else ''}. "
        "Random draws compute the probabilities to within "
        f"{error} percentage points: {percent(likeliest)} may be {reach[0]} to {reach[1]}."
    )
    rows = [
        [
            f"{evidence.names[a]} and {evidence.names[b]}",
            percent(float(after.mean[a, b])),
            percent(float(before.mean[a, b])),
            "found" if after.mean[a, b] >= FOUND else "undecided",
        ]
        for a, b in shown
    ]
    header = ["pair", "probability", "before the data", "verdict"]
    parts = [table("Pairs that the data made more probable", header, rows)]
    if len(pairs) >= MIN_PAIRS:
        raised = np.zeros_like(after.mean)
        raised[tuple(np.transpose(pairs))] = after.mean[tuple(np.transpose(pairs))]
        axes = blank_axes(4.8)
        plot_interactions(raised + raised.T, evidence.names, max_names=MAX_NODES, ax=axes)
        axes[0].set_title("")
        description = f"The graph of the pairs in the table. {finding}"
        caption = "The pairs in the table as lines; wider ones are more probable."
        parts.insert(0, picture(axes[0], description, caption))
    body = [
        tag("p", remark, class_="remark"),
        tag("div", *parts, class_="pictures"),
        details(
            "All pairs, in Python", tag("p", "For the result of a search: ", tag("code", ALL_PAIRS))
        ),
    ]
    return Section(title, finding, joined(body))


def _finding(evidence: Evidence, pairs: list[Pair]) -> str:
    names, after, before = evidence.names, evidence.together.mean, evidence.together_before.mean
    if not pairs:
        return "The data do not point to any interaction."
    found = [pair for pair in pairs if after[pair] >= FOUND]
    if not found:
        a, b = pairs[0]
        return (
            f"The runs cannot decide about any pair yet. The likeliest pair is {names[a]} and "
            f"{names[b]}, with a probability of {percent(after[a, b])} ({percent(before[a, b])} "
            "before the data)."
        )
    words = [f"{names[a]} with {names[b]} ({percent(after[a, b])})" for a, b in found[:3]]
    more = f"; and {len(found) - 3} more" if len(found) > 3 else ""
    return f"The data show interactions: {'; '.join(words)}{more}."
