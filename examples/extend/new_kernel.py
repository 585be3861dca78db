"""A new kernel: functions that vary faster near zero, by a learned factor."""

import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
from jax import Array

import structbo as sb
from structbo.models import AdditiveGP, Kernel


class Warped(Kernel):
    """The squared exponential of ``log(1 + rate x)``, scaled to the unit interval."""

    def parameters(self, num_dims: int) -> Array:
        return numpyro.sample("rate", dist.LogNormal(0.0, 1.0).expand([num_dims]).to_event(1))

    def correlation(self, x: Array, other: Array, lengthscale: Array, rate: Array, /) -> Array:
        gap = (jnp.log1p(rate * x) - jnp.log1p(rate * other)) / jnp.log1p(rate)
        return jnp.exp(-0.5 * (gap / lengthscale) ** 2)


if __name__ == "__main__":
    X = np.random.default_rng(0).random((30, 2))
    y = np.sin(3.0 / (0.2 + X[:, 0])) + X[:, 1]
    model = AdditiveGP(kernels={0: Warped()})  # for the first dimension only
    print(sb.fit(model, X, (y - y.mean()) / y.std()).summary().loc["rate[0]"])
