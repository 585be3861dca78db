"""Models beside the default: that of the reference posteriors, and a former default."""

import jax.numpy as jnp
import numpy as np
from numpyro.distributions import LogNormal

from structbo.models import AdditiveGP, AlikeLogNormal, Residual


def median_log(num_dims: int) -> float:
    """Of lengthscales, as in the default prior."""
    return float(np.log(0.5) + 0.5 * np.log(max(num_dims, 10) / 10))


def independent(num_dims: int) -> LogNormal:
    """A prior of lengthscales of which one tells nothing of the others."""
    return LogNormal(median_log(num_dims), 1.0)


def three_quarters(num_dims: int) -> AlikeLogNormal:
    """A prior of lengthscales whose logarithms have a correlation of 3/4, no other."""
    return AlikeLogNormal(jnp.full(num_dims, median_log(num_dims)), 0.75)


MODEL = AdditiveGP(lengthscale=independent, residual=Residual())
"""That of `default_model`, but for the prior of lengthscales. References outlive its changes."""
THREE_QUARTERS = AdditiveGP(lengthscale=three_quarters, residual=Residual())
"""That of `default_model` as it was before it learned how alike lengthscales are."""
