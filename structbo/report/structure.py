"""What was learned of the function: which parameters matter, which interact, and how."""

import numpy as np

from structbo.plots import plot_effects, plot_importances, plot_interactions, plot_surface
from structbo.posterior import Importances, Shares
from structbo.report.evidence import Evidence, listed, percent, value_text
from structbo.report.html import Html, joined, table, tag
from structbo.report.page import Section
from structbo.report.pictures import blank_axes, drawn, picture

MAX_ROWS = 15
MAX_EFFECTS = 6
MAX_NODES = 16
EFFECT_WIDTH = 3.2


def learned_sections(evidence: Evidence) -> list[Section]:
    """Importances, interactions and effects; one remark where the model has a projection."""
    importances = evidence.importances
    if importances is None:
        text = (
            "The model looks at combinations of parameters: shares, interactions and effects of "
            "single ones are not computed."
        )
        return [Section("Importances", text, Html())]
    found = [_importances(importances)]
    if len(evidence.names) > 1:
        found.append(_interactions(evidence, importances))
    return [*found, _effects(evidence, importances)]


def _importances(importances: Importances) -> Section:
    order = np.argsort(-importances.total.mean, kind="stable")[:MAX_ROWS]
    top = order[:2]
    words = [f"{importances.names[d]}, in {_share(importances.total, d)}" for d in top]
    finding = f"What matters most is {listed(words)} of the variance of the function."
    rows = [
        [
            importances.names[d],
            _share(importances.total, d),
            _share(importances.first_order, d),
        ]
        for d in order
    ]
    left_out = len(importances.names) - len(rows)
    caption = "Shares of the variance, with 90 % intervals" + (
        f"; without the {left_out} least important" if left_out else ""
    )
    explained = tag(
        "p",
        "In total counts all that a parameter takes part in; alone is what it does whatever the "
        "others are: the difference is due to interactions. Intervals are about what is not "
        "known of the function.",
        class_="remark",
    )
    chart = drawn(
        0.36 * len(rows) + 1.1,
        lambda ax: plot_importances(importances, max_rows=MAX_ROWS, ax=ax),
        f"Bars of the shares in the table. {finding}",
    )
    shares = table(caption, ["parameter", "in total", "alone"], rows)
    pictures = tag("div", chart, shares, class_="pictures")
    return Section("Importances", finding, joined([explained, pictures]))


def _interactions(evidence: Evidence, importances: Importances) -> Section:
    after, before, raised = evidence.together, evidence.together_before, evidence.is_raised
    pairs = np.transpose(np.triu_indices(len(evidence.names), 1))
    gain = (after.mean - before.mean)[*pairs.T]
    order = [tuple(pairs[k]) for k in np.argsort(-gain, kind="stable")]
    found = [pair for pair in order if raised[pair]]
    words = [
        f"{evidence.names[a]} and {evidence.names[b]} (probability {after.mean[a, b]:.2f})"
        for a, b in found[:3]
    ]
    more = f"; and for {len(found) - 3} more" if len(found) > 3 else ""
    finding = (
        f"The data speak for interactions of {'; of '.join(words)}{more}."
        if found
        else "The data do not yet speak for any interaction."
    )
    rows = [
        [
            f"{evidence.names[a]} and {evidence.names[b]}",
            f"{after.mean[a, b]:.2f} ± {after.mcse[a, b]:.2f}",
            f"{before.mean[a, b]:.2f}",
            _share(importances.pairs, (a, b)),
        ]
        for a, b in found[:MAX_ROWS]
    ]
    explained = tag(
        "p",
        f"The data made {len(found)} of {len(pairs)} pairs clearly more probable than "
        "they were before; only these are shown. An interaction may be certain and hardly matter: "
        "its share of the variance tells.",
        class_="remark",
    )
    if not rows:
        return Section("Interactions", finding, explained)
    header = ["pair", "probability", "before the data", "share of the variance"]
    axes = blank_axes(4.8)
    plot_interactions(
        np.where(raised, after.mean, 0.0),
        evidence.names,
        importances=_only(importances, raised),
        max_names=MAX_NODES,
        ax=axes,
    )
    axes[0].set_title("")
    parts = (
        picture(axes[0], f"The graph of the pairs in the table. {finding}"),
        table("Pairs, with Monte Carlo errors and 90 % intervals", header, rows),
    )
    pictures = tag("div", *parts, class_="pictures")
    return Section("Interactions", finding, joined([explained, pictures]))


def _effects(evidence: Evidence, importances: Importances) -> Section:
    number = min(MAX_EFFECTS, len(evidence.names))
    axes = [blank_axes(2.7, width=EFFECT_WIDTH)[0] for _ in range(number)]
    plot_effects(evidence.posterior, num_effects=number, ax=axes)
    low = min(panel.get_ylim()[0] for panel in axes)
    high = max(panel.get_ylim()[1] for panel in axes)
    for panel in axes:
        panel.set(ylim=(low, high), ylabel="average of the objective")
    effects = sorted(evidence.posterior.main_effects(), key=lambda effect: -effect.strength)
    curves = []
    for panel, effect in zip(axes, effects, strict=False):
        values = [
            value_text(effect.grid[0][k]) for k in (effect.mean.argmin(), effect.mean.argmax())
        ]
        ends = [value_text(v) for v in (effect.mean.min(), effect.mean.max())]
        curves.append(
            picture(
                panel,
                f"The average of the objective over {effect.names[0]}: least at {values[0]}, with "
                f"{ends[0]}, and largest at {values[1]}, with {ends[1]}.",
            )
        )
    explained = tag(
        "p",
        "The average over all other parameters, in the units of the objective, with 90 % "
        "intervals. A parameter that acts through its interactions only has a flat curve.",
        class_="remark",
    )
    parts = [explained, tag("div", *curves, class_="pictures")]
    shares = np.where(evidence.is_raised, importances.pairs.mean, 0.0)
    if shares.max(initial=0.0) > 0.0:
        parts.append(_surface(evidence, np.unravel_index(shares.argmax(), shares.shape)))
    return Section("Effects", "", joined(parts))


def _surface(evidence: Evidence, pair: tuple[np.intp, ...]) -> Html:
    names = [evidence.names[d] for d in pair]
    axes = [*blank_axes(3.7), *blank_axes(3.7)]
    plot_surface(evidence.posterior, names, ax=axes)
    about = f"over {names[0]} and {names[1]}, as colors. Dots are the points that were evaluated."
    pictures = (
        picture(axes[0], f"The average of the objective {about}"),
        picture(axes[1], f"Its standard deviation {about}"),
    )
    remark = tag("p", f"{names[0]} and {names[1]}, whose interaction matters most:")
    return joined([remark, tag("div", *pictures, class_="pictures")])


def _only(importances: Importances, is_shown: np.ndarray) -> Importances:
    pairs = Shares(*(np.where(is_shown, value, 0.0) for value in importances.pairs))
    return importances._replace(pairs=pairs)


def _share(shares: Shares, which: int | np.intp | tuple[int, ...]) -> str:
    mean, lower, upper = (float(v[which]) for v in shares[:3])
    return f"{percent(mean)} ({100.0 * lower:.0f} to {100.0 * upper:.0f})"
