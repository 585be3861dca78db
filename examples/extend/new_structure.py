"""A new structure prior: neighbors interact more often, by a learned amount."""

import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist

import structbo as sb
from structbo.models import AdditiveGP, EdgeBernoulli, cliques


def neighbors(num_dims):
    decay = numpyro.sample("decay", dist.Gamma(2.0, 2.0))
    position = jnp.arange(num_dims)
    distance = jnp.abs(position[:, None] - position)
    Z = numpyro.sample("Z", EdgeBernoulli(num_dims, jnp.exp(-decay * distance)))
    return cliques(Z, max_size=3)


X = np.random.default_rng(0).random((30, 4))
y = np.sin(5.0 * X[:, 0] * X[:, 1]) + X[:, 2]
posterior = sb.fit(AdditiveGP(neighbors), X, (y - y.mean()) / y.std())
print(posterior.summary()[["mean", "sd", "ess_bulk", "r_hat"]])
