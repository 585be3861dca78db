"""A warning about chains that have not converged."""

import inspect
import warnings
from typing import TYPE_CHECKING

import numpy as np

from structbo.posterior.draws import PosteriorDraws
from structbo.posterior.summary import summary_table

if TYPE_CHECKING:
    import pandas as pd

MAX_RHAT, MIN_EFFECTIVE_DRAWS = 1.05, 50.0
"""Largest R-hat and smallest effective sample size of a number that raise no warning."""
MAX_ERROR = 0.5 / MIN_EFFECTIVE_DRAWS**0.5
"""Largest Monte Carlo error of a probability that raises no warning: the error of as many draws of
an event that is as likely as not."""


class ConvergenceWarning(UserWarning):
    """Chains have not converged, or have too few effective draws."""


def least_accurate(summary: "pd.DataFrame") -> dict[str, str]:
    """The quantities that chains compute least accurately, if not accurately enough.

    Numbers are judged by R-hat and by effective sample size. The probabilities of events, such as
    edges, are judged by their Monte Carlo errors: a rare event happens in few draws, so that its
    R-hat is large by chance, although its probability is known to be small.

    Values that are NaN, as with one chain or too few draws for ArviZ, are ignored.

    Args:
        summary: `Posterior.summary`.

    Returns:
        Labels of rows, by the columns whose bounds they exceed: ``r_hat``, ``ess_bulk`` or
        ``mcse_mean``.
    """
    is_event = summary.index.isin(summary.attrs.get("events", []))
    is_computed = summary["ess_bulk"].notna()
    numbers, events = summary[~is_event & is_computed], summary[is_event & is_computed]
    found = {}
    if (numbers["r_hat"].round(2) > MAX_RHAT).any():
        found["r_hat"] = str(numbers["r_hat"].idxmax())
    if (numbers["ess_bulk"].round() < MIN_EFFECTIVE_DRAWS).any():
        found["ess_bulk"] = str(numbers["ess_bulk"].idxmin())
    if (events["mcse_mean"].round(2) > MAX_ERROR).any():
        found["mcse_mean"] = str(events["mcse_mean"].idxmax())
    return found


def convergence_problems(summary: "pd.DataFrame", num_draws: int) -> list[str]:
    """Sentences about what chains do not compute accurately enough, see `least_accurate`.

    Args:
        summary: `Posterior.summary`.
        num_draws: total number of draws in all chains.
    """
    texts = {
        "r_hat": "R-hat of {label} is {value:.3g}",
        "ess_bulk": f"{{label}} has {{value:.0f}} effective draws of {num_draws}",
        "mcse_mean": "the probability of {label} has a Monte Carlo error of {value:.2f}",
    }
    return [
        texts[column].format(label=label, value=summary.loc[label, column])
        for column, label in least_accurate(summary).items()
    ]


def chains_outside(posterior: PosteriorDraws) -> list[str]:
    """A sentence about chains that end where the density is zero, if there are any.

    Their structures break a bound of the model, and warm-up has not led them inside.
    """
    energy = posterior.sample_stats.get("energy")
    count = 0 if energy is None else np.count_nonzero(~np.isfinite(energy[:, -1]))
    return [f"{count} of {posterior.num_chains} end where the density is zero"] if count else []


def warn_unless_converged(posterior: PosteriorDraws) -> None:
    """Warns of all problems of the chains, at the caller's line outside of this package."""
    problems = chains_outside(posterior)
    if problems := problems + convergence_problems(summary_table(posterior), posterior.num_draws):
        warnings.warn(
            f"the chains have not converged: {', and '.join(problems)}; see `summary`. Raise "
            "num_warmup and num_samples. If R-hat stays high, the posterior may have several "
            "modes: pass sampler=structbo.samplers.ParallelTempering.",
            ConvergenceWarning,
            stacklevel=_level_of_caller(),
        )


def _level_of_caller() -> int:
    """The `stacklevel`, for the calling function, of the first frame outside the package."""
    names = [frame.frame.f_globals.get("__name__", "") for frame in inspect.stack(context=0)[1:]]
    inside = [name.partition(".")[0] == "structbo" for name in names]
    return inside.index(False) + 1 if False in inside else len(inside)
