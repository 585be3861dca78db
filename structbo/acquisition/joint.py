"""Joint criteria, which depend on mean and deviation of the whole function at a point."""

from abc import abstractmethod
from typing import Any

import jax
import jax.numpy as jnp
from jax import Array
from jaxtyping import Float, Int

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
    def contexts(self, posteriors: ConditionedGP, search: Search) -> Float[Array, " S *context"]:
        """Further inputs of the criterion for each of S draws, such as incumbents."""

    @abstractmethod
    def score(
        self, mean: Float[Array, " m"], deviation: Float[Array, " m"], context: Any
    ) -> Float[Array, " m"]:
        """The values at points with these means and deviations, for one draw."""

    def pooled(self, contexts: Float[Array, " S *context"]) -> Float[Array, "*pooled"]:
        """The context of the mixture of S draws, from the contexts of all draws.

        Batch strategies use mean and deviation of the mixture.
        """
        return contexts.mean(0)

    def of(self, posteriors: ConditionedGP, search: Search) -> Acquisition:
        which = jnp.arange(count_draws(posteriors))
        return Acquisition(posteriors, self.contexts(posteriors, search), which, self)

    def values(
        self, draw: ConditionedGP, context: Any, x: Float[Array, "m D"]
    ) -> Float[Array, " m"]:
        return self._score(*draw.predict(x), context)

    def values_on_lines(
        self,
        draw: ConditionedGP,
        context: Any,
        x: Float[Array, "L G D"],
        dim: Int[Array, ""],
    ) -> Float[Array, "L G"]:
        mean, variance = draw.predict_on_lines(x, dim)
        return self._score(mean.ravel(), variance.ravel(), context).reshape(mean.shape)

    def _score(
        self, mean: Float[Array, " m"], variance: Float[Array, " m"], context: Any
    ) -> Float[Array, " m"]:
        return self.score(mean, jnp.sqrt(variance + TINY_VARIANCE), context)


@jax.jit
def best_means(posteriors: ConditionedGP) -> Float[Array, " S"]:
    """The best posterior mean at an observed point, one per draw; noise does not inflate it.

    Args:
        posteriors: posteriors of S draws, stacked along the first axis.
    """

    def best_mean(posterior: ConditionedGP) -> Float[Array, ""]:
        mean = posterior.covariance_with_data(posterior.x) @ posterior.alpha
        return jnp.where(posterior.mask, mean, -jnp.inf).max()

    return map_draws(best_mean, posteriors)


@jax.jit
def best_values(posteriors: ConditionedGP) -> Float[Array, " S"]:
    """The best observation, one per draw; with inducing points, the best pseudo-observation.

    An observation is the posterior mean plus the covariance of the noise times alpha. Pending
    points count with their posterior means.

    Args:
        posteriors: posteriors of S draws, stacked along the first axis.
    """

    def best_value(posterior: ConditionedGP) -> Float[Array, ""]:
        mean = posterior.covariance_with_data(posterior.x) @ posterior.alpha
        factor, alpha = posterior.noise_factor, posterior.alpha
        is_matrix = factor.ndim == 2
        noise = factor @ (factor.T @ alpha) if is_matrix else jnp.square(factor) * alpha
        return jnp.where(posterior.mask, mean + noise, -jnp.inf).max()

    return map_draws(best_value, posteriors)
