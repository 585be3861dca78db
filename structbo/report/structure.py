"""The sections on the function: which parameters matter, which interact, and how."""

from collections.abc import Sequence

import numpy as np

from structbo.plots import plot_importances, plot_surface
from structbo.plots.effects import by_strength, draw_curves
from structbo.plots.slices import slices_of
from structbo.posterior import Effect, Importances
from structbo.report.changes import changes_table, clear_changes
from structbo.report.digits import column_texts, parameter_texts, percent
from structbo.report.evidence import Evidence
from structbo.report.html import Html, joined, table, tag
from structbo.report.interactions import NONE, interaction_section, likeliest_first
from structbo.report.lists import some
from structbo.report.page import Section
from structbo.report.pictures import blank_axes, drawn, picture
from structbo.report.support import MAX_UNEXPLAINED, most_frequent, outranked

CHANGES = "What happens if one parameter changes?"
FREQUENT = "most frequent values"
MAX_ROWS = 15
MAX_EFFECTS = 6
EFFECT_WIDTH = 3.2


def learned_sections(evidence: Evidence) -> list[Section]:
    """Importances, interactions and effects; one remark where the model has a projection."""
    importances = evidence.importances
    if importances is None:
        text = (
            "The model looks at combinations of parameters, so the report has no shares, "
            "interactions or effects of single ones."
        )
        return [Section("Which parameters matter?", text, Html())]
    found = [_importances(evidence, importances)]
    if len(evidence.names) > 1:
        found.append(interaction_section(evidence, importances))
    return [*found, _effects(evidence, importances)]


def _importances(evidence: Evidence, importances: Importances) -> Section:
    name, support = evidence.value_name, evidence.support
    title = "Which parameters matter?"
    spread = most_frequent(evidence.optimizer.space, evidence.posterior.X)
    unexplained = percent(support.unexplained)
    if support.unexplained > MAX_UNEXPLAINED:
        finding = "These runs do not tell which parameters matter over the whole search space."
        remark = (
            f"The runs leave up to {unexplained} of the variation of {name} across the whole "
            "search space unexplained, and any parameter may cause it. This bound includes "
            "settings unlike all runs; predictions among the runs may be far better. Often the "
            "reason is that many runs are alike: the table has the most frequent values. Runs "
            "spread over the whole space, with all parameters changed independently, would tell. "
            f"Around the best run more is known: see \N{LEFT DOUBLE QUOTATION MARK}{CHANGES}"
            "\N{RIGHT DOUBLE QUOTATION MARK}"
        )
        rows = [list(row) for row in zip(evidence.names[:MAX_ROWS], spread, strict=False)]
        header = ["parameter", FREQUENT]
        body = [tag("p", remark, class_="remark"), table("How the runs are spread", header, rows)]
        return Section(title, finding, joined(body))
    order = np.argsort(-importances.total.mean, kind="stable")[:MAX_ROWS]
    rows = [[importances.names[d], _share(importances, d), spread[d]] for d in order]
    left_out = len(importances.names) - len(rows)
    caption = f"Shares of the variation of {name}, as 90 % intervals" + (
        f"; without the {left_out} smallest" if left_out else ""
    )
    remark = (
        f"A share is the part of the variation of {name} over the search space that a parameter "
        "causes, alone or together with others; so shares may add up to more than "
        f"{percent(1.0)}. Intervals count that predictions may leave {unexplained} of the "
        f"variation unexplained, and that any parameter may cause it.{_scale(evidence)}"
    )
    finding = _ranking(importances, name)
    chart = drawn(
        0.36 * len(rows) + 1.1,
        lambda ax: plot_importances(importances, max_rows=MAX_ROWS, value_name=name, ax=ax),
        f"Bars of the shares in the table. {finding}",
        "Shares of the parameters. Orange bars count only what a parameter causes alone; black "
        "lines are 90 % intervals.",
    )
    shares = table(caption, ["parameter", "share", FREQUENT], rows)
    pictures = tag("div", chart, shares, class_="pictures")
    return Section(title, finding, joined([tag("p", remark, class_="remark"), pictures]))


def _ranking(importances: Importances, value_name: str) -> str:
    """A sentence about the order of the parameters, as far as the intervals tell it."""
    top, is_less = outranked(importances)
    names = importances.names
    if len(names) == 1:
        return f"{names[0]} is the only parameter."
    if is_less.sum() == len(names) - 1:
        share = _share(importances, top)
        return (
            f"The parameter {names[top]} matters most: it causes {share} of the variation of "
            f"{value_name}."
        )
    if is_less.any():
        less = [name for name, smaller in zip(names, is_less, strict=True) if smaller]
        others = [name for name in names if name not in (*less, names[top])]
        return (
            f"The parameter {names[top]} matters more than {some(less)}. The runs do not tell "
            f"whether it matters more than {some(others)}."
        )
    return "The runs do not yet tell which parameter matters most."


