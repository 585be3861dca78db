"""CPU seconds of the k-DPP samplers and of the greedy search.

    python examples/bench_kdpp.py

The kernel is that of a batch: the identity plus 100 times a squared-exponential Gram matrix of
random points of the unit square, of lengthscale 0.2. The chains run as long as their bounds ask for
a total variation distance of 0.01, except where the bound of the Metropolis chain would take
minutes: there the time is extrapolated from 20,000 steps, and marked with a star.
"""

import argparse
import time
from collections.abc import Callable
from functools import partial

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
LONGEST = 200_000


def seconds(run: Callable[[Array], Array]) -> float:
    """CPU time of one call, all threads, after one that compiles."""
    keys = jax.random.split(jax.random.key(0), 2)
    run(keys[0]).block_until_ready()
    begin = time.process_time()
    run(keys[1]).block_until_ready()
    return time.process_time() - begin


def measure(n: int, k: int) -> None:
    """Prints one row of the table."""
    points = np.random.default_rng(0).uniform(size=(n, 2))
    L = np.eye(n) + 100.0 * np.exp(-0.5 * cdist(points, points, "sqeuclidean") / 0.2**2)
    exact = seconds(lambda key: sample_kdpp(key, L, k))
    heat_bath = seconds(lambda key: sample_kdpp_heat_bath(key, L, k))
    length = metropolis_steps(n, k, 0.01)
    timed = length if length <= LONGEST else NUM_TIMED
    start = seconds(partial(sample_kdpp_mcmc, L=L, k=k, num_steps=0))
    chain = seconds(partial(sample_kdpp_mcmc, L=L, k=k, num_steps=timed))
    metropolis = start + (chain - start) * length / timed
    star = " " if timed == length else "*"
    greedy = seconds(lambda key: greedy_kdpp(L, k))
    print(f"{n:6} {k:3} {exact:8.3f} {heat_bath:10.3f} ({heat_bath_steps(n, k, 0.01)})"
          f" {metropolis:10.3f}{star} ({length:9}) {greedy:8.4f}", flush=True)  # fmt: skip


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--items", type=int, nargs="+", default=[1000, 5000])
    parser.add_argument("--size", type=int, default=10)
    arguments = parser.parse_args()
    print("     n   k    exact  heat bath (steps) metropolis  (    steps)   greedy")
    for n in arguments.items:
        measure(n, arguments.size)
