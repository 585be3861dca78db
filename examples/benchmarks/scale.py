"""Time and memory of suggestions as evaluations and parameters grow.

    python examples/benchmarks/scale.py [--cases 50,100 50,300]

Every case runs in a separate process with an empty cache of programs. Its first suggestion compiles
and runs the Markov chain in; each later one follows one more value. Seconds are wall time. The
table is written to results/scale.csv row by row. At the end, the script prints the exponents with
which times and memory grow between cases.
"""

import argparse
import csv
import math
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

CASES = [
    *("10,250", "10,1000", "10,2000", "10,5000"),
    *("50,250", "50,500", "50,1000", "100,500", "100,1000", "200,500", "500,500", "1000,500"),
]
"""Parameters and evaluations."""
COLUMNS = ("D", "n", "first_s", "next_s", "MB")

CASE = """
import resource, sys, time
start = time.perf_counter()
import numpy as np, structbo as sb

num_dims, n = map(int, sys.argv[1].split(","))
rng = np.random.default_rng(0)

def objective(x):
    return float(np.sin(5 * x[0] * x[1]) + x[2] * x[3] + np.cos(4 * x[4]) + 0.01 * rng.normal())

optimizer = sb.Optimizer(sb.Space.box([[0, 1]] * num_dims), "maximize", seed=0)
for point in rng.random((n - 3, num_dims)):
    optimizer.tell(point, objective(point))
for _ in range(4):
    trial = optimizer.ask()
    print(time.perf_counter() - start, flush=True)
    start = time.perf_counter()
    optimizer.tell(trial, objective(trial.params))
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
"""


def measured(case: str) -> list[float]:
    """Seconds of the first suggestion including the import, and of a later one, and peak memory."""
    command = [sys.executable, "-c", CASE, case]
    output = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    first, *warm, memory = map(float, output.split())
    return [first, sorted(warm)[len(warm) // 2], memory]


def exponents(cases: list[list[float]]) -> list[str]:
    """Growth exponents of times and memory, between cases that differ in one of the two numbers."""
    lines = []
    for before, after in pairwise(cases):
        changed = [i for i in (0, 1) if before[i] != after[i]]
        if len(changed) == 1:
            (i,) = changed
            growth = math.log(after[i] / before[i])
            powers = [math.log(b / a) / growth for a, b in zip(before[2:], after[2:], strict=True)]
            where = f"{COLUMNS[i]} from {before[i]:.0f} to {after[i]:.0f}"
            named = zip(COLUMNS[2:], powers, strict=True)
            lines.append(f"{where}: " + ", ".join(f"{name} ^{power:.1f}" for name, power in named))
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cases", nargs="+", default=CASES)
    results = Path(__file__).parent / "results" / "scale.csv"
    parser.add_argument("--results", type=Path, default=results)
    arguments = parser.parse_args()
    rows: list[list[float]] = []
    for case in arguments.cases:
        num_dims, n = map(float, case.split(","))
        rows.append([num_dims, n, *measured(case)])
        print(*(f"{name} {value:.4g}" for name, value in zip(COLUMNS, rows[-1], strict=True)))
        sys.stdout.flush()
        with arguments.results.open("w", newline="") as file:
            table = csv.writer(file, lineterminator="\n")
            table.writerow(COLUMNS)
            table.writerows([[f"{value:.4g}" for value in row] for row in rows])
    print(*exponents(rows), sep="\n")


if __name__ == "__main__":
    main()
