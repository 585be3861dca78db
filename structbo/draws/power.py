"""The power of the warping of values, given a draw of the model."""

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jaxtyping import Float

from structbo.data import Data, Warping
from structbo.models.foundation.arrays import AnyArray
from structbo.models.likelihood import MarginalGP

POWERS = np.linspace(1.0, 3.0, 41)
"""Grid of powers; powers below one are excluded, since they compress good values."""
PRIOR_DEVIATION = 0.5
"""Scale of the half-normal prior of the power minus one."""


def likeliest_power(likelihood: MarginalGP, data: Data) -> Float[Array, ""]:
    """The posterior mode of the power of a `Warping` given a draw.

    The warped values are normal with the covariance of the likelihood. For normal values, the mode
    is mostly one, while the posterior mean always exceeds one.

    Args:
        likelihood: likelihood of a draw; its known noise is replaced by the warped noise.
        data: standardized observations before warping.
    """

    def log_density(power: Float[Array, ""]) -> Float[Array, ""]:
        warping = Warping.of(data, power)
        jacobian = jnp.where(data.mask, warping.log_slope(data.y), 0.0).sum()
        prior = -0.5 * jnp.square((power - 1.0) / PRIOR_DEVIATION)
        warped = warping.data(data)
        return given_noise(warped.known_noise).log_prob(jnp.asarray(warped.y)) + jacobian + prior

    def given_noise(known: Float[AnyArray, " n"] | None) -> MarginalGP:
        if known is None:
            return likelihood
        covariance, x, noise = likelihood.covariance, likelihood.x, likelihood.noise
        rows = likelihood.num_inducing
        return MarginalGP(covariance, x, noise, likelihood.data_mask, jnp.asarray(known), rows)

    powers = jnp.asarray(POWERS)
    return powers[jnp.argmax(jax.vmap(log_density)(powers))]
