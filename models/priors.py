"""Priors of the hyper-parameters, for standardized observations on the unit cube."""

from collections.abc import Sequence

import jax
import jax.numpy as jnp
import numpy as np
import numpyro.distributions as dist
from jax import Array
from jax.typing import ArrayLike
from jaxtyping import Float
from numpyro.distributions import constraints
from numpyro.distributions.transforms import AffineTransform

from structbo.models.foundation.arrays import RandomKey
from structbo.models.supports import FiniteSet

SIMILARITIES = (np.arange(16) + 0.5) / 16
"""Possible correlations of the log lengthscales in `component_lengthscale`."""


class AlikeLogNormal(dist.Distribution):
    """Positive numbers whose logarithms have equal pairwise correlations.

    The logarithms are normal with standard deviation one. Several correlations are equally probable
    and summed over, so that the correlation is learned too.

    Args:
        loc: the mean of the logarithms, shape (D,).
        similarity: their correlation, in [0, 1), or several, shape (S,).

    Example:
        >>> numbers = AlikeLogNormal(jnp.zeros(3), 0.75).sample(jax.random.key(0), (10_000,))
        >>> np.round(np.corrcoef(np.log(numbers).T)[0], 2).tolist()
        [1.0, 0.75, 0.75]
    """

    pytree_data_fields = ("loc", "similarity")
    support = constraints.independent(constraints.positive, 1)
    reparametrized_params = ("loc",)

    def __init__(
        self, loc: ArrayLike, similarity: ArrayLike, *, validate_args: bool | None = None
    ) -> None:
        self.loc = jnp.asarray(loc, float)
        self.similarity = jnp.atleast_1d(jnp.asarray(similarity, float))
        super().__init__(event_shape=self.loc.shape, validate_args=validate_args)

    def sample(self, key: RandomKey, sample_shape: tuple[int, ...] = ()) -> Float[Array, "*S D"]:
        key_share, key_common, key_own = jax.random.split(key, 3)
        share = jax.random.choice(key_share, self.similarity, (*sample_shape, 1))
        common = jax.random.normal(key_common, (*sample_shape, 1))
        own = jax.random.normal(key_own, (*sample_shape, *self.event_shape))
        return jnp.exp(self.loc + jnp.sqrt(share) * common + jnp.sqrt(1.0 - share) * own)

    def log_prob(self, value: ArrayLike) -> Float[Array, "*S"]:
        """The log density of numbers (..., D), shape (...), without matrix factorizations."""
        logarithms = jnp.log(value)
        away = logarithms - self.loc
        count, own = self.event_shape[0], 1.0 - self.similarity
        total = own + count * self.similarity
        sums, squares = (x.sum(-1, keepdims=True) for x in (away, jnp.square(away)))
        distances = (squares - self.similarity / total * jnp.square(sums)) / own
        log_volumes = (count - 1) * jnp.log(own) + jnp.log(total) + count * jnp.log(2.0 * jnp.pi)
        log_densities = jax.nn.logsumexp(-0.5 * (distances + log_volumes), axis=-1)
        return log_densities - jnp.log(len(self.similarity)) - logarithms.sum(-1)


def component_lengthscale(num_dims: int) -> AlikeLogNormal:
    """The default prior of lengthscales: a median of half the cube, growing beyond ten dimensions.

    Narrower and shorter than `dimension_scaled`, which is for one component over all dimensions;
    components of an additive model have few members. The log lengthscales are correlated with
    unknown strength. If they are all similar, observations of some dimensions inform the others,
    and a common deviation from the median is penalized once, not once per dimension. If only a few
    of many dimensions matter, the learned correlation is low.

    Args:
        num_dims: the number of dimensions D.

    Returns:
        A distribution of D numbers. Each is ``LogNormal(log(0.5) + log(max(D, 10) / 10) / 2, 1)``,
        and the correlation of the logarithms of any two is uniform in [0, 1], in 16 steps.

    Example:
        >>> round(float(np.exp(component_lengthscale(40).loc[0])), 3)
        1.0
    """
    return AlikeLogNormal(jnp.full(num_dims, _median_log(num_dims)), SIMILARITIES)


