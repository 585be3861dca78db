"""A new structure prior in ten lines: neighbors along a chain are likelier to interact.

    pip install -e ".[plots]" && python examples/custom_prior.py

Parameters have an order, as stages of a process do. An edge is less likely the further apart its
parameters are in that order, and the model learns how fast its probability decays. Every sampler,
acquisition and plot works with the prior. The default sampler recognizes the edge matrix by its
support, and the decay as a real number.
"""

import argparse
from pathlib import Path

import jax.numpy as jnp
import matplotlib
import numpy as np
import numpyro
import numpyro.distributions as dist

import structbo as sb
from structbo.models import AdditiveGP, Decomposition, EdgeBernoulli, pairs

matplotlib.use("Agg")
import matplotlib.pyplot as plt

NUM_DIMS = 6


def chain(num_dims: int) -> Decomposition:
    """Edges with probability ``exp(-decay * distance)`` along the order of the parameters."""
    decay = numpyro.sample("decay", dist.LogNormal(0.0, 0.5))
    position = jnp.arange(num_dims)
    distance = jnp.abs(position[:, None] - position)
    return pairs(numpyro.sample("Z", EdgeBernoulli(num_dims, jnp.exp(-decay * distance))))


def process(x: np.ndarray) -> float:
    """Each stage works on the output of the one before."""
    return float(sum(np.sin(3.0 * x[d] + 4.0 * x[d] * x[d + 1]) for d in range(NUM_DIMS - 1)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--n-trials", type=int, default=40)
    parser.add_argument("--picture", type=Path, default=Path("custom_prior.png"))
    arguments = parser.parse_args()

    box = sb.Space.box([[0.0, 1.0]] * NUM_DIMS)
    result = sb.maximize(process, box, arguments.n_trials, model=AdditiveGP(structure=chain))
    posterior = result.posterior
    print(f"Best value {result.best_value:.3f} after {len(result.trials)} evaluations.")
    print(posterior.summary().loc[["decay"], ["mean", "sd", "ess_bulk", "r_hat"]].round(2))
    sb.plot_together(result)
    plt.gcf().savefig(arguments.picture, dpi=110, bbox_inches="tight")
    print(f"Who interacts with whom is in {arguments.picture}.")


if __name__ == "__main__":
    main()
