"""Screening of 1,000 parameters, of which ten matter, with all hyper-parameters estimated.

    python examples/benchmarks/screening.py

The function is a sum of ten squared exponential samples of one parameter each, with lengthscale 0.2
and total variance one. The noise has a deviation of 0.1. Prints, for each run, the evaluations, the
number of inactive parameters that were kept, and the variance along each active parameter that was
missed. Results are in NOTES.md.
"""

import sys
import time
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))  # the folder of the package `papers`

from wide_random import Scopes, waves

import structbo as sb

NUM_DIMS = 1000
NUM_ACTIVE = 10
NUM_RUNS = 10
BUDGET = 3000
LENGTHSCALE, NOISE = 0.2, 0.1


def run(seed: int) -> str:
    """A screening; one line of the table."""
    rng = np.random.default_rng(seed)
    active = np.sort(rng.choice(NUM_DIMS, NUM_ACTIVE, replace=False))
    scopes: Scopes = [(int(d),) for d in active]
    shares = np.full(NUM_ACTIVE, 1.0 / NUM_ACTIVE)
    function = waves(scopes, shares, np.full(NUM_DIMS, LENGTHSCALE), rng)

    def variance(dim: int) -> float:
        """The variance along one parameter."""
        points = np.full((1001, NUM_DIMS), 0.5)
        points[:, dim] = np.linspace(0.0, 1.0, 1001)
        return float(function(points).var())

    space = sb.Space.box([(0.0, 1.0)] * NUM_DIMS)
    screening = sb.HierarchicalDiagonalSampling(space, budget=BUDGET, seed=seed)
    start = time.process_time()
    while not screening.is_done:
        trial = screening.ask()
        screening.tell(trial, float(function(trial.params)) + NOISE * rng.normal())
    found = {int(name[1:]) for name in screening.active}
    missed = [f"{variance(d):.3f}" for d in active if d not in found]
    cells = (seed, len(screening.trials), len(found - set(active)), ", ".join(missed))
    return f"| {' | '.join(map(str, cells))} | {time.process_time() - start:.0f} |"


if __name__ == "__main__":
    print("| seed | evaluations | inactive kept | variances of the missed | CPU seconds |")
    print("|---|---|---|---|---|")
    for seed in range(NUM_RUNS):
        print(run(seed), flush=True)
