"""Batches chosen point after point, as if the values of the earlier ones were known."""

import math
from collections.abc import Callable
from dataclasses import dataclass

from jax import Array

from structbo.batches.ground_set import GroundSet
from structbo.batches.problem import BatchProblem
from structbo.batches.pure_exploration import most_uncertain
from structbo.models.foundation.arrays import FloatArray
from structbo.models.foundation.values import Value

Lie = Callable[[FloatArray], float]
"""From the observed values (n,) to the value that a point without one is taken to have."""


@dataclass(frozen=True, eq=False, repr=False)
class Hallucination(Value):
    """The criterion's best point, given its best point, and so on.

    Points already chosen, and pending ones, count as evaluated, and the value of each is its
    posterior mean. All means stay as they are, deviations shrink, and the incumbent of an expected
    improvement rises to the best of these means. This is BUCB for a width of beta's schedule, B-EST
    for `EstimationWidth`, and the kriging believer for the expected improvement. With a lie it is
    the constant liar.

    `suggest` and `Optimizer` believe in the means of each draw, and in the function itself: no
    noise remains at a chosen point, so a copy of it promises no gain. `choose_batch` has one mean
    for all draws, and observations with noise; so do lies.

    Args:
        lie: the value that all these points are taken to have, a function of the observed values
            such as `numpy.min`; None for the posterior means.

    References:
        Desautels, Krause and Burdick 2014, Algorithm 2; Kathuria et al. 2016, Algorithm 1;
        Ginsbourger, Le Riche and Carraro 2010, section 4.
    """

    lie: Lie | None = None

    def __post_init__(self) -> None:
        if self.lie is not None and not callable(self.lie):
            raise TypeError(f"lie must be a function such as numpy.min, or None, got {self.lie!r}.")

    def __call__(self, problem: BatchProblem, q: int, key: Array) -> list[int]:
        """Indices of q different available candidates."""
        value = None if self.lie is None else float(self.lie(problem.values))
        ground = problem.with_pending(value)
        best = ground.best(problem.criterion(ground))
        chosen = [best if problem.first is None else problem.first]
        while len(chosen) < q:
            ground = ground.given(chosen[-1], value)
            chosen.append(ground.best(problem.criterion(ground)))
        return chosen


def widening(ground: GroundSet, q: int) -> float:
    """A factor C' by which no deviation shrinks more while a batch is hallucinated.

    ``exp(C)`` with C a bound on what q - 1 observations can tell about the function: the greedy
    information gain divided by ``1 - 1 / e``. Confidence bounds widened by it hold throughout the
    batch. It is close to one after an initial design (`most_uncertain`), and huge without one; in
    practice BUCB is run with 1.

    Args:
        ground: moments at the candidates.
        q: the size of the batch.

    Returns:
        A number not below 1; infinity where the bound is beyond floating point.

    References:
        Desautels, Krause and Burdick 2014, section 4.2, where beta is multiplied by ``exp(2 C)``,
        hence its root by ``exp(C)``; Kathuria et al. 2016, section 3.1, multiply the root by
        ``exp(2 C)``.
    """
    gain, free = 0.0, ground
    for _ in range(min(q - 1, int(ground.available.sum()))):
        (index,) = most_uncertain(free, 1)
        gain += 0.5 * math.log1p(free.covariance[index, index] / free.noise)
        free = free.given(index)
    bound = gain / (1.0 - math.exp(-1.0))
    return math.exp(bound) if bound < 700.0 else math.inf
