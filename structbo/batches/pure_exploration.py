"""Batches that explore: sequential maxima of the posterior standard deviation."""

from dataclasses import dataclass

import numpy as np
from jax import Array
from jaxtyping import Bool, Key

from structbo.batches.ground_set import GroundSet
from structbo.batches.problem import BatchProblem


def most_uncertain(
    ground: GroundSet, number: int, region: Bool[np.ndarray, " m"] | None = None
) -> list[int]:
    """Candidates chosen sequentially, each the most uncertain given the ones before.

    Over all candidates, this is the initial design of two-stage BUCB.

    Args:
        ground: moments at the candidates.
        number: how many candidates to choose.
        region: candidates that may be chosen. Default: all available ones.

    Returns:
        Indices of different candidates.

    Raises:
        ValueError: if fewer candidates are available.

    References:
        Desautels, Krause and Burdick 2014, section 4.3 (initialization).
    """
    room = int((ground.available if region is None else ground.available & region).sum())
    if number > room:
        raise ValueError(f"number must be at most the {room} available candidates, got {number}.")
    chosen: list[int] = []
    for _ in range(number):
        chosen.append(ground.best(ground.deviation, region))
        ground = ground.given(chosen[-1])
    return chosen


@dataclass(frozen=True)
class PureExploration:
    """The criterion's best point, then the most uncertain points of the relevance region.

    This is UCB-PE with a width from beta's schedule, and EST-PE with `EstimationWidth`.

    References:
        Contal et al. 2013, Algorithm 1; Kathuria et al. 2016, section 3.2.
    """

    def __call__(self, problem: BatchProblem, q: int, key: Key[Array, ""]) -> list[int]:
        """Indices of q different available candidates."""
        first = problem.start
        ground = problem.hallucinated.given(first)
        return [first, *most_uncertain(ground, q - 1, problem.region(q - 1))]
