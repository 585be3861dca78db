"""How far the model can be trusted: whether it predicts, and whether the chains have converged."""

import math
from typing import TYPE_CHECKING

import numpy as np

from structbo.plots import plot_agreement, plot_calibration, plot_trace
from structbo.posterior import Calibration
from structbo.posterior.convergence import MAX_ERROR, least_accurate
from structbo.posterior.summary import approximation
from structbo.report.digits import percent
from structbo.report.evidence import Evidence
from structbo.report.html import Html, details, joined, table, tag
from structbo.report.lists import listed
from structbo.report.page import Section
from structbo.report.pictures import blank_axes, picture
from structbo.report.quantities import in_words
from structbo.report.support import MIN_FAR

if TYPE_CHECKING:
    import pandas as pd

PROBABILITY = 0.9
UNLIKELY = 0.01
"""Probability with which a right model has a coverage that counts as wrong."""
FEW_DRAWS = 20.0
"""Effective draws below which a prediction without an observation is rough."""
NUM_ROWS = 5
PROBLEMS = {
    "r_hat": "the computations disagree about {}",
    "ess_bulk": "the draws are too few for {}",
    "mcse_mean": "the draws are too few to tell {}",
}
"""Texts about inaccurate quantities, by the column of `Posterior.summary` that shows it."""


def calibration(evidence: Evidence) -> Section:
    """Every value predicted from all others."""
    from scipy.stats import binom

    found = evidence.calibration
    inside, n = found.num_inside(PROBABILITY), len(found.observed)
    if binom.cdf(inside, n, PROBABILITY) < UNLIKELY:
        verdict = "No, their intervals are too narrow"
    elif binom.sf(inside - 1, n, PROBABILITY) < UNLIKELY:
        verdict = "Yes, their intervals are even wider than they need be"
    else:
        verdict = "Yes, if you read them as intervals"
    finding = (
        f"{verdict}: {inside} of {n} values lie in the {percent(PROBABILITY)} intervals "
        f"predicted from all other runs. {_reach(evidence)}"
    )
    remarks = []
    if evidence.posterior.num_inducing is not None:
        remarks.append(approximation(evidence.posterior.num_inducing))
    if num_rough := int((found.effective_draws < FEW_DRAWS).sum()):
        remarks.append(
            f"For {num_rough} values the prediction is rough: without them the model would be "
            "another."
        )
    axes = [*blank_axes(4.0), *blank_axes(4.0)]
    plot_calibration(found, value_name=evidence.value_name, ax=axes)
    explained = (
        "The report hides each run in turn, predicts it from all others, and compares. About nine "
        "in ten values should lie in their 90 % intervals."
    )
    pictures = (
        picture(
            axes[0],
            f"Observed values over those predicted from all others. {finding}",
            "A point is a run, and a bar is the 90 % interval in which the model expects its value "
            "from all other runs. Good predictions lie near the line.",
        ),
        picture(
            axes[1],
            "Share of the values in their intervals, over the probability of these.",
            "The same check for 50 %, 80 % and so on: where the blue line stays near the gray one, "
            "the intervals are right. The gray band is chance.",
        ),
    )
    body = [
        tag("p", explained, class_="remark"),
        *(tag("p", line) for line in remarks),
        tag("div", *pictures, class_="pictures"),
    ]
    return Section("Can the predictions be trusted?", finding, joined(body))


def _reach(evidence: Evidence) -> str:
    """How much predictions explain, near other runs and far from them."""
    is_far, found = evidence.support.is_far, evidence.calibration
    number = int(is_far.sum())
    if min(number, len(is_far) - number) < MIN_FAR:
        return (
            f"The predictions explain {_explained(found)} of the variation of "
            f"{evidence.value_name} among runs like these."
        )
    return (
        f"The predictions explain {_explained(found.chosen(~is_far))} of the variation of "
        f"{evidence.value_name} among runs with others nearby, and "
        f"{_explained(found.chosen(is_far))} among the {number} runs far from all others."
    )


def _explained(calibration: Calibration) -> str:
    share = np.fmax(calibration.explained, 0.0)  # NaN if predictions of huge values overflow
    return percent(math.floor(100.0 * share) / 100.0)


