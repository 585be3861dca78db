"""Beale's function, on which screening fails, and how later evaluations correct it.

    python examples/benchmarks/beale.py --seeds 0 1 2

Two of 50 parameters matter, almost only near two corners. Hierarchical Diagonal Sampling with known
kernel parameters, as in Chen, Castro and Krause (2012), decides too early. An `Optimizer` with this
first stage uses its evidence as a prior, which later observations can overrule. The script prints
the parameters found by the screening, the probabilities of activity before and after the second
stage, and the best noiseless value, which is at most 10.7.
"""

import argparse
import sys
from pathlib import Path
from typing import Any

import numpy as np

import structbo as sb

sys.path.insert(0, str(Path(__file__).parents[1]))  # the folder of the package `papers`

from papers.problems.embedded import beale

NUM_DIMS, NOISE, BUDGET = 50, 0.1, 60
KNOWN: dict[str, Any] = {"noise": NOISE, "outputscale": 1.0, "bandwidth": 0.05}


def run(seed: int) -> None:
    rng = np.random.default_rng([seed, NUM_DIMS])
    active = np.sort(rng.choice(NUM_DIMS, 2, replace=False))
    function = beale(rng, NUM_DIMS, active)
    space = sb.Space.box([[-1.0, 1.0]] * NUM_DIMS)
    hds = sb.HierarchicalDiagonalSampling(space, "GPT", budget=1000, seed=seed, **KNOWN)
    optimizer = sb.Optimizer(space, "maximize", seed=seed, screening=hds)
    values: list[float] = []
    num_trials = num_screened = 0
    while not num_screened or num_trials < num_screened + BUDGET:
        trial = optimizer.ask()
        num_trials += 1
        values.append(function(trial.params))
        optimizer.tell(trial, values[-1] + np.sqrt(NOISE) * rng.normal())
        if not num_screened and hds.is_done:
            num_screened = num_trials
            before = hds.active_probabilities()
    after = np.asarray(optimizer.posterior.active_probabilities().mean)
    others = np.setdiff1d(np.arange(NUM_DIMS), active)
    print(
        f"seed {seed}: {num_screened} evaluations find {len(hds.active)}, "
        f"{len(set(hds.active) & {f'x{i}' for i in active})} of 2 right; probabilities "
        f"{np.round(before[active], 2)}, others up to {before[others].max():.2f}; after "
        f"{BUDGET} more {np.round(after[active], 2)}, others up to {after[others].max():.2f}; best "
        f"value {max(values[:num_screened]):.2f}, then {max(values):.2f}",
        flush=True,
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2, 3, 4])
    for seed in parser.parse_args().seeds:
        run(seed)
