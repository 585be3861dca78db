"""The process of the batches: fully dependent, squared exponential, maximum likelihood."""

import jax
import jax.numpy as jnp
import numpy as np
from scipy.optimize import minimize

from structbo.data import Data
from structbo.models import AdditiveCovariance, ConditionedGP, Decomposition, MarginalGP
from structbo.models.kernels import squared_exponential

NOISE = 1e-4


def process(logs: jax.Array, data: Data) -> MarginalGP:
    """A fully dependent process, from logs of lengthscales, variance and noise."""
    v, whole = jnp.exp(logs), Decomposition.of(jnp.ones((1, len(logs) - 2), bool))
    covariance = AdditiveCovariance(whole, v[:-2], v[-2], None, None, squared_exponential)
    return MarginalGP(covariance, jnp.asarray(data.x), NOISE + v[-1], jnp.asarray(data.mask))


@jax.jit
def posterior(logs: jax.Array, data: Data) -> ConditionedGP:
    return jax.tree.map(lambda v: v[None], process(logs, data).condition(jnp.asarray(data.y)))


def fit(x: np.ndarray, f: np.ndarray) -> np.ndarray:
    """Kernel parameters of maximum likelihood."""
    data = Data.padded(x, f)
    y = jnp.asarray(data.y)
    loss = jax.jit(jax.value_and_grad(lambda logs: -process(logs, data).log_prob(y)))
    start, box = [-1.0] * x.shape[1] + [0.0, -7.0], [(-3.5, 3.0)] * x.shape[1] + [(-2, 4), (-12, 1)]
    return minimize(lambda v: tuple(map(np.asarray, loss(v))), start, jac=True, bounds=box).x