def _effects(evidence: Evidence, importances: Importances) -> Section:
    slices = slices_of(
        evidence.posterior, [(name,) for name in evidence.names], evidence.best.params
    )
    effects = by_strength([effect for effect in slices if np.isfinite(effect.mean).any()])
    finding = (
        clear_changes(evidence, effects)
        if effects
        else f"The model has no expected {evidence.value_name} for changes of a single parameter "
        f"of run {evidence.best.number}, so the report has no curves. Often the reason is that "
        "constraints only allow several parameters to change together."
    )
    parts = _curves(evidence, effects) if effects else []
    likeliest = likeliest_first(importances, evidence.like_prior)[:1]
    parts += [_surface(evidence, pair.names) for pair in likeliest if pair.verdict != NONE]
    return Section(CHANGES, finding, joined(parts))


def _curves(evidence: Evidence, effects: Sequence[Effect]) -> list[Html]:
    """Pictures and a table of slices through the best run."""
    name, best = evidence.value_name, evidence.best
    shown = effects[:MAX_EFFECTS]
    axes = [blank_axes(2.7, width=EFFECT_WIDTH)[0] for _ in shown]
    draw_curves(evidence.posterior, shown, axes, at=best.params, value_name=name)
    low = min(panel.get_ylim()[0] for panel in axes)
    high = max(panel.get_ylim()[1] for panel in axes)
    for panel in axes:
        panel.set(ylim=(low, high), ylabel=axes[0].get_ylabel())
    curves = [
        picture(
            panel,
            _described(evidence, effect),
            f"Run {best.number} with another {effect.names[0]}.",
        )
        for panel, effect in zip(axes, shown, strict=True)
    ]
    figures = "all" if len(shown) == len(effects) else f"the first {len(shown)} of {len(effects)}"
    (expected, interval), *_ = evidence.of_best_first.cells(1)
    remark = (
        f"The orange dot is run {best.number}. A curve shows the {name} that the model expects if "
        "one parameter of this run changes and all others stay. Bands and bars are 90 % intervals: "
        "where they are wide, the runs tell little. The curve that varies most comes first; the "
        f"figures show {figures}. The table has a change for the worse of every parameter"
        f"{_exceptions(evidence, effects)}. At run {best.number} the model expects {expected} "
        f"({interval}); a change is clear if its interval does not overlap with this."
    )
    return [
        tag("p", remark, class_="remark"),
        tag("div", *curves, class_="pictures"),
        changes_table(evidence, effects[:MAX_ROWS]),
    ]


def _exceptions(evidence: Evidence, effects: Sequence[Effect]) -> str:
    """Which parameters have no effect, as the end of a sentence."""
    known = {effect.names[0] for effect in effects}
    others = [name for name in evidence.names if name not in known]
    if not others:
        return ""
    return (
        f" except {some(others)}: the model has no expected {evidence.value_name} where one of "
        "them changes alone"
    )


def _described(evidence: Evidence, effect: Effect) -> str:
    """A curve, for those who cannot see it."""
    (name,), (grid,) = effect.names, effect.grid
    ends = int(np.nanargmin(effect.mean)), int(np.nanargmax(effect.mean))
    values = parameter_texts(evidence.parameters[name], [grid[k] for k in ends])
    means = column_texts([float(effect.mean[k]) for k in ends], digits=3)
    return (
        f"Expected {evidence.value_name} over {name}: least at {values[0]}, with {means[0]}, and "
        f"largest at {values[1]}, with {means[1]}."
    )


def _surface(evidence: Evidence, names: Sequence[str]) -> Html:
    best, value_name = evidence.best, evidence.value_name
    axes = [*blank_axes(3.7), *blank_axes(3.7)]
    plot_surface(evidence.posterior, names, at=best.params, value_name=value_name, ax=axes)
    about = f"over {names[0]} and {names[1]}, as colors. Dots are the runs."
    pictures = (
        picture(
            axes[0],
            f"Expected {value_name} {about}",
            f"The expected {value_name}. Dots are the runs.",
        ),
        picture(
            axes[1],
            f"The standard deviation of {value_name} {about}",
            "How uncertain it is: darker means less certain. The 90 % interval reaches 1.6 of "
            "these standard deviations up and down.",
        ),
    )
    remark = (
        f"Two parameters change here together, {names[0]} and {names[1]}; all others stay as in "
        f"run {best.number}."
    )
    return joined([tag("p", remark), tag("div", *pictures, class_="pictures")])


def _scale(evidence: Evidence) -> str:
    """A sentence where shares are of transformed values."""
    if evidence.posterior.units.transform.is_linear:
        return ""
    return (
        f" Shares are about a transform of {evidence.value_name} that the model uses, in which bad "
        "values lie closer together."
    )


def _share(importances: Importances, dim: int | np.intp) -> str:
    lower, upper = (float(v[dim]) for v in importances.total[1:3])
    return f"{100.0 * lower:.0f} to {percent(upper)}"
