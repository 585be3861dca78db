"""Regret of structbo and of BoTorch's default on random functions, seed by seed.

    python examples/benchmarks/paired.py --bench ../shared/bench --seeds 0 1 2 3 4 5 6 7 8 9

Options choose two other METHODS. Settings such as the criterion are chosen on seeds from 100 up;
seeds below evaluate them. With the true graph known there is no structure to learn.

Functions are draws from Gaussian processes that are sums over the edges of a graph, by
``GraphGP`` of the folder's ``problems.py``: a star, a grid, a random graph of 15 variables; and one
with directions other than axes. With the model known, the graph, the kernel and the noise all match
the function. Both methods are told the same 20 Sobol points, with noise of 1 % of the range. Every
run is a row of results/paired.csv. The script prints medians, and the log ratio of the first
method's regret to the second's for equal seeds, with Wilcoxon's signed-rank test. ``GraphGP``
stores optima in the folder, which must be writable.
"""

import os

os.environ["OMP_NUM_THREADS"] = os.environ["OPENBLAS_NUM_THREADS"] = "1"

import sys
from collections.abc import Sequence
from itertools import product

import numpy as np
from paired_methods import METHODS
from random_functions import problem_of
from runs import Runs, parser
from scipy.stats import qmc, wilcoxon

BUDGETS = {"star10": 100, "grid9": 100, "graph15": 100, "rotated10": 200}
COUNTS = (50, 100, 200)
NUM_INITIAL = 20


def regret(family: str, seed: int, method: str) -> np.ndarray:
    """Regret of the best point so far after each evaluation, shape (budget,)."""
    problem = problem_of(family, seed)
    noise = np.random.default_rng([seed, 987])
    median = np.median(problem(qmc.Sobol(problem.D, seed=12345).random_base2(12)))
    deviation = 0.01 * (problem.f_opt - median)
    running = METHODS[method](problem, seed)
    points = list(qmc.Sobol(problem.D, seed=seed).random_base2(5)[:NUM_INITIAL])
    for n in range(BUDGETS[family]):
        if n >= NUM_INITIAL:
            points += running.ask(1)
        value = problem(points[n][None])[0] + deviation * noise.standard_normal()
        running.tell(points[n], float(value))
    return np.asarray(problem.f_opt - np.maximum.accumulate(problem(np.array(points))))


def show(family: str, runs: Runs, methods: Sequence[str], seeds: Sequence[int]) -> None:
    print(f"\n{family:<20}", *(f"{n:>8}" for n in COUNTS), " seeds")
    found = [
        np.array([runs.rows[family, method, str(seed)] for seed in seeds]) for method in methods
    ]
    for method, values in zip(methods, found, strict=True):
        print(f"  {method:<18}", *(f"{v:>8.3g}" for v in np.median(values, axis=0)), len(values))
    ratios = np.log(found[0] / found[1])
    for n, ratio in zip(COUNTS, ratios.T, strict=True):
        if np.isfinite(ratio).all() and len(seeds) > 1:
            error = ratio.std(ddof=1) / np.sqrt(len(seeds))
            p = wilcoxon(ratio).pvalue
            print(f"  log ratio at {n}: {ratio.mean():.2f} +- {error:.2f}, p = {p:.2g}")


def main() -> None:
    options = parser(__doc__.splitlines()[0], "paired.csv", list(BUDGETS), BUDGETS)
    options.add_argument("--methods", nargs=2, choices=METHODS, default=["structbo", "BoTorch"])
    arguments = options.parse_args()
    sys.path.append(str(arguments.bench))
    runs = Runs(arguments.results, ("problem", "method", "seed"), tuple(map(str, COUNTS)))
    for seed, family, method in product(arguments.seeds, arguments.problems, arguments.methods):
        if (family, method, seed) in runs:
            continue
        curve = regret(family, seed, method)
        runs.add(
            (family, method, seed), [curve[n - 1] if n <= len(curve) else np.nan for n in COUNTS]
        )
    for family in arguments.problems:
        show(family, runs, arguments.methods, arguments.seeds)


if __name__ == "__main__":
    main()
