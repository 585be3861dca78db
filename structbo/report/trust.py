"""How far the model can be trusted: whether it predicts, and whether the chains have converged."""

import numpy as np

from structbo.plots import plot_agreement, plot_calibration, plot_trace
from structbo.posterior import convergence_problems
from structbo.posterior.summary import approximation
from structbo.report.evidence import Evidence, listed, percent
from structbo.report.html import Html, joined, table, tag
from structbo.report.page import Section
from structbo.report.pictures import blank_axes, drawn, picture

PROBABILITY = 0.9
UNLIKELY = 0.01
"""A right model has so bad a coverage with this probability at most."""
FEW_DRAWS = 20.0
"""So few effective draws cannot tell what the model would believe without an observation."""
LITTLE = 0.2
"""A share of the variance of the values so small is hardly predicted at all."""
NUM_ROWS = 5


def calibration(evidence: Evidence) -> Section:
    """Every value predicted from all others."""
    from scipy.stats import binom

    found = evidence.calibration
    inside, n = found.num_inside(PROBABILITY), len(found.observed)
    if binom.cdf(inside, n, PROBABILITY) < UNLIKELY:
        verdict = "The model is too sure of itself"
    elif binom.sf(inside - 1, n, PROBABILITY) < UNLIKELY:
        verdict = "The model is more careful than it need be"
    else:
        verdict = "The model is as sure as it should be"
    explained = percent(max(found.explained, 0.0))
    finding = (
        f"{verdict}: {inside} of {n} values are in their {percent(PROBABILITY)} intervals, "
        f"predicted from all others. Predictions explain {explained} of the variance of the values."
    )
    remarks = []
    if found.explained < LITTLE:
        remarks.append(
            "It can hardly predict values yet: read importances, interactions and effects as first "
            "guesses."
        )
    if evidence.posterior.num_inducing is not None:
        remarks.append(approximation(evidence.posterior.num_inducing))
    if num_rough := int((found.effective_draws < FEW_DRAWS).sum()):
        remarks.append(
            f"For {num_rough} values the prediction is rough: they change what is believed so much "
            "that the draws say little of what would be believed without them."
        )
    axes = [*blank_axes(4.0), *blank_axes(4.0)]
    plot_calibration(found, ax=axes)
    pictures = (
        picture(axes[0], f"Observed values over those predicted from all others. {finding}"),
        picture(axes[1], "How many values are in intervals, over the probability of these."),
    )
    body = [*(tag("p", line) for line in remarks), tag("div", *pictures, class_="pictures")]
    return Section("Can the model be trusted?", finding, joined(body))


def convergence(evidence: Evidence) -> Section:
    """Whether the chains agree."""
    posterior = evidence.posterior
    problems = convergence_problems(evidence.summary, posterior.num_draws)
    finding = (
        f"The chains have not converged: {listed(problems)}. Do not trust probabilities and "
        "intervals before they have."
        if problems
        else f"The {posterior.num_chains} Markov chains agree with each other, and their "
        f"{posterior.num_draws} draws are enough for what is said here."
    )
    worst = evidence.summary.sort_values("r_hat", ascending=False).head(NUM_ROWS)
    rows = [
        [str(name), f"{r_hat:.2f}", f"{ess:.0f}"]
        for name, r_hat, ess in zip(worst.index, worst["r_hat"], worst["ess_bulk"], strict=True)
    ]
    explained = tag(
        "p",
        "Draws of the structure and of the hyper-parameters come from Markov chains. R-hat "
        "compares the chains: 1 if they agree, and above 1.05 they do not. The effective size is "
        "how many independent draws would say as much; 50 are few, and 400 are plenty.",
        class_="remark",
    )
    parts = [table("The worst R-hat first", ["quantity", "R-hat", "effective size"], rows)]
    return Section(
        "Have the chains converged?",
        finding,
        joined([explained, *parts, tag("div", *_pictures(evidence), class_="pictures")]),
    )


def _pictures(evidence: Evidence) -> list[Html]:
    posterior = evidence.posterior
    axes = blank_axes(4.4, rows=2)
    plot_trace(posterior, ax=axes)
    pictures = [picture(axes[0], "Traces of the chains, which should lie on top of each other.")]
    if posterior.num_chains > 1 and len(posterior.directions) > 1:
        rhat = np.nan_to_num(evidence.summary["r_hat"].max(), nan=1.0)
        description = (
            "Probabilities that pairs share a component, by the first chain and by the others; "
            f"they should agree. The largest R-hat of all quantities is {rhat:.2f}."
        )
        pictures.append(drawn(4.6, lambda ax: plot_agreement(posterior, ax=ax), description))
    return pictures
