"""Thompson sampling: a function drawn from the posterior is maximized."""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
from jax import Array
from jaxtyping import Float, Int

from structbo.acquisition.additive_criterion import AdditiveCriterion, sums_of_products
from structbo.acquisition.criterion import Acquisition, count_draws
from structbo.maximizers.search_state import Search
from structbo.models.decomposition import true_first
from structbo.models.foundation.arguments import checked_count
from structbo.models.gp import ConditionedGP, SamplePath


@dataclass(frozen=True)
class Thompson(AdditiveCriterion):
    """A function drawn from the posterior of a random draw.

    Additive: the function is the sum of its components. There is no average over draws; every point
    of a batch has a new draw and a new function.

    Args:
        num_features: random Fourier features per component.

    References:
        Thompson 1933; Wilson et al. 2020, for pathwise conditioning.
    """

    num_features: int = 512

    def __post_init__(self) -> None:
        checked_count("num_features", self.num_features)

    def of(self, posteriors: ConditionedGP, search: Search) -> Acquisition:
        key_draw, key_path = jax.random.split(search.key)
        which = jax.random.randint(key_draw, (1,), 0, count_draws(posteriors))
        posterior = jax.tree.map(lambda leaf: jnp.asarray(leaf)[which[0]], posteriors)
        path = posterior.sample_path(key_path, self.num_features)
        draws = jax.tree.map(lambda leaf: jnp.asarray(leaf)[None], path)
        return Acquisition(draws, None, which, self)

    def on_grid(
        self,
        draw: SamplePath,
        context: None,
        row: Int[Array, ""],
        coordinates: Float[Array, "s G"],
        factors: Float[Array, "s G n"],
    ) -> Float[Array, " G**s"]:
        covariance = draw.posterior.covariance
        members = true_first(covariance.decomposition.members[row])
        waves = draw.waves(members[: len(coordinates)], coordinates)
        amplitudes = draw.weights[row] * jnp.exp(1j * draw.phases[row])
        prior = sums_of_products(waves, amplitudes).real
        variance = covariance.variances[row]
        return jnp.sqrt(variance) * prior + variance * sums_of_products(factors, draw.update)

    def component(
        self, draw: SamplePath, context: None, row: Int[Array, ""], x: Float[Array, "m D"]
    ) -> Float[Array, " m"]:
        return draw.component(row, x)

    def residual(
        self, draw: SamplePath, context: None, x: Float[Array, "m D"]
    ) -> Float[Array, " m"]:
        return draw.residual(x)
