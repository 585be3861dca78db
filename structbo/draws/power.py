"""The power of the transform of values, given a draw of the model."""

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from structbo.data import Data, Warping
from structbo.models.likelihood import MarginalGP

POWERS = np.linspace(1.0, 3.0, 41)
"""A power below one would draw good values together."""
PRIOR_DEVIATION = 0.5
"""The standard deviation of the half-normal prior of the power's distance from one."""


def likeliest_power(likelihood: MarginalGP, data: Data) -> Array:
    """The posterior mode of the power of a `Warping`, all else being given: a scalar.

    After the transform, values are normal with the covariance of the likelihood. The mode is
    mostly one for values that were normal before; the posterior mean would always exceed one.

    Args:
        likelihood: of a draw, without values; its known noise is replaced by the transformed one.
        data: standardized observations, before the transform.
    """

    def log_density(power: Array) -> Array:
        warping = Warping.of(data, power)
        jacobian = jnp.where(data.mask, warping.log_slope(data.y), 0.0).sum()
        prior = -0.5 * jnp.square((power - 1.0) / PRIOR_DEVIATION)
        warped = warping.data(data)
        return given_noise(warped.known_noise).log_prob(jnp.asarray(warped.y)) + jacobian + prior

    def given_noise(known: Array | np.ndarray | None) -> MarginalGP:
        if known is None:
            return likelihood
        covariance, x, noise = likelihood.covariance, likelihood.x, likelihood.noise
        rows = likelihood.num_inducing
        return MarginalGP(covariance, x, noise, likelihood.data_mask, jnp.asarray(known), rows)

    powers = jnp.asarray(POWERS)
    return powers[jnp.argmax(jax.vmap(log_density)(powers))]
