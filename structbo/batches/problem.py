"""The choice of a batch: the problem that strategies solve, and `choose_batch`."""

from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np
from jax import Array
from jaxtyping import Bool, Float, Int, Key

from structbo.batches.criteria import ConfidenceBound, Score, Width, width_at
from structbo.batches.ground_set import GroundSet
from structbo.data import Data, checked_points
from structbo.models import ConditionedGP
from structbo.models.foundation.arguments import checked_count


@dataclass(frozen=True)
class BatchProblem:
    """The candidates of a batch, and their scores.

    Args:
        ground: moments at the candidates and at the pending points, which are not available.
        posteriors: the process of each draw, stacked along the first axis.
        values: observed values.
        pending: indices of the pending points.
        criterion: scores single points. In `suggest` this is the `JointCriterion`, or the
            confidence bound with this batch's width if the criterion is a sum over components.
        width: the square root of beta of this batch, or a function from candidates to it.
        next_width: the same of the next batch.
        first: the first point of the batch, or None for the criterion's best.
    """

    ground: GroundSet
    posteriors: ConditionedGP
    values: Float[np.ndarray, " n"]
    pending: Int[np.ndarray, " p"]
    criterion: Score
    width: Width
    next_width: Width
    first: int | None

    @property
    def opening(self) -> int | None:
        """The first point, for strategies that treat pending points as the start of the batch.

        None if there are pending points.
        """
        return None if len(self.pending) else self.first

    def with_pending(self, value: float | None = None) -> GroundSet:
        """The moments given a value at all pending points; None for their posterior means."""
        ground = self.ground
        for index in self.pending:
            ground = ground.given(int(index), value)
        return ground

    @cached_property
    def hallucinated(self) -> GroundSet:
        """The moments once all pending points have their means as values."""
        return self.with_pending()

    @cached_property
    def start(self) -> int:
        """The first point of the batch."""
        scores = self.criterion(self.hallucinated)
        return self.ground.best(scores) if self.first is None else self.first

    @property
    def relevance(self) -> Float[np.ndarray, " m"]:
        """How far each candidate's upper bound is above the best lower bound.

        The bounds are ``next_width * 2`` and ``width`` deviations away from the mean.
        """
        mean, deviation = self.hallucinated.mean, self.hallucinated.deviation
        width, next_width = (width_at(w, self.ground) for w in (self.width, self.next_width))
        best_lower = (mean - width * deviation).max()
        return mean + 2.0 * next_width * deviation - best_lower

    def region(self, at_least: int) -> Bool[np.ndarray, " m"]:
        """The relevance region: candidates that may turn out to be the best.

        Args:
            at_least: how many available candidates, other than the first point, to include even if
                they are not relevant, the most relevant of them.

        References:
            Contal et al. 2013, section 3; Kathuria et al. 2016, section 3.2.
        """
        relevance = np.where(self.ground.available, self.relevance, -np.inf)
        relevance[self.start] = -np.inf
        kept = min(at_least, len(relevance))
        threshold = np.partition(relevance, -kept)[-kept] if kept else np.inf
        region: Bool[np.ndarray, " m"] = np.isfinite(relevance) & (relevance >= min(threshold, 0.0))
        return region


class BatchStrategy(Protocol):
    """Chooses a batch."""

    def __call__(self, problem: BatchProblem, q: int, key: Key[Array, ""]) -> list[int]:
        """Indices of q different available candidates.

        Args:
            problem: what to choose from.
            q: the size of the batch, at most the number of available candidates.
            key: a JAX random key.
        """
        ...


def choose_batch(
    strategy: BatchStrategy,
    posteriors: ConditionedGP,
    data: Data,
    points: Float[np.ndarray, "m D"],
    q: int,
    *,
    key: Key[Array, ""],
    width: Width,
    next_width: Width | None = None,
    criterion: Score | None = None,
    first: int | None = None,
    pending: Float[np.ndarray, "p D"] | None = None,
) -> Int[np.ndarray, " {q}"]:
    """Chooses q candidates to evaluate at once.

    Args:
        strategy: the batch strategy, for example ``DPPSample()``.
        posteriors: the processes of the draws, stacked along the first axis.
        data: the observations that they are conditioned on.
        points: candidates in the unit cube; equal ones count once.
        q: size of the batch.
        key: a JAX random key.
        width: the square root of this batch's exploration parameter beta;
            ``EstimationWidth(maximum)`` for EST.
        next_width: the square root of beta of the next batch, for the relevance region; None for
            `width`.
        criterion: scores single points; None for the upper confidence bound.
        first: index of the first point; None for the criterion's best.
        pending: points being evaluated, treated like earlier points of the batch.

    Returns:
        Indices of q candidates at different points that are not pending.

    Raises:
        TypeError: if the strategy or the criterion is of the wrong kind.
        ValueError: if there are fewer than q such candidates, an argument is out of range, or the
            strategy did not choose q different available candidates.
    """
    for name, given in (("strategy", strategy), ("criterion", criterion)):
        if given is not None and (isinstance(given, type) or not callable(given)):
            raise TypeError(f"{name} must be an instance from structbo.batches, got {given!r}.")
    q = checked_count("q", q)
    num_dims = data.x.shape[1]
    points = checked_points("points", points, num_dims)
    if pending is None or len(pending) == 0:
        pending = points[:0]
    pending = checked_points("pending", pending, num_dims)
    # Pending points come first, so that equal candidates are not available.
    ground = GroundSet.of(posteriors, np.concatenate([pending, points]))
    for index in range(len(pending)):
        ground = ground.without(index)
    room = int(ground.available.sum())
    if q > room:
        raise ValueError(
            f"q must be between 1 and the {room} different candidates that are not pending, got "
            f"{q}: add candidates or ask for fewer."
        )
    if first is not None:
        if not 0 <= first < len(points) or not ground.available[first + len(pending)]:
            raise ValueError(
                f"first must be the index of an available candidate, got {first}: only the first "
                "of equal candidates is available, and pending ones are not."
            )
        first += len(pending)
    next_width = width if next_width is None else next_width
    for name, own in (("width", width), ("next_width", next_width)):
        value = width_at(own, ground)
        if not (np.isfinite(value) and value >= 0.0):
            raise ValueError(f"{name} must be finite and not negative, got {value}.")
    problem = BatchProblem(
        ground=ground,
        posteriors=posteriors,
        values=np.asarray(data.y)[np.asarray(data.mask)],
        pending=np.arange(len(pending)),
        criterion=ConfidenceBound(width) if criterion is None else criterion,
        width=width,
        next_width=next_width,
        first=first,
    )
    chosen = np.asarray(strategy(problem, q, key), np.intp)
    if len(set(chosen.tolist()) & set(np.flatnonzero(ground.available))) < q or len(chosen) > q:
        raise ValueError(
            f"strategy must choose {q} different available candidates, got {chosen.tolist()} from "
            f"{strategy!r}."
        )
    return chosen - len(pending)
