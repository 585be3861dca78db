"""Periodic functions, with a learned period."""

from dataclasses import dataclass

import jax.numpy as jnp
import numpyro.distributions as dist
from jax import Array
from jaxtyping import Float

from structbo.models.foundation.sites import sampled
from structbo.models.kernels.kernel import NUM_NODES, Kernel


@dataclass(frozen=True, eq=False, repr=False)
class Periodic(Kernel):
    """``exp(-2 sin^2(pi (x - x') / period) / lengthscale^2)``: periodic functions.

    The period is a site of the model, with one entry per dimension with this kernel. The
    lengthscale is in units of the radius of a circle whose circumference is the period.

    Args:
        period: prior of each period, in units of the cube's edge.
        site: name of the site; kernels with different priors need different names.

    References:
        MacKay 1998, "Introduction to Gaussian processes", section 4.

    Example:
        >>> kernel = Periodic()
        >>> round(float(kernel.correlation(*map(jnp.array, (0.1, 0.6, 0.5, 0.25)))), 4)
        1.0
    """

    period: dist.Distribution = dist.LogNormal(-1.0, 0.5)
    site: str = "period"

    def parameters(self, num_dims: int) -> Float[Array, " {num_dims}"]:
        return sampled(self.site, self.period.expand([num_dims]).to_event(1))

    def correlation(
        self,
        x: Float[Array, ""],
        other: Float[Array, ""],
        lengthscale: Float[Array, ""],
        period: Float[Array, ""],
        /,
    ) -> Float[Array, ""]:
        chord = jnp.sin(jnp.pi * (x - other) / period) / lengthscale
        return jnp.exp(-2.0 * chord * chord)

    def nodes(
        self, lengthscale: Float[Array, ""], period: Float[Array, ""], /
    ) -> Float[Array, " B"]:
        return period * jnp.arange(NUM_NODES) / NUM_NODES
