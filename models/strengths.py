"""Priors of the strengths of components: the relative variances of main effects and pairs."""

from dataclasses import dataclass

import jax.numpy as jnp
import numpy as np
import numpyro.distributions as dist
from jax import Array
from jaxtyping import Float

from structbo.models.foundation.sites import sampled
from structbo.models.foundation.values import Value

PAIR_SITE = "interaction"
"""Name of the site with one number for each pair, in the order of `numpy.triu_indices`."""
STRENGTH_SITES = ("heredity", "interaction_scale", PAIR_SITE)
"""Names of the sites of `Interactions`."""


def mean_strengths(relevance: Float[Array, " D"]) -> Float[Array, "D D"]:
    """The strength of a pair as the mean relevance of its two dimensions.

    Example:
        >>> mean_strengths(jnp.array([1.0, 3.0])).tolist()
        [[1.0, 2.0], [2.0, 3.0]]
    """
    return 0.5 * (relevance[:, None] + relevance)


@dataclass(frozen=True, eq=False, repr=False)
class Interactions(Value):
    """Priors of the relative variance of each pair, given the relevance of each dimension.

    The strength of a pair is ``scale * (r_i r_j)^heredity * own_ij``, with the relevances r of its
    dimensions. Pairs of dimensions with strong main effects therefore tend to be strong (effect
    heredity).

    The sites are ``interaction_scale``, ``interaction``, which has the factors ``own`` of the
    D (D - 1) / 2 pairs, and ``heredity`` if the exponent is learned.

    Args:
        heredity: the exponent, or its prior; zero makes all pairs alike, one is a product.
        scale: prior of the strength of a pair whose dimensions have relevance one.
        own: prior of the factor of each pair; None for ones, if there are very many pairs.

    References:
        Chipman 1996, "Bayesian variable selection with related predictors", for heredity.

    Example:
        >>> from numpyro.handlers import seed
        >>> with seed(rng_seed=0):
        ...     strengths, _ = Interactions().strengths(jnp.array([1.0, 2.0, 0.5]))
        >>> jnp.diagonal(strengths).tolist(), strengths.shape
        ([1.0, 2.0, 0.5], (3, 3))
    """

    heredity: float | dist.Distribution = 0.5
    scale: dist.Distribution = dist.LogNormal(-2.0, 1.0)
    own: dist.Distribution | None = dist.LogNormal(0.0, 1.0)

    def strengths(
        self, relevance: Float[Array, " D"]
    ) -> tuple[Float[Array, "D D"], Float[Array, " D"]]:
        """Samples the strengths of pairs.

        Args:
            relevance: relative variances of main effects.

        Returns:
            The strengths, with the main effects on the diagonal, and the relevances raised to the
            power of the heredity.
        """
        pairs = np.triu_indices(len(relevance), 1)
        exponent = self.heredity
        if isinstance(exponent, dist.Distribution):
            exponent = sampled("heredity", exponent)
        scale = sampled("interaction_scale", self.scale)
        own: Float[Array, " E"] | float = 1.0
        if self.own is not None and len(pairs[0]):  # NumPyro cannot sample an empty site
            prior = self.own.expand([len(pairs[0])]).to_event(1)
            own = sampled(PAIR_SITE, prior)
        powers = relevance**exponent
        upper = scale * powers[pairs[0]] * powers[pairs[1]] * own
        return jnp.diag(relevance).at[pairs].set(upper).at[pairs[::-1]].set(upper), powers
