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
"""Largest R-hat and smallest effective sample size that raise no warning."""


class ConvergenceWarning(UserWarning):
    """Chains have not converged, or have too few effective draws."""


def convergence_problems(summary: "pd.DataFrame", num_draws: int) -> list[str]:
    """Sentences about the worst R-hat and effective sample size, if out of bounds.

    Values that are NaN, as with one chain or too few draws for ArviZ, are ignored.

    Args:
        summary: `Posterior.summary`.
        num_draws: total number of draws in all chains.
    """
    table = summary.dropna(subset="ess_bulk")
    problems = []
    if (table["r_hat"] > MAX_RHAT).any():
        worst = table["r_hat"].idxmax()
        problems.append(f"R-hat of {worst} is {table.loc[worst, 'r_hat']:.3g}")
    if (table["ess_bulk"] < MIN_EFFECTIVE_DRAWS).any():
        worst = table["ess_bulk"].idxmin()
        problems.append(
            f"{worst} has {table.loc[worst, 'ess_bulk']:.0f} effective draws of {num_draws}"
        )
    return problems


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
