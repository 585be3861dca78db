"""The power of the transform of values, given a draw of the model."""

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from structbo.data import Data, Warping
from structbo.models.likelihood import MarginalGP

POWERS = np.linspace(1.0, 3.0, 41)
"""From one up: good values are never drawn together."""
PRIOR_DEVIATION = 0.5
"""Of a power from one, the likeliest, so that few values change nothing."""


def likeliest_power(likelihood: MarginalGP, data: Data) -> Array:
    """The posterior mode of the power of a `Warping`, all else being given: a scalar.

    After the transform, values are normal with the covariance of the likelihood. Where they were
    so before, this is mostly one, while the mean of a power that is one or more would be above.

    Args:
        likelihood: of a draw, without values.
        data: standardized observations, before the transform.
    """

    def log_density(power: Array) -> Array:
        warping = Warping.of(data, power)
        jacobian = jnp.where(data.mask, warping.log_slope(data.y), 0.0).sum()
        prior = -0.5 * jnp.square((power - 1.0) / PRIOR_DEVIATION)
        warped = jnp.asarray(warping.data(data).y)
        return likelihood.log_prob(warped) + jacobian + prior

    powers = jnp.asarray(POWERS)
    return powers[jnp.argmax(jax.vmap(log_density)(powers))]
