"""Trials in the order of what the posterior says of their points."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import compress

import numpy as np

from structbo.data import Trial, unit_points
from structbo.posterior import Posterior
from structbo.proposal import is_new


@dataclass(frozen=True)
class Estimate:
    """The posterior of the objective at the point of a trial, without noise.

    Args:
        trial: the first one at this point.
        mean: of the objective there, in its units.
        deviation: its standard deviation.
    """

    trial: Trial
    mean: float
    deviation: float


def best_estimates(trials: Sequence[Trial], posterior: Posterior, sign: float) -> list[Estimate]:
    """One estimate for every point, the best mean first.

    Args:
        trials: those that are complete.
        posterior: in the units of the objective.
        sign: 1 if large values are good, -1 if small ones are.
    """
    space = posterior.units.space
    x = unit_points(space, [t.params for t in trials], "params")
    first = list(compress(trials, is_new(x, x[:0])))
    mean, variance = posterior.predict([t.params for t in first])
    moments = zip(mean.tolist(), np.sqrt(variance).tolist(), strict=True)
    estimates = [Estimate(t, *both) for t, both in zip(first, moments, strict=True)]
    return sorted(estimates, key=lambda estimate: -sign * estimate.mean)
