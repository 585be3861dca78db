"""Joint criteria: they judge a point by mean and deviation of the whole function there."""

from abc import abstractmethod
from typing import Any

import jax
import jax.numpy as jnp
from jax import Array

from structbo.acquisition.criterion import Acquisition, Criterion, num_draws
from structbo.maximizers.search import Search
from structbo.models.gp import ConditionedGP

TINY_VARIANCE = 1e-12


class JointCriterion(Criterion):
    """A criterion of the posterior mean and deviation of the whole function.

    It applies to every structure: wide components, a residual and projections count, too.
    """

    @abstractmethod
    def references(self, posteriors: ConditionedGP, search: Search) -> Array:
        """What the criterion needs besides each of S draws, such as incumbents, shape (S, ...)."""

    @abstractmethod
    def score(self, mean: Array, deviation: Array, reference: Any) -> Array:
        """The values at points with these means and deviations, (m,), for one draw: (m,)."""

    def pooled(self, references: Array) -> Array:
        """What the values of the mixture of S draws refer to, of the references of all draws.

        Batch strategies judge the candidates by mean and deviation of the mixture.
        """
        return references.mean(0)

    def of(self, posteriors: ConditionedGP, search: Search) -> Acquisition:
        which = jnp.arange(num_draws(posteriors))
        return Acquisition(posteriors, self.references(posteriors, search), which, self)

    def values(self, draw: ConditionedGP, reference: Any, x: Array) -> Array:
        mean, variance = draw.predict(x)
        return self.score(mean, jnp.sqrt(variance + TINY_VARIANCE), reference)


@jax.jit
def best_means(posteriors: ConditionedGP) -> Array:
    """The best posterior mean at an observed point, one per draw; noise does not inflate it.

    Args:
        posteriors: of S draws, stacked along the first axis.

    Returns:
        Shape (S,).
    """

    def best_mean(posterior: ConditionedGP) -> Array:
        noise_free = posterior.covariance(posterior.x, posterior.x)
        mean = jnp.where(posterior.mask, noise_free, 0.0) @ posterior.alpha
        return jnp.where(posterior.mask, mean, -jnp.inf).max()

    return jax.lax.map(best_mean, posteriors)
