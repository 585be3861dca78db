"""What trajectories teach: the length of their steps, and a metric that makes all scales alike."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import jax.numpy as jnp
from jax import Array

TARGET_ACCEPTANCE = 0.8
FIRST_STEP_SIZE, FIRST_DEVIATION = 0.1, 1.0
NUM_EARLY = 30
"""Early trajectories, whose values do not count: a chain that starts far up is on its way."""
FORGETTING = 3.0
"""The t-th value weighs as much as this, divided by t: the first values are soon forgotten."""
NUM_PRIOR_VALUES = 10.0
"""How many values the first guess of the deviations is worth."""
NUM_PER_CORRELATION = 1.0
"""With this number of values for each of P numbers, learned correlations get half the weight."""
LEAST_CURVATURE = 1e-12
"""The least that is told from rounding errors, in units of the largest."""
STABILITY, SHRINKAGE = 10.0, 0.05
"""How many values damp the first changes of the step, and how hard it is pulled to a large one."""


class Adaptation(NamedTuple):
    """The step size and the metric that a chain has learned from values on the real numbers.

    Args:
        step_size: in units of the deviations, averaged over what was tried.
        trial: the step size to try next.
        error: how far acceptance fell short of its target so far, on average.
        mean: of the values, shape (P,).
        covariance: of the values, shape (P, P), or their variances alone, shape (P,).
        curvature: the average of products of the potential's derivatives, shape (P, P), or None
            where correlations are not learned.
        num_values: how many were seen.
    """

    step_size: Array
    trial: Array
    error: Array
    mean: Array
    covariance: Array
    curvature: Array | None
    num_values: Array

    @classmethod
    def first(cls, size: int, *, is_dense: bool) -> "Adaptation":
        """The first guess for P numbers; ``is_dense`` says whether correlations are learned."""
        step, zero = jnp.array(FIRST_STEP_SIZE), jnp.array(0.0)
        covariance = FIRST_DEVIATION**2 * (jnp.eye(size) if is_dense else jnp.ones(size))
        curvature = jnp.eye(size) / FIRST_DEVIATION**2 if is_dense else None
        return cls(step, step, zero, jnp.zeros(size), covariance, curvature, zero)

    def stretch(self, factors: Sequence[int] = ()) -> Callable[[Array], Array]:
        """The linear map from steps (P,) of a normal distribution to such steps of the values.

        The map gives values and derivatives of the potential the same covariance, as a root of the
        covariance does for a normal distribution. On a bent ridge it is a compromise between the
        length and the width. While values are few, their correlations are shrunk towards the
        correlations of numbers that are independent given the factors. Derivatives need no
        shrinkage, since each trajectory has many.

        Args:
            factors: which of the numbers multiply others.
        """
        if self.curvature is None:
            deviation = jnp.sqrt(self.covariance)
            return lambda step: deviation * step
        count = num_counted(self.num_values)
        share = count / (count + NUM_PER_CORRELATION * len(self.covariance))
        target = independent_given(self.covariance, factors)
        root = jnp.linalg.cholesky(share * self.covariance + (1.0 - share) * target)
        lengths, directions = jnp.linalg.eigh(root.T @ self.curvature @ root)
        factor = root @ directions / jnp.maximum(lengths, LEAST_CURVATURE * lengths[-1]) ** 0.25
        return lambda step: factor @ step

    def learned(
        self, position: Array, curvature: Array, accept_prob: Array, moved: Array
    ) -> "Adaptation":
        """The adaptation after one more trajectory.

        Args:
            position: where it ended, shape (P,).
            curvature: the average of products of the derivatives on the way, shape (P, P). It
                counts by the next: where a trajectory is rejected, the posterior is not.
            accept_prob: of its end.
            moved: which of the numbers moved, bool, shape (P,). Only these are learned from.
        """
        num_values = self.num_values + 1.0
        weight = 1.0 / (num_values + STABILITY)
        error = self.error + weight * (TARGET_ACCEPTANCE - accept_prob - self.error)
        log_trial = jnp.log(10.0 * FIRST_STEP_SIZE) - jnp.sqrt(num_values) / SHRINKAGE * error
        change = num_values**-0.75 * (log_trial - jnp.log(self.step_size))
        count = num_counted(num_values)
        away = position - self.mean
        mean = self.mean + jnp.minimum(FORGETTING / (count + FORGETTING - 1.0), 1.0) * away
        share = jnp.where(count > 0.0, FORGETTING / (count + FORGETTING + NUM_PRIOR_VALUES), 0.0)
        of_pairs = jnp.multiply if self.curvature is None else jnp.outer
        share = jnp.where(of_pairs(moved, moved), share, 0.0)
        product = of_pairs(away, position - mean)
        covariance = self.covariance + share * (product - self.covariance)
        step_size, trial = self.step_size * jnp.exp(change), jnp.exp(log_trial)
        curvature_learned = self.curvature
        if self.curvature is not None:
            difference = jnp.where(accept_prob > 0.0, curvature - self.curvature, 0.0)
            curvature_learned = self.curvature + share * accept_prob * difference
        return Adaptation(step_size, trial, error, mean, covariance, curvature_learned, num_values)

    def renewed(self, where: Array) -> "Adaptation":
        """Starts to learn again, from the present metric as the first guess.

        Args:
            where: whether to start again; otherwise the adaptation stays the same.
        """
        num_values = jnp.minimum(self.num_values, NUM_EARLY)
        return self._replace(num_values=jnp.where(where, num_values, self.num_values))


def num_counted(num_values: Array) -> Array:
    """How many of the values seen, all but the early ones, tell of mean and covariance."""
    return jnp.maximum(num_values - NUM_EARLY, 0.0)


def independent_given(covariance: Array, factors: Sequence[int]) -> Array:
    """The covariance (P, P) of numbers that are independent given some of them.

    Example:
        >>> covariance = jnp.array([[1.0, 0.5, 0.5], [0.5, 1.0, 0.9], [0.5, 0.9, 1.0]])
        >>> independent_given(covariance, [0])[1].tolist()
        [0.5, 1.0, 0.25]
    """
    of = jnp.array(factors, int)
    with_factors = covariance[:, of]
    explained = with_factors @ jnp.linalg.solve(with_factors[of], with_factors.T)
    return explained + jnp.diag(jnp.diagonal(covariance - explained))
