"""Mixing of edge samplers: effective draws of edge inclusions per second of processor time.

    python examples/benchmarks/mixing.py [--seconds 10] [--cases 10,100 20,200 50,300]

Every sampler has the same block for the continuous sites and the same time per chain, half of which
is discarded. Four chains start from draws of the prior. Times are of one thread, without
compilation. An edge moves if it is in some of the draws but not in all. The table is in
results/mixing.csv.
"""

import os

os.environ["OPENBLAS_NUM_THREADS"] = "1"
os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"

import argparse
import csv
import time
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
from numpyro.infer import Gibbs

from structbo.models import AdditiveGP
from structbo.samplers import EdgeGibbs, Hamiltonian, InformedEdges, ParallelTempering

with warnings.catch_warnings(action="ignore"):
    import arviz as az

numpyro.enable_x64()
NUM_CHAINS, NUM_WARMUP, CHUNK = 4, 50, 5
SPEED = "ms/sweep", "sweeps", "acceptance", "moving", "least ESS/s", "median ESS/s"
COLUMNS = "D", "n", "sampler", *SPEED, "median R-hat", "largest R-hat"


def observations(num_dims: int, n: int) -> tuple[jax.Array, jax.Array]:
    """A sum over D / 2 random pairs of waves, with 1 % noise."""
    rng = np.random.default_rng(0)
    x, y = rng.random((n, num_dims)), np.zeros(n)
    for _ in range(num_dims // 2):
        i, j = rng.choice(num_dims, 2, replace=False)
        y += np.sin(rng.uniform(2.0, 6.0) * x[:, i] + rng.uniform(2.0, 6.0) * x[:, j])
    y = (y - y.mean()) / y.std() + 0.01 * rng.standard_normal(n)
    return jnp.asarray(x), jnp.asarray(y)


def composed(block: Callable[..., Any], model: Any) -> Gibbs:
    """A block for the edges, with the default sampler's block for the other sites."""
    return Gibbs([(block(model), ["Z"]), (Hamiltonian(model), None)])


def samplers(model: AdditiveGP, num_dims: int) -> Iterator[tuple[str, Any]]:
    """D flips of EdgeGibbs take about as long as ten of the 20 informed moves."""
    yield "EdgeGibbs", composed(partial(EdgeGibbs, num_moves=num_dims), model)
    yield "InformedEdges", composed(InformedEdges, model)
    if num_dims <= 10:
        yield "ParallelTempering", ParallelTempering(model, partial(composed, InformedEdges))


def run(kernel: Any, args: tuple[Any, ...], seconds: float) -> tuple[Any, Any, float, int]:
    """Edges and acceptance rates of all chains, processor time of a chain, and its sweeps."""

    def step(state: Any, _: Any) -> tuple[Any, tuple[Any, Any]]:
        state = kernel.sample(state, args, {})
        reported = getattr(state, "replicas", [state])[0]  # of a tempered sampler, the first
        return state, (state.z["Z"], reported.block_states[0].accept_prob)

    initialize = jax.jit(lambda key: kernel.init(key, NUM_WARMUP, None, args, {}))
    sweep = jax.jit(lambda state: jax.lax.scan(step, state, None, length=CHUNK))
    starts = [initialize(key) for key in jax.random.split(jax.random.key(0), NUM_CHAINS)]
    jax.block_until_ready(sweep(sweep(starts[0])[0]))  # states of sweeps have stronger types

    chains, times = [], []
    for state in starts:
        found, begin = [], time.process_time()
        while time.process_time() - begin < seconds:
            state, draws = jax.block_until_ready(sweep(state))
            found.append(draws)
        chains.append(jax.tree.map(lambda *parts: np.concatenate(parts), *found))
        times.append((time.process_time() - begin) / len(chains[-1][0]))
    num_sweeps = min(len(edges) for edges, _ in chains)
    edges, rates = (np.stack([c[k][num_sweeps // 2 : num_sweeps] for c in chains]) for k in (0, 1))
    return edges, rates, float(np.mean(times)), num_sweeps


def measure(kernel: Any, args: tuple[Any, ...], seconds: float) -> list[str]:
    """The numbers of one row of the table."""
    edges, rates, per_sweep, num_sweeps = run(kernel, args, seconds)
    inclusions = edges[:, :, *np.triu_indices(args[0].shape[1], 1)].astype(float)
    moving = inclusions[:, :, inclusions.min((0, 1)) < inclusions.max((0, 1))]
    edge_chains = [moving[:, :, e] for e in range(moving.shape[2])]
    r_hat = [az.rhat(chains) for chains in edge_chains] or [np.nan]
    size = np.array([az.ess(chains, method="mean") for chains in edge_chains] or [np.nan])
    rate = size / (NUM_CHAINS * inclusions.shape[1] * per_sweep)
    speed = 1e3 * per_sweep, num_sweeps, rates.mean(), len(edge_chains), rate.min(), np.median(rate)
    return [f"{v:.4g}" for v in (*speed, np.nanmedian(r_hat), np.nanmax(r_hat))]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=10.0, help="of each chain")
    parser.add_argument("--cases", nargs="+", default=["10,100", "20,200", "50,300"])
    parser.add_argument("--folder", type=Path, default=Path(__file__).parent / "results")
    options = parser.parse_args()
    with open(options.folder / "mixing.csv", "w", buffering=1, newline="") as file:
        csv.writer(file).writerow(COLUMNS)
        for num_dims, n in (map(int, case.split(",")) for case in options.cases):
            model, args = AdditiveGP(), observations(num_dims, n)
            for name, kernel in samplers(model, num_dims):
                row = num_dims, n, name, *measure(kernel, args, options.seconds)
                csv.writer(file).writerow(row)
                print(dict(zip(COLUMNS, row, strict=True)), flush=True)
