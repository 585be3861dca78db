"""Batches of several sizes: what waiting for values costs, and how far apart the points are.

    python examples/bench_batches.py --bench ../shared/bench

Simple regret at equal numbers of evaluations, 100 with the 20 Sobol points that all share. Every
run is written to results/batch_sizes.csv as it ends, and is skipped the next time; the table has
medians over the seeds that are there. The distance is the median over batches of that between the
two closest points of a batch, in the unit cube.
"""

import argparse
import csv
import sys
import time
from pathlib import Path

import numpy as np
from bench_regret import run
from scipy.spatial.distance import pdist

import structbo as sb

BUDGET, NUM_SHARED = 100, 20
CASES = [("believer", 1), *((b, q) for q in (4, 10) for b in ("believer", "dpp_sample"))]
FIELDS = ["problem", "batch", "size", "seed", "regret", "distance", "seconds per batch"]


def closest(x: np.ndarray, size: int) -> float:
    """The median over batches of the smallest distance within one."""
    starts = range(NUM_SHARED, len(x) - size + 1, size)
    return float(np.median([pdist(x[i : i + size]).min() for i in starts])) if size > 1 else np.nan


def show(path: Path) -> None:
    rows = list(csv.DictReader(path.open()))
    for problem in dict.fromkeys(row["problem"] for row in rows):
        print(f"\n{problem:<24} regret  distance  seconds per batch  seeds")
        for batch, size in CASES:
            runs = [
                [float(row[field]) for field in FIELDS[4:]]
                for row in rows
                if (row["problem"], row["batch"], row["size"]) == (problem, batch, str(size))
            ]
            if runs:
                regret, distance, seconds = np.median(runs, axis=0)
                cells = f"{regret:>6.3g} {distance:>9.2f} {seconds:>18.1f}"
                print(f"  {batch + f', q = {size}':<22} {cells} {len(runs):>6}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bench", type=Path, default=Path("../shared/bench"))
    parser.add_argument("--problems", nargs="+", default=["star10.0", "styblinski10"])
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument(
        "--results", type=Path, default=Path(__file__).parent / "results" / "batch_sizes.csv"
    )
    arguments = parser.parse_args()
    sys.path.insert(0, str(arguments.bench))
    from problems import get_problem

    if not arguments.results.exists():
        arguments.results.write_text(",".join(FIELDS) + "\n")
    with arguments.results.open() as file:
        done = {tuple(row[f] for f in FIELDS[:4]) for row in csv.DictReader(file)}
    for seed in arguments.seeds:
        for name in arguments.problems:
            for batch, size in CASES:
                if (name, batch, str(size), str(seed)) in done:
                    continue
                problem = get_problem(name)
                box = sb.Space.box([[0, 1]] * problem.D)
                optimizer = sb.Optimizer(box, "maximize", seed=seed, batch=batch)
                start = time.process_time()
                regret = run(problem, optimizer, seed, BUDGET, size)[-1]
                seconds = (time.process_time() - start) / -(-(BUDGET - NUM_SHARED) // size)
                x = np.array([trial.params for trial in optimizer.trials])
                values = [f"{v:.4g}" for v in (regret, closest(x, size), seconds)]
                row = [name, batch, size, seed, *values]
                with arguments.results.open("a", newline="") as file:
                    csv.writer(file, lineterminator="\n").writerow(row)
                print(*row, flush=True)
    show(arguments.results)


if __name__ == "__main__":
    main()
