"""Sequential batches, in which points without values count as evaluated."""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from jax import Array
from jaxtyping import Float, Key

from structbo.batches.ground_set import GroundSet
from structbo.batches.information import greedy_information_gain
from structbo.batches.problem import BatchProblem
from structbo.models.foundation.values import Value

Lie = Callable[[Float[np.ndarray, " n"]], float]
"""A function from the observed values to the value assumed at points without one."""


@dataclass(frozen=True, eq=False, repr=False)
class Hallucination(Value):
    """Sequential maximization of the criterion, with assumed values at points chosen before.

    Chosen and pending points count as evaluated, with their posterior means as values. Means do not
    change, standard deviations shrink, and the incumbent of an expected improvement rises to the
    best of these means. This is BUCB with a width from beta's schedule, B-EST with
    `EstimationWidth`, and the kriging believer with the expected improvement. With a lie it is the
    constant liar.

    `suggest` and `Optimizer` condition each draw on its own means, as noise-free values of the
    function, so a copy of a chosen point has no expected gain. `choose_batch` and lies use one
    value for all draws, as a noisy observation.

    Args:
        lie: a function from the observed values to the assumed value of all these points, such as
            `numpy.min`; None for the posterior means.

    References:
        Desautels, Krause and Burdick 2014, Algorithm 2; Kathuria et al. 2016, Algorithm 1;
        Ginsbourger, Le Riche and Carraro 2010, section 4.
    """

    lie: Lie | None = None

    def __post_init__(self) -> None:
        if self.lie is not None and not callable(self.lie):
            raise TypeError(f"lie must be a function such as numpy.min, or None, got {self.lie!r}.")

    def __call__(self, problem: BatchProblem, q: int, key: Key[Array, ""]) -> list[int]:
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
    """A bound C' on the factor by which standard deviations shrink in a hallucinated batch.

    It is ``exp(C)`` with C a bound on the information gain of q - 1 observations: the greedy gain
    divided by ``1 - 1 / e``. Confidence bounds widened by it hold throughout the batch. It is close
    to one after an initial design (`most_uncertain`) and very large without; in practice BUCB is
    run with 1.

    Args:
        ground: moments at the candidates.
        q: the size of the batch.

    Returns:
        A number of at least 1; infinity if the bound overflows.

    References:
        Desautels, Krause and Burdick 2014, section 4.2, where beta is multiplied by ``exp(2 C)``,
        hence its root by ``exp(C)``; Kathuria et al. 2016, section 3.1, multiply the root by
        ``exp(2 C)``.
    """
    free = ground.covariance[np.ix_(ground.available, ground.available)]
    gain = greedy_information_gain(free, ground.noise, q - 1)
    bound = gain / (1.0 - math.exp(-1.0))
    return math.exp(bound) if bound < 700.0 else math.inf
