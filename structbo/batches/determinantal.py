"""Batches from determinantal point processes whose kernel is the posterior covariance.

After the first point, chosen by the criterion, the others come from the (q - 1)-DPP of
``I + K / noise`` on the relevance region, K being the posterior covariance given the first point.
"""

from dataclasses import dataclass

import numpy as np
from jax import Array
from numpy.typing import NDArray

from structbo.batches.problem import BatchProblem
from structbo.data import padded_size
from structbo.models.foundation.arguments import check_fraction
from structbo.models.foundation.arrays import FloatArray
from structbo.samplers import greedy_kdpp, sample_kdpp, sample_kdpp_heat_bath

LEAST_SIZE = 256
"""Least padded size of a kernel. Regions differ from batch to batch, and each size is compiled."""


@dataclass(frozen=True)
class DPPMax:
    """The greedy approximation of the most probable set: equal to `PureExploration`.

    References:
        Kathuria et al. 2016, Algorithm 2 (DPP-MAX) and section 3.2.
    """

    def __call__(self, problem: BatchProblem, q: int, key: Array) -> list[int]:
        """Indices of q different available candidates."""
        items, kernel = batch_kernel(problem, q)
        return [problem.start, *items[np.asarray(greedy_kdpp(kernel, q - 1))].tolist()]


@dataclass(frozen=True)
class DPPSample:
    """A random set; sets of informative points are more probable.

    Args:
        accuracy: bound on the total variation distance of a Markov chain to the process; None for
            the exact sampler, which takes an eigendecomposition of the whole region.

    References:
        Kathuria et al. 2016, Algorithm 2 (DPP-SAMPLE) and section 4 (accuracy 0.01).
    """

    accuracy: float | None = None

    def __post_init__(self) -> None:
        if self.accuracy is not None:
            check_fraction("accuracy", self.accuracy)

    def __call__(self, problem: BatchProblem, q: int, key: Array) -> list[int]:
        """Indices of q different available candidates."""
        items, kernel = batch_kernel(problem, q)
        if self.accuracy is None:
            drawn = sample_kdpp(key, kernel, q - 1)
        else:
            drawn = sample_kdpp_heat_bath(key, kernel, q - 1, accuracy=self.accuracy)
        return [problem.start, *items[np.asarray(drawn)].tolist()]


def batch_kernel(problem: BatchProblem, q: int) -> tuple[NDArray[np.intp], FloatArray]:
    """The relevance region without the first point, and the DPP kernel there.

    Args:
        problem: what to choose from.
        q: the size of the batch.

    Returns:
        Indices of the region's candidates, shape (r,), and the kernel, padded with zeros, which no
        set of positive probability contains, shape (size, size).

    References:
        Kathuria et al. 2016, section 3.2.
    """
    items = np.flatnonzero(problem.region(q - 1))
    covariance = problem.hallucinated.given(problem.start).covariance[np.ix_(items, items)]
    kernel = np.zeros((max(padded_size(len(items)), LEAST_SIZE),) * 2)
    kernel[: len(items), : len(items)] = np.eye(len(items)) + covariance / problem.ground.noise
    return items, kernel
