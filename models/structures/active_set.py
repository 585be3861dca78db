"""Active sets as random variables: the parameters that matter.

A structure may put a graph inside an active set. Edges of inactive variables then have no effect:

    def sparse_graph(num_dims):
        active = numpyro.sample("active", ActiveBernoulli(num_dims, 0.1))
        Z = numpyro.sample("Z", EdgeBernoulli(num_dims, 0.2))
        return pairs(Z, active)

The continuous counterpart is `sparse_axis_aligned`: every variable stays in the product, and long
lengthscales make the function constant in inactive ones.
"""

from collections.abc import Callable
from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpyro
import numpyro.distributions as dist
from jax import Array
from jax.typing import ArrayLike
from jaxtyping import Float, Int

from structbo.models.decomposition import Decomposition
from structbo.models.foundation.arguments import check_vector, checked_count
from structbo.models.foundation.arrays import RandomKey
from structbo.models.foundation.upstream import validate_sample
from structbo.models.foundation.values import Value
from structbo.models.structures.indicators import (
    checked_probabilities,
    log_probability,
    probability_site,
)
from structbo.models.supports import active_set


class ActiveBernoulli(dist.Distribution):
    """Independent indicators: variable i is active with probability ``p_i``.

    Args:
        num_dims: the number of dimensions D.
        probs: probability of being active, a number or one for each dimension, shape (D,).

    Raises:
        ValueError: if the probabilities have the wrong shape, or (unless traced) are not in [0, 1].

    Example:
        >>> prior = ActiveBernoulli(3, jnp.array([0.5, 0.5, 0.2]))
        >>> round(float(jnp.exp(prior.log_prob(jnp.array([1, 0, 1])))), 3)
        0.05
    """

    support = active_set
    pytree_data_fields = ("probs",)
    pytree_aux_fields = ("num_dims",)

    def __init__(
        self, num_dims: int, probs: ArrayLike = 0.5, *, validate_args: bool | None = None
    ) -> None:
        self.num_dims = checked_count("num_dims", num_dims)
        self.probs = checked_probabilities(probs, (num_dims,))
        super().__init__(event_shape=(num_dims,), validate_args=validate_args)

    def sample(self, key: RandomKey, sample_shape: tuple[int, ...] = ()) -> Int[Array, "*S D"]:
        shape = (*sample_shape, *self.event_shape)
        return jax.random.bernoulli(key, self.probs, shape).astype(jnp.int32)

    @validate_sample
    def log_prob(self, value: ArrayLike) -> Float[Array, "*S"]:
        is_active = jnp.asarray(value) == 1
        return log_probability(is_active, self.probs).sum(-1)


def subset(active: Array) -> Decomposition:
    """The decomposition with one component over all active variables.

    Without active variables the component is a constant, since a product over no variables is one
    (Chen, Castro and Krause 2012, section 2).

    Args:
        active: active dimensions, 0/1, shape (D,).

    Returns:
        A decomposition of one component.

    Raises:
        ValueError: if active is not a vector.

    Example:
        >>> subset(jnp.array([1, 0, 1])).members.astype(int).tolist()
        [[1, 0, 1]]
    """
    check_vector("active", active)
    return Decomposition.of(active.astype(bool)[None])


@dataclass(frozen=True, eq=False, repr=False)
class active_sets(Value):
    """The structure whose random variable is an active set, site ``active``.

    Args:
        probability: probability of being active, a number, a vector (D,), or a distribution, which
            adds the site ``active_probability``. The default, ``min(1 / 2, 5 / D)``, expects at
            most five.
        components: a function from an active set to a decomposition, such as `subset`.

    References:
        Chen, Castro and Krause 2012, "Joint optimization and variable selection of high-dimensional
        Gaussian processes", section 2.

    Example:
        >>> structure = active_sets(dist.Beta(1.0, 9.0))
        >>> with numpyro.handlers.seed(rng_seed=0):
        ...     structure(20).members.shape
        (1, 20)
    """

    probability: ArrayLike | dist.Distribution | None = None
    components: Callable[[Int[Array, " D"]], Decomposition] = subset

    def __call__(self, num_dims: int) -> Decomposition:
        probs = min(0.5, 5.0 / num_dims) if self.probability is None else self.probability
        probs = probability_site("active_probability", probs)
        return self.components(numpyro.sample("active", ActiveBernoulli(num_dims, probs)))


@dataclass(frozen=True, eq=False, repr=False)
class sparse_axis_aligned(Value):
    """A sparse prior of lengthscales, with half-Cauchy shrinkage.

    Inverse squared lengthscales are ``tau * lambda_i`` with half-Cauchy ``tau`` and ``lambda_i``;
    the shared ``tau`` is the site ``shrinkage``. Give it to a model with one component over all
    dimensions: ``AdditiveGP(active_sets(1.0), lengthscale=sparse_axis_aligned())``.

    Args:
        scale: scale of the half-Cauchy prior of ``tau``; smaller values give fewer active
            variables.

    References:
        Eriksson and Jankowiak 2021, "High-dimensional Bayesian optimization with sparse
        axis-aligned subspaces", section 4.1.

    Example:
        >>> with numpyro.handlers.seed(rng_seed=0):
        ...     bool(sparse_axis_aligned()(5).sample(jax.random.key(0)) > 0)
        True
    """

    scale: float = 0.1

    def __call__(self, num_dims: int) -> dist.Distribution:
        shrinkage = numpyro.sample("shrinkage", dist.HalfCauchy(self.scale))
        inverse_square = dist.HalfCauchy(shrinkage)
        return dist.TransformedDistribution(inverse_square, dist.transforms.PowerTransform(-0.5))
