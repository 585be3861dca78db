"""CPU seconds of the k-DPP samplers and of the greedy search, one thread.

    python examples/benchmarks/kdpp.py

The kernel is as in a batch: the identity plus 100 times a squared-exponential Gram matrix of random
points of the unit square, with lengthscale 0.2. The lengths of chains follow from their bounds for
a total variation distance of 0.01; the time of the Metropolis chain is extrapolated from 20,000
steps. With 5000 items, checking and copying 200 MB takes nearly all time of greedy search and the
Metropolis chain. The table includes times of DPPy 0.3.3, recorded on another day: for the first
exact draw from a kernel, and for a chain of 1000 steps.
"""

import argparse
import csv
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import jax
import numpy as np
from jax import Array
from scipy.spatial.distance import cdist

from structbo.samplers import (
    greedy_kdpp,
    heat_bath_steps,
    metropolis_steps,
    sample_kdpp,
    sample_kdpp_heat_bath,
    sample_kdpp_mcmc,
)

NUM_TIMED = 20_000
DPPY = {
    ("exact", 1000): 0.165,
    ("exact", 5000): 22.0,
    ("Metropolis, 1000 steps", 1000): 0.036,
    ("Metropolis, 1000 steps", 5000): 0.049,
}


def seconds(run: Callable[[Array], Array]) -> float:
    """CPU time of one call, all threads, after one that compiles."""
    keys = jax.random.split(jax.random.key(0), 2)
    run(keys[0]).block_until_ready()
    begin = time.process_time()
    run(keys[1]).block_until_ready()
    return time.process_time() - begin


def measure(n: int, k: int) -> dict[str, float]:
    """Times by method."""
    points = np.random.default_rng(0).uniform(size=(n, 2))
    L = np.eye(n) + 100.0 * np.exp(-0.5 * cdist(points, points, "sqeuclidean") / 0.2**2)
    start, chain = (
        seconds(partial(sample_kdpp_mcmc, L=L, k=k, num_steps=steps)) for steps in (0, NUM_TIMED)
    )
    step, bound = (chain - start) / NUM_TIMED, metropolis_steps(n, k, 0.01)
    return {
        "exact": seconds(partial(sample_kdpp, L=L, k=k)),
        f"heat bath, {heat_bath_steps(n, k, 0.01)} steps": seconds(
            partial(sample_kdpp_heat_bath, L=L, k=k)
        ),
        "Metropolis, 1000 steps": start + 1000 * step,
        f"Metropolis, {bound} steps": start + bound * step,
        "greedy": seconds(lambda _: greedy_kdpp(L, k)),
    }


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--items", type=int, nargs="+", default=[1000, 5000])
    parser.add_argument("--size", type=int, default=10)
    default = Path(__file__).parent / "results/kdpp.csv"
    parser.add_argument("--table", type=Path, default=default)
    arguments = parser.parse_args()
    with open(arguments.table, "w", buffering=1) as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow(["items", "size", "method", "CPU seconds", "DPPy"])
        for n in arguments.items:
            for method, found in measure(n, arguments.size).items():
                recorded = DPPY.get((method, n), "") if arguments.size == 10 else ""
                table.writerow([n, arguments.size, method, f"{found:.4f}", recorded])
                print(f"{n:6} {method:26} {found:10.4f} {recorded}", flush=True)
