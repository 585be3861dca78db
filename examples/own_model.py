"""A graph over the components of your own model, sampled without the optimizer.

    pip install -e . && python examples/own_model.py

Counts of defects depend on five settings of a machine. The logarithm of their rate is a Gaussian
process with a component for every setting, and one for every pair of settings that interact. The
likelihood is a Poisson distribution, so the log rates are not integrated out: they are a site of
the model, like the graph and the lengthscales. `default_sampler` finds a block for each of them,
and NumPyro's `MCMC` runs the result.
"""

import argparse

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
from jax import Array
from numpyro.infer import MCMC

from structbo.models import EdgeBernoulli
from structbo.samplers import default_sampler

NUM_DIMS = 5
INTERACTIONS = ((0, 1), (2, 3))
"""The pairs of settings that interact in truth."""
EXTRA_VARIANCE = 0.05
"""Variance of log rates that no setting explains."""
EDGE_PROBABILITY = 0.2
"""That two settings interact, before any count is seen."""


def counts(X: Array, y: Array | None = None) -> None:
    """The model: counts y of shape (n,) at settings X of shape (n, D)."""
    num_rows, num_dims = X.shape
    Z = numpyro.sample("Z", EdgeBernoulli(num_dims, EDGE_PROBABILITY))
    lengthscale = numpyro.sample("lengthscale", dist.LogNormal(-0.7, 0.3).expand([num_dims]))
    deviation = numpyro.sample("deviation", dist.HalfNormal(1.0))
    level = numpyro.sample("level", dist.Normal(2.0, 1.0))
    distances = (X.T[:, :, None] - X.T[:, None]) / lengthscale[:, None, None]
    kernels = jnp.exp(-0.5 * distances**2)
    pairs = jnp.einsum("ij,inm,jnm->nm", jnp.triu(Z), kernels, kernels)
    covariance = deviation**2 * (kernels.sum(0) + pairs) + EXTRA_VARIANCE * jnp.eye(num_rows)
    log_rate = numpyro.sample("log_rate", dist.MultivariateNormal(level, covariance))
    numpyro.sample("y", dist.Poisson(jnp.exp(log_rate)), obs=y)


def simulated(num_rows: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Settings, and the counts that a machine with two interactions makes."""
    X = rng.random((num_rows, NUM_DIMS))
    log_rate = 2.0 + 0.5 * np.sin(4.0 * X[:, 4])
    for i, j in INTERACTIONS:
        log_rate += 1.2 * np.sin(4.0 * X[:, i]) * np.cos(4.0 * X[:, j])
    return X, rng.poisson(np.exp(log_rate))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--num-rows", type=int, default=80)
    parser.add_argument("--num-samples", type=int, default=500)
    arguments = parser.parse_args()

    numpyro.enable_x64()
    X, y = simulated(arguments.num_rows, np.random.default_rng(0))
    sampler = default_sampler(counts, num_dims=NUM_DIMS)
    num_samples = arguments.num_samples
    length = {"num_warmup": num_samples, "num_samples": num_samples, "num_chains": 2}
    mcmc = MCMC(sampler, **length, chain_method="sequential")
    mcmc.run(jax.random.key(0), X, y)

    by_chain = mcmc.get_samples(group_by_chain=True)["Z"]
    print("\nsettings  probability  in each chain  truth")
    for i, j in zip(*np.triu_indices(NUM_DIMS, 1), strict=True):
        first, second = by_chain[:, :, i, j].mean(1)
        truth = "interact" if (i, j) in INTERACTIONS else "-"
        chains = f"{first:.2f} and {second:.2f}"
        print(f"{i} and {j}   {(first + second) / 2:11.2f}  {chains:>13}  {truth}")


if __name__ == "__main__":
    main()
