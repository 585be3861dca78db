"""Adaptation of Hamiltonian moves: the step size, and a metric that equalizes scales."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import jax.numpy as jnp
from jax import Array
from jaxtyping import Bool, Float

TARGET_ACCEPTANCE = 0.8
FIRST_STEP_SIZE, FIRST_DEVIATION = 0.1, 1.0
NUM_EARLY = 30
"""Number of early trajectories that the metric ignores, as the chain approaches the posterior."""
FORGETTING = 3.0
"""Forgetting rate: the t-th value has a weight of about this divided by t."""
NUM_PRIOR_VALUES = 10.0
"""Weight of the initial covariance, as a number of values."""
NUM_PER_CORRELATION = 1.0
"""Number of values per parameter at which learned correlations get half the weight."""
GRADIENTS_PER_VALUE = 3.0
"""Number of independent gradients of a trajectory; successive ones are nearly equal."""
LEAST_CURVATURE = 1e-12
"""Lower bound of a curvature relative to the largest, against rounding errors."""
STABILITY, SHRINKAGE = 10.0, 0.05
"""Dual averaging's t0, which damps early changes, and gamma, the pull towards a large step size."""


class Adaptation(NamedTuple):
    """The step size and the metric that a chain has learned from unconstrained values.

    Args:
        step_size: average of the trial step sizes, in posterior standard deviations.
        trial: step size of the next trajectory in the warm-up.
        error: mean shortfall of the acceptance probability from its target.
        mean: mean of the values.
        covariance: covariance of the values, or their variances for a diagonal metric.
        curvature: mean outer product of the potential's gradients; None for a diagonal metric.
        num_values: number of values seen.
    """

    step_size: Float[Array, ""]
    trial: Float[Array, ""]
    error: Float[Array, ""]
    mean: Float[Array, " P"]
    covariance: Float[Array, "P P"] | Float[Array, " P"]
    curvature: Float[Array, "P P"] | None
    num_values: Float[Array, ""]

    @classmethod
    def first(cls, size: int, *, is_dense: bool) -> "Adaptation":
        """The initial guess for P parameters; ``is_dense`` tells whether to learn correlations."""
        step, zero = jnp.array(FIRST_STEP_SIZE), jnp.array(0.0)
        covariance = FIRST_DEVIATION**2 * (jnp.eye(size) if is_dense else jnp.ones(size))
        curvature = jnp.eye(size) / FIRST_DEVIATION**2 if is_dense else None
        return cls(step, step, zero, jnp.zeros(size), covariance, curvature, zero)

    def stretch(
        self, factors: Sequence[int] = ()
    ) -> Callable[[Float[Array, " P"]], Float[Array, " P"]]:
        """The linear map from standard normal steps to steps of the parameters.

        The map gives values and gradients of the potential the same covariance, as a root of the
        covariance does for a normal distribution. On a curved ridge, it is a compromise between
        length and width. Correlations from few values are shrunk towards the correlations of
        parameters that are independent given the factors. The covariance of few gradients is
        shrunk towards the one that the values imply: directions without a gradient would look
        flat, and the longest steps would go there.

        Args:
            factors: indices of the parameters that multiply others.
        """
        if self.curvature is None:
            deviation = jnp.sqrt(self.covariance)
            return lambda step: deviation * step
        size, count = len(self.covariance), num_counted(self.num_values)
        of_values, of_gradients = (
            number / (number + NUM_PER_CORRELATION * size)
            for number in (count, GRADIENTS_PER_VALUE * count)
        )
        independent = independent_given(self.covariance, factors)
        root = jnp.linalg.cholesky(shrunk(self.covariance, independent, of_values))
        curvature = root.T @ self.curvature @ root
        round_one = jnp.trace(curvature) / size * jnp.eye(size)
        lengths, directions = jnp.linalg.eigh(shrunk(curvature, round_one, of_gradients))
        factor = root @ directions / jnp.maximum(lengths, LEAST_CURVATURE * lengths[-1]) ** 0.25
        return lambda step: factor @ step

    def learned(
        self,
        position: Float[Array, " P"],
        curvature: Float[Array, "P P"],
        accept_prob: Float[Array, ""],
        moved: Bool[Array, " P"],
    ) -> "Adaptation":
        """The adaptation after one more trajectory.

        Args:
            position: position of the chain after the trajectory.
            curvature: mean outer product of the gradients along the trajectory, weighted by
                ``accept_prob``: rejected trajectories leave the posterior.
            accept_prob: acceptance probability of the trajectory.
            moved: mask of the parameters that moved; only these are updated.
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

    def renewed(self, where: Bool[Array, ""]) -> "Adaptation":
        """The adaptation restarted, with the present metric as the initial guess.

        Args:
            where: whether to restart; otherwise the adaptation stays the same.
        """
        num_values = jnp.minimum(self.num_values, NUM_EARLY)
        return self._replace(num_values=jnp.where(where, num_values, self.num_values))


def num_counted(num_values: Float[Array, ""]) -> Float[Array, ""]:
    """Number of values that contribute to the mean and the covariance: all but the early ones."""
    return jnp.maximum(num_values - NUM_EARLY, 0.0)


def shrunk(
    matrix: Float[Array, "P P"], target: Float[Array, "P P"], share: Float[Array, ""]
) -> Float[Array, "P P"]:
    """A matrix of which only a share is kept, and the rest is the target."""
    return share * matrix + (1.0 - share) * target


def independent_given(
    covariance: Float[Array, "P P"], factors: Sequence[int]
) -> Float[Array, "P P"]:
    """The covariance of parameters that are independent given the factors among them.

    Example:
        >>> covariance = jnp.array([[1.0, 0.5, 0.5], [0.5, 1.0, 0.9], [0.5, 0.9, 1.0]])
        >>> independent_given(covariance, [0])[1].tolist()
        [0.5, 1.0, 0.25]
    """
    of = jnp.array(factors, int)
    with_factors = covariance[:, of]
    explained = with_factors @ jnp.linalg.solve(with_factors[of], with_factors.T)
    return explained + jnp.diag(jnp.diagonal(covariance - explained))
