"""Batches by local penalization: chosen points exclude balls around them."""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jaxtyping import Float, Key
from scipy.special import log_ndtr

from structbo.batches.ground_set import GroundSet
from structbo.batches.problem import BatchProblem
from structbo.data import padded
from structbo.models import ConditionedGP
from structbo.models.foundation.arguments import check_positive
from structbo.models.foundation.precision import double_precision


@dataclass(frozen=True)
class LocalPenalization:
    """Maximizes the criterion times the probability that no chosen point excludes a candidate.

    A function with Lipschitz constant L and maximum M has no maximizer within ``(M - f(x_j)) / L``
    of x_j. L is estimated by the largest gradient of the posterior mean at the candidates, M by the
    largest observed value. A criterion with negative scores is made positive by ``log(1 +
    exp(score))``. Pending points exclude candidates like chosen ones.

    Args:
        lipschitz: the Lipschitz constant, if known.

    References:
        Gonzalez, Dai, Hennig and Lawrence 2016, eq. (5) to (9).
    """

    lipschitz: float | None = None

    def __post_init__(self) -> None:
        if self.lipschitz is not None:
            check_positive("lipschitz", self.lipschitz)

    def __call__(self, problem: BatchProblem, q: int, key: Key[Array, ""]) -> list[int]:
        """Indices of q different available candidates."""
        ground, constant = problem.ground, self.lipschitz
        if constant is None:
            constant = lipschitz_constant(problem.posteriors, ground.points)
        scores = problem.criterion(ground)
        positive = scores if scores.min() >= 0.0 else np.logaddexp(0.0, scores)
        log_scores = np.log(np.maximum(positive, np.finfo(float).tiny))
        maximum = problem.values.max()
        for pending in problem.pending:
            log_scores = log_scores + log_penalty(ground, pending, constant, maximum)
        opening = problem.opening
        chosen = [ground.best(log_scores) if opening is None else opening]
        while len(chosen) < q:
            log_scores = log_scores + log_penalty(ground, chosen[-1], constant, maximum)
            ground = ground.without(chosen[-1])
            chosen.append(ground.best(log_scores))
        return chosen


def log_penalty(
    ground: GroundSet, index: int, lipschitz: float, maximum: float
) -> Float[np.ndarray, " m"]:
    """Log probability of each candidate to be outside the ball of candidate index."""
    distance = np.linalg.norm(ground.points - ground.points[index], axis=1)
    deviation = max(float(ground.deviation[index]), 1e-12)
    z = (lipschitz * distance - maximum + ground.mean[index]) / deviation
    penalty: Float[np.ndarray, " m"] = log_ndtr(z)
    return penalty


def lipschitz_constant(posteriors: ConditionedGP, points: Float[np.ndarray, "m D"]) -> float:
    """The largest gradient norm at points of the posterior mean averaged over draws."""
    with double_precision():
        return max(float(_largest_slope(posteriors, jnp.asarray(padded(points)))), 1e-7)


@jax.jit
def _largest_slope(posteriors: ConditionedGP, x: Float[Array, "m D"]) -> Float[Array, ""]:
    def total_mean(x: Array) -> Array:
        return jax.lax.map(lambda p: p.predict(x)[0].sum(), posteriors).mean()

    return jnp.linalg.norm(jax.grad(total_mean)(x), axis=1).max()