def convergence(evidence: Evidence) -> Section:
    """Whether the chains agree."""
    posterior, summary = evidence.posterior, evidence.summary
    words = in_words(posterior, evidence.value_name)
    problems = [
        PROBLEMS[column].format(words.get(label, label))
        for column, label in least_accurate(summary).items()
    ]
    finding = (
        f"No: {listed(problems)}. Do not trust probabilities and intervals of this page."
        if problems
        else f"Yes: {posterior.num_chains} independent computations agree, and their "
        f"{posterior.num_draws} random draws are enough for what is said here."
    )
    shown = summary.rename(index=words)
    is_event = summary.index.isin(summary.attrs["events"])
    explained = tag(
        "p",
        f"The estimates come from {posterior.num_draws} random draws. Each of the "
        f"{posterior.num_chains} independent computations is a Markov chain. R-hat compares the "
        "chains: it is 1.00 if they agree, and above 1.05 they do not. The effective number of "
        "draws is how many independent draws would tell as much. 50 are few, 200 are enough, and "
        "400 are plenty. The error of a probability is how much another computation of the same "
        f"length would differ. Above {MAX_ERROR:.2f} it is large.",
        class_="remark",
    )
    tables = [_of_numbers(shown[~is_event], posterior.num_draws), _of_events(shown[is_event])]
    body = joined([explained, *(t for t in tables if t), _pictures(evidence)])
    return Section(
        "Is the computation accurate?", finding, details("Details for statisticians", body)
    )


def _of_numbers(summary: "pd.DataFrame", num_draws: int) -> Html | None:
    """The table of the numbers whose chains agree least, if there are any."""
    worst = (
        summary.assign(shown=summary["r_hat"].round(2))
        .sort_values(["shown", "ess_bulk"], ascending=[False, True])
        .head(NUM_ROWS)
    )
    rows = [
        [str(name), f"{r_hat:.2f}", f"{min(ess, num_draws):.0f}"]
        for name, r_hat, ess in zip(worst.index, worst["r_hat"], worst["ess_bulk"], strict=True)
    ]
    caption = f"The {len(rows)} quantities that are computed least accurately"
    return table(caption, ["quantity", "R-hat", "effective draws"], rows) if rows else None


def _of_events(summary: "pd.DataFrame") -> Html | None:
    """The table of the probabilities with the largest errors, if there are any."""
    worst = summary.sort_values("mcse_mean", ascending=False).head(NUM_ROWS)
    rows = [
        [str(name), f"{mean:.2f}", f"{error:.2f}"]
        for name, mean, error in zip(worst.index, worst["mean"], worst["mcse_mean"], strict=True)
    ]
    caption = f"The {len(rows)} probabilities that are computed least accurately"
    return table(caption, ["event", "probability", "error"], rows) if rows else None


def _pictures(evidence: Evidence) -> Html:
    posterior = evidence.posterior
    axes = blank_axes(4.4, rows=2)
    plot_trace(posterior, ax=axes)
    axes[0].set_ylabel("fit of the draw")
    axes[1].set_ylabel("differing pairs")
    pictures = [
        picture(
            axes[0],
            f"Traces of {posterior.num_chains} chains, one line each.",
            "Traces, a line for every chain: the lines should lie on top of each other. Above is "
            "how well a draw fits the runs (its log density). Below is in how many pairs a draw "
            "differs from the most frequent draw; the model joins the parameters of some pairs.",
        )
    ]
    if posterior.num_chains > 1 and len(posterior.directions) > 1:
        (agreement,) = blank_axes(4.6)
        plot_agreement(posterior, ax=agreement)
        label = "probability of a joined pair"
        agreement.set(title="", xlabel=f"{label}, chain 0", ylabel=f"{label}, other chains")
        pictures.append(
            picture(
                agreement,
                "Probabilities of pairs by the first and other chains.",
                "Agreement: a point is a pair, with the probability that the model joins it, by "
                "the first chain and by another one. The points should lie on the line, within "
                "their bars. The circle marks the pair about which the chains disagree most.",
            )
        )
    return tag("div", *pictures, class_="pictures")
