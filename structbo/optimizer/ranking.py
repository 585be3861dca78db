"""Trials ranked by the posterior at their points."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import compress

from structbo.data import Trial, unit_points
from structbo.posterior import Posterior
from structbo.proposal import is_new


@dataclass(frozen=True)
class Estimate:
    """The posterior of the objective at the point of a trial, without noise.

    Args:
        trial: the first trial at this point.
        mean: posterior mean of the objective there, in its units.
        deviation: posterior standard deviation of the objective there.
    """

    trial: Trial
    mean: float
    deviation: float


def best_estimates(trials: Sequence[Trial], posterior: Posterior, sign: float) -> list[Estimate]:
    """One estimate per point, the best mean first.

    Args:
        trials: the complete trials.
        posterior: a posterior in the units of the objective.
        sign: 1 to maximize, -1 to minimize.
    """
    space = posterior.units.space
    x = unit_points(space, [t.params for t in trials], "params")
    first = list(compress(trials, is_new(x, x[:0])))
    found = posterior.describe([t.params for t in first])
    moments = zip(found.mean.tolist(), found.deviation.tolist(), strict=True)
    estimates = [Estimate(t, *both) for t, both in zip(first, moments, strict=True)]
    return sorted(estimates, key=lambda estimate: -sign * estimate.mean)
