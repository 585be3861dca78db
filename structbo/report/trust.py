"""How far the model can be trusted: whether it predicts, and whether the chains have converged."""

import math

from structbo.plots import plot_agreement, plot_calibration, plot_trace
from structbo.posterior import Calibration
from structbo.posterior.convergence import MAX_RHAT, MIN_EFFECTIVE_DRAWS
from structbo.posterior.summary import approximation
from structbo.report.digits import percent
from structbo.report.evidence import Evidence, listed
from structbo.report.html import Html, details, joined, table, tag
from structbo.report.page import Section
from structbo.report.pictures import blank_axes, picture
from structbo.report.support import MIN_FAR

PROBABILITY = 0.9
UNLIKELY = 0.01
"""Probability with which a right model has a coverage that counts as wrong."""
FEW_DRAWS = 20.0
"""Effective draws below which a prediction without an observation is rough."""
NUM_ROWS = 5


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
        verdict = "Yes, within their intervals"
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
        "First picture: a point is a run, and a bar is the 90 % interval in which the model "
        "expects its value from all other runs. Good predictions lie near the line. Second "
        "picture: how many values lie in such intervals, for every probability instead of 90 %. "
        "The blue line should stay in the gray band."
    )
    pictures = (
        picture(axes[0], f"Observed values over those predicted from all others. {finding}"),
        picture(axes[1], "Share of the values in their intervals, over the probability of these."),
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
            f"{evidence.value_name} among these runs."
        )
    return (
        f"The predictions explain {_explained(found.chosen(~is_far))} of the variation of "
        f"{evidence.value_name} among runs with others nearby, and "
        f"{_explained(found.chosen(is_far))} among the {number} runs far from all others."
    )


def _explained(calibration: Calibration) -> str:
    return percent(math.floor(100.0 * max(calibration.explained, 0.0)) / 100.0)


def convergence(evidence: Evidence) -> Section:
    """Whether the chains agree."""
    posterior = evidence.posterior
    problems = _problems(evidence)
    finding = (
        f"No: {listed(problems)}. Do not trust probabilities and intervals of this page."
        if problems
        else f"Yes: {posterior.num_chains} independent computations agree, and their "
        f"{posterior.num_draws} random draws are enough for what is said here."
    )
    worst = evidence.summary.sort_values("r_hat", ascending=False).head(NUM_ROWS)
    rows = [
        [str(name), f"{r_hat:.2f}", f"{ess:.0f}"]
        for name, r_hat, ess in zip(worst.index, worst["r_hat"], worst["ess_bulk"], strict=True)
    ]
    explained = tag(
        "p",
        "The model is known through random draws of its quantities, from several Markov chains. "
        "R-hat compares the chains: it is 1.00 if they agree, and above 1.05 they do not. The "
        "effective number of draws is how many independent draws would say as much; 50 are few, "
        "and 400 are plenty.",
        class_="remark",
    )
    header = ["quantity", "R-hat", "effective draws"]
    body = joined([explained, table("The largest R-hat first", header, rows), _pictures(evidence)])
    return Section(
        "Is the computation accurate?", finding, details("Details for statisticians", body)
    )


def _problems(evidence: Evidence) -> list[str]:
    """The quantities whose draws cannot be trusted, in words."""
    table = evidence.summary.dropna(subset="ess_bulk")
    problems = []
    if (table["r_hat"].round(2) > MAX_RHAT).any():
        problems.append(f"the computations disagree about {table['r_hat'].idxmax()}")
    if (table["ess_bulk"].round() < MIN_EFFECTIVE_DRAWS).any():
        problems.append(f"the draws are too few for {table['ess_bulk'].idxmin()}")
    return problems


def _pictures(evidence: Evidence) -> Html:
    posterior = evidence.posterior
    axes = blank_axes(4.4, rows=2)
    plot_trace(posterior, ax=axes)
    axes[0].set_ylabel("fit of the draw")
    axes[1].set_ylabel("differing pairs")
    explained = (
        "Traces: the lines of all chains should lie on top of each other. The upper ones say how "
        "well a draw fits (its log density), the lower ones in how many pairs its interactions "
        "differ from the most frequent ones."
    )
    pictures = [picture(axes[0], f"Traces of {posterior.num_chains} chains, one line each.")]
    if posterior.num_chains > 1 and len(posterior.directions) > 1:
        (agreement,) = blank_axes(4.6)
        plot_agreement(posterior, ax=agreement)
        label = "probability of an interaction"
        agreement.set(title="", xlabel=f"{label}, chain 0", ylabel=f"{label}, other chains")
        explained += (
            " Agreement: a point is the probability that a pair interacts, by the first chain and "
            "by another one. All points should lie on the line, within their bars. The circle "
            "marks the pair about which the chains disagree most."
        )
        pictures.append(picture(agreement, "Probabilities of pairs by the first and other chains."))
    return joined([tag("p", explained, class_="remark"), tag("div", *pictures, class_="pictures")])
