"""The joint posterior of the function at a finite set of candidates.

A batch is chosen before any of its values is known, from one mean vector and one covariance matrix.
Conditioning on one more evaluation is linear algebra, and the covariance does not depend on the
value.

Draws of the structure and of hyper-parameters make a mixture of processes, which enters by its
first two moments: the mean of the draws' means, and the mean of their covariances plus the
covariance of their means. Disagreement between draws therefore counts as uncertainty, even if each
draw is certain. Conditioning on a candidate is the best linear prediction under the mixture, and a
batch has one determinantal point process, not one per draw. With one draw the moments are exact.
"""

from dataclasses import dataclass, replace

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jaxtyping import Bool, Float

from structbo.data import padded
from structbo.models import ConditionedGP
from structbo.models.foundation.arrays import AnyArray
from structbo.models.foundation.compilation import compiled
from structbo.models.foundation.precision import double_precision

LEAST_NOISE = 1e-8
"""Minimum noise, relative to the prior variance.

Smaller variances are below the round-off of covariances, which would dominate determinants."""


@dataclass(frozen=True)
class GroundSet:
    """Moments of the function at the candidates of a batch.

    Args:
        points: candidates in the unit cube.
        mean: posterior mean.
        covariance: posterior covariance.
        noise: noise variance of an observation, at least the round-off of the covariance.
        available: which candidates may be chosen.
        incumbent: the largest value at a candidate that counts as evaluated; minus infinity without
            one.
    """

    points: Float[np.ndarray, "m D"]
    mean: Float[np.ndarray, " m"]
    covariance: Float[np.ndarray, "m m"]
    noise: float
    available: Bool[np.ndarray, " m"]
    incumbent: float = -np.inf

    @classmethod
    def of(cls, posteriors: ConditionedGP, points: Float[np.ndarray, "m D"]) -> "GroundSet":
        """The moments of a mixture of posteriors; only the first of equal candidates is available.

        Args:
            posteriors: the posteriors of the draws, stacked along the first axis.
            points: candidates in the unit cube.
        """
        with double_precision():
            moments = jax.tree.map(np.asarray, _moments(posteriors, padded(points)))
        mean, covariance, noise = moments
        available = np.zeros(len(points), bool)
        available[np.unique(points, axis=0, return_index=True)[1]] = True
        kept = slice(len(points))
        return cls(points, mean[kept], covariance[kept, kept], float(noise), available)

    @staticmethod
    def prepare(posteriors: ConditionedGP, points: Float[np.ndarray, "m D"]) -> None:
        """Compiles `of` for arguments of the same shapes, whatever their values."""
        with double_precision():
            _moments.prepare(posteriors, padded(points))

    @property
    def deviation(self) -> Float[np.ndarray, " m"]:
        """Posterior standard deviation of the function, without observation noise."""
        return np.sqrt(np.maximum(np.diagonal(self.covariance), 0.0))

    def given(self, index: int, value: float | None = None) -> "GroundSet":
        """The posterior given one more evaluation, at a candidate that becomes unavailable.

        Args:
            index: index of the candidate.
            value: the observed value; None for the posterior mean, which leaves all means
                unchanged.
        """
        column = self.covariance[:, index]
        gain = column / (column[index] + self.noise)
        known = float(self.mean[index]) if value is None else value
        return replace(
            self.without(index),
            mean=self.mean + gain * (known - self.mean[index]),
            covariance=self.covariance - np.outer(gain, column),
            incumbent=max(self.incumbent, known),
        )

    def without(self, index: int) -> "GroundSet":
        """The same posterior, with one candidate made unavailable."""
        available = self.available.copy()
        available[index] = False
        return replace(self, available=available)

    def best(
        self, scores: Float[np.ndarray, " m"], region: Bool[np.ndarray, " m"] | None = None
    ) -> int:
        """The available candidate, within a region if given, with the highest score."""
        eligible = self.available if region is None else self.available & region
        return int(np.argmax(np.where(eligible, scores, -np.inf)))


@compiled()
def _moments(
    posteriors: ConditionedGP, points: Float[AnyArray, "m D"]
) -> tuple[Float[Array, " m"], Float[Array, "m m"], Float[Array, ""]]:
    """Mean, covariance and noise variance of the mixture, at points."""
    x = jnp.asarray(points)

    def add(total: Array, posterior: ConditionedGP) -> tuple[Array, tuple[Array, Array]]:
        covariance = posterior.covariance_between(x, x)
        return total + covariance, (posterior.predict(x)[0], posterior.noise)

    total, (means, noises) = jax.lax.scan(add, jnp.zeros((len(x), len(x))), posteriors)
    between = means - means.mean(0)
    covariance = (total + between.T @ between) / len(means)
    least = LEAST_NOISE * posteriors.covariance.outputscale.mean()
    return means.mean(0), covariance, jnp.maximum(noises.mean(), least)
