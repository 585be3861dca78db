"""Priors of the hyper-parameters, for standardized observations on the unit cube."""

from collections.abc import Sequence

import jax
import jax.numpy as jnp
import numpy as np
import numpyro.distributions as dist
from jax import Array
from jax.typing import ArrayLike
from numpyro.distributions import constraints

from structbo.models.supports import FiniteSet

SIMILARITY = 0.75
"""The correlation of the logarithms of two lengthscales of `component_lengthscale`."""


def component_lengthscale(num_dims: int) -> dist.Distribution:
    """The default prior of lengthscales: a median of half the cube, growing beyond ten dimensions.

    Narrower and shorter than `dimension_scaled`, which is for one component over all dimensions:
    the components of an additive model have few. Lengthscales are alike, so that what the
    observations tell of some of them counts for the others: if all are short, one distance from the
    median has to be paid for, not one for each dimension.

    Args:
        num_dims: the number of dimensions D.

    Returns:
        A distribution of D numbers. Each is ``LogNormal(log(0.5) + log(max(D, 10) / 10) / 2, 1)``,
        and the logarithms of any two have a correlation of 3/4.

    Example:
        >>> lengthscales = component_lengthscale(40).sample(jax.random.key(0), (10_000,))
        >>> np.round(np.median(lengthscales), 1).item()
        1.0
        >>> np.round(np.corrcoef(np.log(lengthscales[:, :2].T))[0, 1], 2).item()
        0.75
    """
    loc = jnp.full(num_dims, np.log(0.5) + 0.5 * np.log(max(num_dims, 10) / 10))
    common, own = np.sqrt(SIMILARITY), 1.0 - SIMILARITY
    logarithms = dist.LowRankMultivariateNormal(
        loc, jnp.full((num_dims, 1), common), jnp.full(num_dims, own)
    )
    return dist.TransformedDistribution(logarithms, dist.transforms.ExpTransform())


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

    def sample(self, key: Array, sample_shape: tuple[int, ...] = ()) -> Array:
        return jax.random.choice(key, self.values, sample_shape)

    def log_prob(self, value: ArrayLike) -> Array:
        inside = FiniteSet(self.values)(value)
        return jnp.where(inside, -jnp.log(float(self.values.shape[0])), -jnp.inf)

    def enumerate_support(self, expand: bool = True) -> Array:
        return self.values
