"""Models other than the default: of the reference posteriors, and with correlated lengthscales."""

import jax.numpy as jnp
import numpy as np
from numpyro.distributions import LogNormal

from structbo.models import AdditiveGP, AlikeLogNormal, Residual


def median_log(num_dims: int) -> float:
    """Log median of lengthscales, as in the default prior."""
    return float(np.log(0.5) + 0.5 * np.log(max(num_dims, 10) / 10))


def independent(num_dims: int) -> LogNormal:
    """A prior of independent lengthscales."""
    return LogNormal(median_log(num_dims), 1.0)


def three_quarters(num_dims: int) -> AlikeLogNormal:
    """A prior of lengthscales with a fixed correlation of 3/4 between logarithms."""
    return AlikeLogNormal(jnp.full(num_dims, median_log(num_dims)), 0.75)


MODEL = AdditiveGP(lengthscale=independent, residual=Residual())
"""The model of the references, with independent lengthscales, whatever `default_model` is."""
THREE_QUARTERS = AdditiveGP(lengthscale=three_quarters, residual=Residual())
"""The default model with a fixed correlation of lengthscales."""
