"""How much maximization on the union graph of several draws can have missed.

    python examples/bench_certificates.py

Three draws with random graphs of D edges each are conditioned on 50 observations; the function to
maximize is the mean of one sample path of each, whose graph is the union of theirs. Beside the
answer of `maximize_additive` stand its upper bound over the grid and the best of 100 000 random
points, eight of which were followed by gradient; all minus the mean over random points, in percent
of the answer.
"""

import time
from functools import partial

import jax
import jax.numpy as jnp
import networkx as nx
import numpy as np

from structbo.acquisition import Acquisition, AdditiveAcquisition, Components, Thompson
from structbo.inference import Data, condition
from structbo.maximizers import maximize_additive
from structbo.maximizers.polish import gradient_ascent
from structbo.models import AdditiveGP

NUM_DRAWS, NUM_DATA, NUM_RANDOM, NUM_STARTS, NUM_FEATURES = 3, 50, 100_000, 8, 64


def random_function(num_dims: int, seed: int) -> tuple[Acquisition, AdditiveAcquisition]:
    """The mean of sample paths of draws with random graphs, and the same for message passing."""
    rng = np.random.default_rng(seed)
    graphs = [nx.gnm_random_graph(num_dims, num_dims, seed=seed * 10 + s) for s in range(NUM_DRAWS)]
    draws = {
        "Z": jnp.array([nx.to_numpy_array(graph, dtype=int) for graph in graphs]),
        "lengthscale": jnp.array(rng.uniform(0.2, 0.6, (NUM_DRAWS, num_dims))),
        "outputscale": jnp.ones(NUM_DRAWS),
        "noise": jnp.full(NUM_DRAWS, 0.01),
    }
    x = rng.random((NUM_DATA, num_dims))
    data = Data.padded(x, np.sin(5.0 * x).sum(1) / np.sqrt(num_dims))

    @partial(jax.jit, static_argnums=0)
    def sample(model: AdditiveGP, keys: jax.Array) -> tuple[jax.Array, Acquisition]:
        posteriors = condition(model, draws, data)
        paths = jax.lax.map(
            lambda item: item[0].sample_path(item[1], NUM_FEATURES), (posteriors, keys)
        )
        mean = Acquisition(paths, None, jnp.arange(NUM_DRAWS), Thompson())
        return posteriors.covariance.decomposition.members, mean

    members, mean = sample(AdditiveGP(), jax.random.split(jax.random.key(seed), NUM_DRAWS))
    return mean, AdditiveAcquisition.of(mean, Components.of(np.asarray(members)))


@jax.jit
def value_and_gradient(mean: Acquisition, x: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Values of a batch of points and their gradients."""
    values, back = jax.vjp(mean, x)
    return values, back(jnp.ones(len(x)))[0]


def measure(num_dims: int, seed: int, budget: int) -> None:
    """Prints one row of the table."""
    mean, function = random_function(num_dims, seed)
    begin = time.process_time()
    levels = [None] * num_dims
    answer = maximize_additive(function, levels=levels, memory_budget=budget)
    seconds = time.process_time() - begin
    points = np.random.default_rng(seed).random((NUM_RANDOM, num_dims))
    call = jax.jit(Acquisition.__call__)
    values = np.concatenate([np.asarray(call(mean, jnp.asarray(c))) for c in np.split(points, 50)])
    starts = points[np.argsort(-values)[:NUM_STARTS]]
    ascent = partial(value_and_gradient, mean)
    _, climbed = gradient_ascent(
        lambda x: ascent(jnp.asarray(x)), starts, np.ones(num_dims, bool), max_iterations=200
    )
    found = answer.value - values.mean()
    row = [100.0 * (v - values.mean()) / found for v in (answer.upper_bound, climbed.max())]
    print(f"{num_dims:4}{seed:5}{budget / 2**20:8.0f}{answer.treewidth:7}  {answer.exact!s:6}"
          f"{answer.bound_grid:5}{seconds:8.1f}{row[0]:9.1f}{row[1]:9.1f}", flush=True)  # fmt: skip


if __name__ == "__main__":
    jax.config.update("jax_enable_x64", True)
    print("                   tree-                         bound,  random +\n"
          "   D seed     MiB  width  exact  grid   CPU s        %  gradient, %")  # fmt: skip
    for num_dims in (10, 20, 50):
        for seed in range(2):
            for budget in (2**22, 2**26):
                measure(num_dims, seed, budget)
