"""The model whose posteriors are compared: its references outlive changes of the default."""

import numpy as np
from numpyro.distributions import LogNormal

from structbo.models import AdditiveGP, Residual


def independent(num_dims: int) -> LogNormal:
    """A prior of lengthscales of which one tells nothing of the others."""
    return LogNormal(np.log(0.5) + 0.5 * np.log(max(num_dims, 10) / 10), 1.0)


MODEL = AdditiveGP(lengthscale=independent, residual=Residual())
"""That of `default_model`, but for the prior of lengthscales."""
