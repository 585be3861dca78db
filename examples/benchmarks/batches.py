"""Batches of several sizes: the regret, and how far apart the points are.

    python examples/benchmarks/batches.py --bench ../shared/bench

Simple regret after 100 evaluations, including 20 common Sobol points. Every run is written to
results/batch_sizes.csv as it ends, and is skipped the next time; the table has medians over
existing seeds. The distance is between the two closest points of a batch, in the unit cube: the
median over batches.
"""

import sys
import time

import numpy as np
from regret import run
from runs import Runs, parser
from scipy.spatial.distance import pdist

import structbo as sb

BUDGET, NUM_SHARED = 100, 20
CASES = [("believer", 1), *((b, q) for q in (4, 10) for b in ("believer", "dpp_sample"))]
KEYS = ("problem", "batch", "size", "seed")
VALUES = ("regret", "distance", "seconds per batch")


def closest(x: np.ndarray, size: int) -> float:
    """The median over batches of the smallest distance within one."""
    starts = range(NUM_SHARED, len(x) - size + 1, size)
    return float(np.median([pdist(x[i : i + size]).min() for i in starts])) if size > 1 else np.nan


def show(runs: Runs) -> None:
    for problem in dict.fromkeys(problem for problem, _, _ in runs.settings()):
        print(f"\n{problem:<24} regret  distance  seconds per batch  seeds")
        for batch, size in (setting[1:] for setting in runs.settings() if setting[0] == problem):
            numbers = runs.of_seeds(problem, batch, size)
            regret, distance, seconds = np.median(numbers, axis=0)
            cells = f"{regret:>6.3g} {distance:>9.2f} {seconds:>18.1f}"
            print(f"  {batch + f', q = {size}':<22} {cells} {len(numbers):>6}")


def main() -> None:
    options = parser(__doc__.splitlines()[0], "batch_sizes.csv", ["star10.0", "styblinski10"])
    arguments = options.parse_args()
    sys.path.insert(0, str(arguments.bench))
    from problems import get_problem

    runs = Runs(arguments.results, KEYS, VALUES)
    for seed in arguments.seeds:
        for name in arguments.problems:
            for batch, size in CASES:
                if (name, batch, size, seed) in runs:
                    continue
                problem = get_problem(name)
                box = sb.Space.box([[0, 1]] * problem.D)
                optimizer = sb.Optimizer(box, "maximize", seed=seed, batch=batch)
                start = time.process_time()
                regret = run(problem, optimizer, seed, BUDGET, size)[-1]
                seconds = (time.process_time() - start) / -(-(BUDGET - NUM_SHARED) // size)
                x = np.array([trial.params for trial in optimizer.trials])
                runs.add((name, batch, size, seed), (regret, closest(x, size), seconds))
    show(runs)


if __name__ == "__main__":
    main()