def independent_lengthscale(num_dims: int) -> dist.LogNormal:
    """An independent prior of lengthscales, for searches for the most probable ones.

    Under the correlated prior `component_lengthscale`, all lengthscales can become short at the
    penalty of one. With few observations, such a search then ends at a function that is all noise.

    Args:
        num_dims: the number of dimensions D.

    Returns:
        ``LogNormal(log(0.5) + log(max(D, 10) / 10) / 2, 1)``.

    Example:
        >>> round(float(np.exp(independent_lengthscale(40).loc)), 3)
        1.0
    """
    return dist.LogNormal(_median_log(num_dims), 1.0)


def _median_log(num_dims: int) -> float:
    return float(np.log(0.5) + 0.5 * np.log(max(num_dims, 10) / 10))


def dimension_scaled(
    num_dims: int, *, loc: float = 2**0.5, scale: float = 3**0.5
) -> dist.LogNormal:
    """The lengthscale prior that grows with the square root of the dimension.

    Args:
        num_dims: the number of dimensions D.
        loc: mean of the log lengthscale at D = 1.
        scale: standard deviation of the log lengthscale.

    Returns:
        ``LogNormal(loc + log(D) / 2, scale)``.

    References:
        Hvarfner, Hellsten and Nardi 2024, "Vanilla Bayesian optimization performs great in high
        dimensions".

    Example:
        >>> round(float(dimension_scaled(1).loc), 3)
        1.414
    """
    return dist.LogNormal(loc + 0.5 * np.log(num_dims), scale)


class LogNormalAbove(dist.TransformedDistribution):
    """A log-normal number plus a minimum.

    Args:
        loc: the mean of the logarithm of the excess.
        scale: its standard deviation.
        least: the minimum.

    Example:
        >>> round(float(LogNormalAbove(0.0, 1.0, 2.0).icdf(0.5)), 3)
        3.0
    """

    pytree_aux_fields = ("least",)

    def __init__(
        self, loc: float, scale: float, least: float, *, validate_args: bool | None = None
    ) -> None:
        self.least = least
        above = AffineTransform(least, 1.0, domain=constraints.positive)
        super().__init__(dist.LogNormal(loc, scale), above, validate_args=validate_args)

    @property
    def support(self) -> constraints.Constraint:
        # The support of the transform would be traced, and not comparable with concrete values.
        return constraints.greater_than(self.least)


class FiniteUniform(dist.Distribution):
    """Uniform over a finite set of numbers.

    The prior of kernel parameters in Rolland et al. 2018, section 4, which `GridGibbs` samples.

    Args:
        values: the set, shape (G,).

    Example:
        >>> round(float(jnp.exp(FiniteUniform([0.1, 0.2, 0.4, 0.8]).log_prob(0.2))), 4)
        0.25
    """

    pytree_data_fields = ("values",)
    has_enumerate_support = True

    def __init__(
        self, values: ArrayLike | Sequence[float], *, validate_args: bool | None = None
    ) -> None:
        numbers = jnp.asarray(values, float)
        if numbers.ndim != 1 or numbers.shape[0] == 0:
            raise ValueError(f"values must be a list of numbers, got shape {numbers.shape}.")
        self.values = jnp.sort(numbers)
        super().__init__(validate_args=validate_args)

    @constraints.dependent_property(is_discrete=True, event_dim=0)
    def support(self) -> constraints.Constraint:
        return FiniteSet(self.values)

    def sample(self, key: RandomKey, sample_shape: tuple[int, ...] = ()) -> Float[Array, "*S"]:
        return jax.random.choice(key, self.values, sample_shape)

    def log_prob(self, value: ArrayLike) -> Float[Array, "*S"]:
        inside = FiniteSet(self.values)(value)
        return jnp.where(inside, -jnp.log(float(self.values.shape[0])), -jnp.inf)

    def enumerate_support(self, expand: bool = True) -> Float[Array, " G"]:
        return self.values
