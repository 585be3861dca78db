"""A warning where chains have not converged."""

import warnings

from structbo.posterior.draws import PosteriorDraws
from structbo.posterior.summary import summary_table

MAX_RHAT, MIN_EFFECTIVE_DRAWS = 1.05, 50.0
"""Chains are trusted up to this R-hat, and from this effective sample size."""


class ConvergenceWarning(UserWarning):
    """Chains have not converged, or have too few effective draws."""


def warn_unless_converged(posterior: PosteriorDraws) -> None:
    """Warns, naming the worst quantities of the summary, unless R-hat and effective sizes are good.

    With one chain, or too few draws for ArviZ to judge, nothing is known of what is NaN.
    """
    table = summary_table(posterior).dropna(subset="ess_bulk")
    problems = []
    if (table["r_hat"] > MAX_RHAT).any():
        worst = table["r_hat"].idxmax()
        problems.append(f"R-hat of {worst} is {table.loc[worst, 'r_hat']:.3g}")
    if (table["ess_bulk"] < MIN_EFFECTIVE_DRAWS).any():
        worst = table["ess_bulk"].idxmin()
        problems.append(
            f"{worst} has {table.loc[worst, 'ess_bulk']:.0f} effective draws of "
            f"{posterior.num_draws}"
        )
    if problems:
        warnings.warn(
            f"the chains have not converged: {', and '.join(problems)}; see `summary`. Raise "
            "num_warmup and num_samples. Where R-hat stays high there may be several modes: pass "
            "sampler=structbo.samplers.ParallelTempering.",
            ConvergenceWarning,
            stacklevel=3,
        )
