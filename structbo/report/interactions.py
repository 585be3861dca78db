"""Which pairs of parameters interact."""

import math

import numpy as np

from structbo.plots import plot_interactions
from structbo.report.digits import percent
from structbo.report.evidence import Evidence
from structbo.report.html import Html, details, joined, table, tag
from structbo.report.page import Section
from structbo.report.pictures import blank_axes, picture

CLEAR = 3.0
"""Monte Carlo errors by which a probability must differ from the prior to count as raised."""
FOUND = 0.9
"""Probability from which an interaction counts as found."""
MAX_ROWS = 15
MAX_ALL = 200
"""Rows of the table of all pairs, so that many parameters do not make a large page."""
HEADER = ("pair", "probability", "before the data")
MIN_PAIRS = 3
"""Pairs from which a graph shows more than the table."""

Pair = tuple[int, int]


def raised_pairs(evidence: Evidence) -> list[Pair]:
    """Pairs that the data made clearly more probable, the most probable first."""
    after, before = evidence.together, evidence.together_before
    raised = after.mean - before.mean > CLEAR * np.hypot(after.mcse, before.mcse)
    return _most_probable_first(evidence, raised)


def _most_probable_first(evidence: Evidence, chosen: np.ndarray) -> list[Pair]:
    """The pairs of a symmetric matrix of truth values, each once."""
    pairs = [(int(a), int(b)) for a, b in zip(*np.nonzero(np.triu(chosen, 1)), strict=True)]
    return sorted(pairs, key=lambda pair: -float(evidence.together.mean[pair]))


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
        body = [tag("p", meaning, class_="remark"), _all_pairs(evidence)]
        return Section(title, finding, joined(body))
    after = evidence.together
    shown = pairs[:MAX_ROWS]
    error = _error(evidence, shown)
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
        [*_cells(evidence, pair), "found" if after.mean[pair] >= FOUND else "undecided"]
        for pair in shown
    ]
    parts = [table("Pairs that the data made more probable", [*HEADER, "verdict"], rows)]
    if len(shown) >= MIN_PAIRS:
        raised = np.zeros_like(after.mean)
        raised[tuple(np.transpose(shown))] = after.mean[tuple(np.transpose(shown))]
        joined_dims = np.unique(shown)
        names = [evidence.names[dim] for dim in joined_dims]
        graph = (raised + raised.T)[np.ix_(joined_dims, joined_dims)]
        axes = blank_axes(4.8)
        plot_interactions(graph, names, max_names=len(names), ax=axes)
        axes[0].set_title("")
        description = f"The graph of the pairs in the table. {finding}"
        caption = "The pairs in the table as lines; wider ones are more probable."
        parts.insert(0, picture(axes[0], description, caption))
    body = [
        tag("p", remark, class_="remark"),
        tag("div", *parts, class_="pictures"),
        _all_pairs(evidence),
    ]
    return Section(title, finding, joined(body))


def _all_pairs(evidence: Evidence) -> Html:
    """A folded table of all pairs; with very many parameters, of the most probable ones."""
    mean = evidence.together.mean
    pairs = _most_probable_first(evidence, np.ones_like(mean, bool))
    shown, others = pairs[:MAX_ALL], pairs[MAX_ALL:]
    title = "All pairs"
    remark = (
        "Random draws compute these probabilities to within "
        f"{_error(evidence, shown)} percentage points."
    )
    if others:
        title = f"The {len(shown)} most probable of {len(pairs)} pairs"
        bound = math.ceil(100.0 * mean[others[0]]) / 100.0
        remark += f" The probability of every other pair is at most {percent(bound)}."
    rows = [_cells(evidence, pair) for pair in shown]
    return details(title, tag("p", remark, class_="remark"), table(title, HEADER, rows))


def _cells(evidence: Evidence, pair: Pair) -> list[str]:
    a, b = pair
    after, before = evidence.together.mean[pair], evidence.together_before.mean[pair]
    return [f"{evidence.names[a]} and {evidence.names[b]}", percent(after), percent(before)]


def _error(evidence: Evidence, pairs: list[Pair]) -> int:
    """Twice the largest Monte Carlo error, in percentage points."""
    return math.ceil(200.0 * max(float(evidence.together.mcse[pair]) for pair in pairs))


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
