"""Batches from determinantal point processes with the posterior covariance as the kernel.

The criterion chooses the first point. The others come from the (q - 1)-DPP of ``I + K / noise`` on
the relevance region, with K the posterior covariance given the first point.
"""

from dataclasses import dataclass

import numpy as np
from jax import Array
from jaxtyping import Float, Int, Key

from structbo.batches.problem import BatchProblem
from structbo.data import padded_size
from structbo.models.foundation.arguments import check_fraction
from structbo.samplers import greedy_kdpp, sample_kdpp, sample_kdpp_heat_bath

LEAST_SIZE = 256
"""Minimum padded size of a kernel, to limit compilations: region sizes differ between batches."""


@dataclass(frozen=True)
class DPPMax:
    """The greedy approximation of the most probable set, which equals `PureExploration`.

    References:
        Kathuria et al. 2016, Algorithm 2 (DPP-MAX) and section 3.2.
    """

    def __call__(self, problem: BatchProblem, q: int, key: Key[Array, ""]) -> list[int]:
        """Indices of q different available candidates."""
        items, kernel = batch_kernel(problem, q)
        return [problem.start, *items[np.asarray(greedy_kdpp(kernel, q - 1))].tolist()]


@dataclass(frozen=True)
class DPPSample:
    """A random set, with higher probability for sets of informative points.

    Args:
        accuracy: bound on the total variation distance between a Markov chain and the process; None
            for the exact sampler, which needs an eigendecomposition of the kernel.

    References:
        Kathuria et al. 2016, Algorithm 2 (DPP-SAMPLE) and section 4 (accuracy 0.01).
    """

    accuracy: float | None = None

    def __post_init__(self) -> None:
        if self.accuracy is not None:
            check_fraction("accuracy", self.accuracy)

    def __call__(self, problem: BatchProblem, q: int, key: Key[Array, ""]) -> list[int]:
        """Indices of q different available candidates."""
        items, kernel = batch_kernel(problem, q)
        if self.accuracy is None:
            drawn = sample_kdpp(key, kernel, q - 1)
        else:
            drawn = sample_kdpp_heat_bath(key, kernel, q - 1, accuracy=self.accuracy)
        return [problem.start, *items[np.asarray(drawn)].tolist()]


def batch_kernel(
    problem: BatchProblem, q: int
) -> tuple[Int[np.ndarray, " r"], Float[np.ndarray, "size size"]]:
    """The relevance region without the first point, and the DPP kernel there.

    Args:
        problem: what to choose from.
        q: the size of the batch.

    Returns:
        Indices of the candidates in the region, and the kernel. Padding rows are zero, so sets with
        them have probability zero.

    References:
        Kathuria et al. 2016, section 3.2.
    """
    items = np.flatnonzero(problem.region(q - 1))
    covariance = problem.hallucinated.given(problem.start).covariance[np.ix_(items, items)]
    kernel = np.zeros((max(padded_size(len(items)), LEAST_SIZE),) * 2)
    kernel[: len(items), : len(items)] = np.eye(len(items)) + covariance / problem.ground.noise
    return items, kernel
