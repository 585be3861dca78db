"""Two-stage batches: exploration first, then confidence bounds that hold throughout a batch."""

import math
from dataclasses import dataclass

import numpy as np
from jax import Array
from jaxtyping import Key

from structbo.batches.criteria import ConfidenceBound, width_at
from structbo.batches.hallucination import widening
from structbo.batches.problem import BatchProblem
from structbo.batches.pure_exploration import most_uncertain
from structbo.models.foundation.arguments import checked_count


@dataclass(frozen=True)
class TwoStage:
    """The most uncertain points first, then maxima of widened confidence bounds.

    The batches of the first stage have the most uncertain points, each given the ones before. In
    the second stage, every point of a batch, also the first, maximizes a confidence bound whose
    width is multiplied by `widening`, given the posterior means at earlier points. The first stage
    makes this factor small. The criterion `UCB` gives two-stage BUCB, and `EST` two-stage B-EST.

    Args:
        num_uncertain: number of observations and pending points below which a batch belongs to the
            first stage, ``T_init``.

    References:
        Desautels, Krause and Burdick 2014, section 4.3; Kathuria et al. 2016, algorithm 1 and
        theorem 3.2.
    """

    num_uncertain: int = 10

    def __post_init__(self) -> None:
        checked_count("num_uncertain", self.num_uncertain, least=0)

    def __call__(self, problem: BatchProblem, q: int, key: Key[Array, ""]) -> list[int]:
        """Indices of q different available candidates."""
        ground, num_pending = problem.hallucinated, len(problem.pending)
        if len(problem.values) + num_pending < self.num_uncertain:
            return most_uncertain(ground, q)
        if num_pending + q == 1 and problem.first is not None:
            return [problem.first]
        factor = widening(problem.ground, num_pending + q)
        chosen: list[int] = []
        for _ in range(q):
            width = factor * width_at(problem.width, ground)
            is_finite = math.isfinite(width)
            scores = ConfidenceBound(width)(ground) if is_finite else ground.deviation
            chosen.append(ground.best(np.asarray(scores)))
            ground = ground.given(chosen[-1])
        return chosen
