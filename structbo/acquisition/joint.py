"""Joint criteria, which depend on mean and deviation of the whole function at a point."""

from abc import abstractmethod
from typing import Any

import jax
import jax.numpy as jnp
from jax import Array

from structbo.acquisition.criterion import Acquisition, Criterion, count_draws
from structbo.maximizers.search_state import Search
from structbo.models.foundation.accelerator import map_draws
from structbo.models.gp import ConditionedGP

TINY_VARIANCE = 1e-12


class JointCriterion(Criterion):
    """A criterion of the posterior mean and deviation of the whole function.

    It applies to every structure, including wide components, a residual and projections.
    """

    @abstractmethod
    def contexts(self, posteriors: ConditionedGP, search: Search) -> Array:
        """Further inputs of the criterion for each of S draws, such as incumbents: (S, ...)."""

    @abstractmethod
    def score(self, mean: Array, deviation: Array, context: Any) -> Array:
        """The values at points with these means and deviations, (m,), for one draw: (m,)."""

    def pooled(self, contexts: Array) -> Array:
        """The context of the mixture of S draws, from the contexts of all draws.

        Batch strategies use mean and deviation of the mixture.
        """
        return contexts.mean(0)

    def of(self, posteriors: ConditionedGP, search: Search) -> Acquisition:
        which = jnp.arange(count_draws(posteriors))
        return Acquisition(posteriors, self.contexts(posteriors, search), which, self)

    def values(self, draw: ConditionedGP, context: Any, x: Array) -> Array:
        return self._score(*draw.predict(x), context)

    def values_on_lines(self, draw: ConditionedGP, context: Any, x: Array, dim: Array) -> Array:
        mean, variance = draw.predict_on_lines(x, dim)
        return self._score(mean.ravel(), variance.ravel(), context).reshape(mean.shape)

    def _score(self, mean: Array, variance: Array, context: Any) -> Array:
        return self.score(mean, jnp.sqrt(variance + TINY_VARIANCE), context)


@jax.jit
def best_means(posteriors: ConditionedGP) -> Array:
    """The best posterior mean at an observed point, one per draw; noise does not inflate it.

    Args:
        posteriors: posteriors of S draws, stacked along the first axis.

    Returns:
        Shape (S,).
    """

    def best_mean(posterior: ConditionedGP) -> Array:
        mean = posterior.covariance_with_data(posterior.x) @ posterior.alpha
        return jnp.where(posterior.mask, mean, -jnp.inf).max()

    return map_draws(best_mean, posteriors)
