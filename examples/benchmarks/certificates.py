"""Bounds on the error of maxima found on the union graph of several posterior draws.

    python examples/benchmarks/certificates.py

Functions of random graphs with D edges are observed at random points. Six draws of the default
model without its residual, or of one with edges of prior probability 1/2, have graphs of their own;
the averages of their additive confidence bounds and of a sample path of each have their union. In
percent of what `maximize_additive` finds within 64 MiB, all minus the mean over 100 000 random
points: the answer, also within 1/4 MiB, where block ascent takes the place of message passing on
the whole junction tree; its upper bound on a regular grid; and the best of these points once
gradient was followed from eight of them.
"""

import argparse
import csv
import time
from collections.abc import Iterator
from functools import partial
from itertools import product
from pathlib import Path

import jax
import jax.numpy as jnp
import networkx as nx
import numpy as np
from jax import Array
from numpyro import handlers

from structbo.acquisition import Acquisition, AdditiveAcquisition, AdditiveUCB, Components, Thompson
from structbo.data import Data
from structbo.draws import Chain, Draws, condition
from structbo.maximizers import maximize_additive
from structbo.maximizers.ascent import gradient_ascent
from structbo.models import AdditiveGP, edges

MODELS = {"default": AdditiveGP(), "1/2": AdditiveGP(edges(0.5))}
NUM_DRAWS, NUM_RANDOM, NUM_STARTS, NUM_FEATURES, BETA = 6, 100_000, 8, 64, 4.0
BUDGETS = (2**26, 2**18)
TABLE = Path(__file__).parent / "results/certificates.csv"
HEADER = (
    *("edge prior", "D", "observations", "seed", "acquisition", "edges of the union", "treewidth"),
    *("MiB", "exact", "bound grid", "CPU seconds", "value %", "bound %", "random + gradient %"),
)


def posterior(prior: str, num_dims: int, num_data: int, seed: int) -> tuple[Draws, Data]:
    """Draws given a function of a random graph, and the data."""
    rng = np.random.default_rng([num_dims, seed])
    graph = nx.gnm_random_graph(num_dims, num_dims, seed=int(rng.integers(2**31)))
    truth = {
        "Z": jnp.array(nx.to_numpy_array(graph, dtype=int)),
        "lengthscale": jnp.array(rng.uniform(0.2, 0.6, num_dims)),
        "outputscale": 1.0,
        "noise": 1e-3,
    }
    x = rng.random((num_data, num_dims))
    y = np.asarray(handlers.seed(handlers.substitute(MODELS["default"], truth), seed)(x))
    data = Data.padded(x, (y - y.mean()) / y.std())
    return Chain(MODELS[prior], NUM_DRAWS, seed).advance(data), data


@partial(jax.jit, static_argnums=0)
def acquisitions(prior: str, draws: Draws, data: Data, key: Array) -> tuple[Array, dict]:
    """Components of all draws, and the acquisitions to maximize."""
    posteriors = condition(MODELS[prior], draws, data)
    which, keys = jnp.arange(NUM_DRAWS), jax.random.split(key, NUM_DRAWS)
    paths = jax.lax.map(lambda item: item[0].sample_path(item[1], NUM_FEATURES), (posteriors, keys))
    return posteriors.covariance.decomposition.members, {
        "UCB": Acquisition(posteriors, jnp.full(NUM_DRAWS, BETA), which, AdditiveUCB(BETA)),
        "paths": Acquisition(paths, None, which, Thompson()),
    }


@jax.jit
def value_and_gradient(mean: Acquisition, x: np.ndarray) -> tuple[Array, Array]:
    """Values of a batch of points and their gradients."""
    values, back = jax.vjp(mean, jnp.asarray(x))
    return values, back(jnp.ones(len(x)))[0]


def measure(prior: str, num_dims: int, num_data: int, seed: int) -> Iterator[tuple]:
    """Rows of the table: one for every acquisition and budget."""
    draws, data = posterior(prior, num_dims, num_data, seed)
    members, both = acquisitions(prior, draws, data, jax.random.key(0))
    evaluate = jax.jit(Acquisition.__call__)
    num_edges = int(np.triu(np.asarray(draws["Z"]).any(0)).sum())
    points = np.random.default_rng(seed).random((NUM_RANDOM, num_dims))
    for kind, mean in both.items():
        function = AdditiveAcquisition.of(mean, Components.of(np.asarray(members)))
        values = np.concatenate([evaluate(mean, chunk) for chunk in np.split(points, 50)])
        starts = points[np.argsort(-values)[:NUM_STARTS]]
        ascent = partial(value_and_gradient, mean)
        _, climbed = gradient_ascent(ascent, starts, np.ones(num_dims, bool), max_iterations=500)
        scale = 0.0
        for budget in BUDGETS:
            begin = time.process_time()
            answer = maximize_additive(function, levels=[None] * num_dims, memory_budget=budget)
            seconds = round(time.process_time() - begin, 1)
            scale = scale or 0.01 * (answer.value - values.mean())
            case = (prior, num_dims, num_data, seed, kind, num_edges, answer.treewidth)
            how = (budget / 2**20, answer.exact, answer.bound_grid, seconds)
            found = (answer.value, answer.upper_bound, climbed.max())
            yield (*case, *how, *(round(float(v - values.mean()) / scale, 3) for v in found))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--priors", nargs="+", default=list(MODELS), choices=MODELS)
    parser.add_argument("--dims", type=int, nargs="+", default=[10, 20, 50])
    parser.add_argument("--observations", type=int, nargs="+", default=[30, 100])
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1])
    parser.add_argument("--table", type=Path, default=TABLE, help="rows are added at its end")
    given = parser.parse_args()
    jax.config.update("jax_enable_x64", True)
    with open(given.table, "a", buffering=1) as file:
        table = csv.writer(file, lineterminator="\n")
        if not file.tell():
            table.writerow(HEADER)
        for case in product(given.priors, given.dims, given.observations, given.seeds):
            table.writerows(measure(*case))
