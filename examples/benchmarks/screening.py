"""Screening of 1,000 parameters, of which ten matter, with all hyper-parameters estimated.

    python examples/benchmarks/screening.py

The function is a sum of ten random functions of one parameter each, squared exponential with
lengthscale 0.2, and has variance one. The noise has a deviation of 0.1. Prints, for each run, the
evaluations, the inactive parameters that were kept, and the share of the variance of each active
parameter that was missed. Results are in NOTES.md.
"""

import time

import numpy as np

import structbo as sb

NUM_DIMS = 1000
NUM_ACTIVE = 10
NUM_RUNS = 10
BUDGET = 3000
NUM_FEATURES, LENGTHSCALE, NOISE = 200, 0.2, 0.1


def run(seed: int) -> str:
    """A screening; one line of the table."""
    rng = np.random.default_rng(seed)
    active = np.sort(rng.choice(NUM_DIMS, NUM_ACTIVE, replace=False))
    frequencies = rng.normal(size=(NUM_ACTIVE, NUM_FEATURES)) / LENGTHSCALE
    phases = rng.uniform(0, 2 * np.pi, frequencies.shape)
    amplitudes = rng.normal(size=frequencies.shape)

    def terms(x: np.ndarray) -> np.ndarray:
        """The values of the ten functions at points (..., 10)."""
        return (np.cos(x[..., None] * frequencies + phases) * amplitudes).sum(-1)

    variances = terms(rng.random((4000, NUM_ACTIVE))).var(0)
    scale = np.sqrt(variances.sum())

    def observe(x: np.ndarray) -> float:
        return float(terms(x[active]).sum() / scale + NOISE * rng.normal())

    screening = sb.HierarchicalDiagonalSampling([(0.0, 1.0)] * NUM_DIMS, budget=BUDGET, seed=seed)
    start = time.process_time()
    while not screening.is_done:
        trial = screening.ask()
        screening.tell(trial, observe(np.array(list(trial.params.values()))))
    found = {int(name[1:]) for name in screening.active}
    missed = [
        f"{v / scale**2:.3f}" for d, v in zip(active, variances, strict=True) if d not in found
    ]
    return (
        f"| {seed} | {len(screening.trials)} | {len(found - set(active))} | {', '.join(missed)} | "
        f"{time.process_time() - start:.0f} |"
    )


if __name__ == "__main__":
    print("| seed | evaluations | inactive kept | shares of the missed | CPU seconds |")
    print("|---|---|---|---|---|")
    for seed in range(NUM_RUNS):
        print(run(seed), flush=True)
