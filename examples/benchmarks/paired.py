"""Regret of structbo and of BoTorch's default on random functions, seed by seed.

    python examples/benchmarks/paired.py --bench ../shared/bench --seeds 0 1 2 3 4 5 6 7 8 9

Functions are draws from Gaussian processes that are sums over the edges of a graph, by
``GraphGP`` of the folder's ``problems.py``: a star, a grid, a random graph of 15 variables; and one
whose directions are no axes. Both methods are told the same 20 Sobol points, with noise of 1 % of
the range. Every run is a row of results/paired.csv; what is printed are medians, and the logarithm
of structbo's regret over BoTorch's of the same seed, with Wilcoxon's signed-rank test. ``GraphGP``
notes the optima that it finds in the folder, which must be one that can be written.
"""

import os

os.environ["OMP_NUM_THREADS"] = os.environ["OPENBLAS_NUM_THREADS"] = "1"

import sys
from itertools import product
from typing import Any

import numpy as np
from methods import BoTorch, Structbo
from posterior_data import GRID, random_pairs
from runs import Runs, parser
from scipy.stats import qmc, wilcoxon

BUDGETS = {"star10": 100, "grid9": 100, "graph15": 100, "rotated10": 200}
COUNTS = (50, 100, 200)
METHODS = {"structbo": Structbo, "BoTorch": BoTorch}
NUM_INITIAL = 20


class Rotated:
    """A sum of waves and bowls along ten random directions, around a random point."""

    D = 10
    f_opt = 10.0

    def __init__(self, seed: int) -> None:
        rng = np.random.default_rng([seed, 10])
        self._directions = np.linalg.qr(rng.normal(size=(self.D, self.D)))[0]
        self._center = rng.uniform(0.2, 0.8, self.D)

    def __call__(self, x: np.ndarray) -> np.ndarray:
        z = 4.0 * (x - self._center) @ self._directions
        return np.asarray((np.cos(3.0 * z) - 0.5 * z**2).sum(1))


def problem_of(family: str, seed: int) -> Any:
    """The function of a family that a seed stands for; at its optimum it has the value `f_opt`."""
    if family == "rotated10":
        return Rotated(seed)
    from problems import GraphGP

    num_dims, edges = {
        "star10": (10, [(0, d) for d in range(1, 10)]),
        "grid9": (9, GRID),
        "graph15": (15, random_pairs(15, seed)),
    }[family]
    return GraphGP(f"{family}.{seed}", num_dims, edges, seed)


def regret(family: str, seed: int, method: str) -> np.ndarray:
    """Regret of the best point so far after each evaluation, shape (budget,)."""
    problem = problem_of(family, seed)
    noise = np.random.default_rng([seed, 987])
    median = np.median(problem(qmc.Sobol(problem.D, seed=12345).random_base2(12)))
    deviation = 0.01 * (problem.f_opt - median)
    running = METHODS[method](problem.D, seed=seed)
    points = list(qmc.Sobol(problem.D, seed=seed).random_base2(5)[:NUM_INITIAL])
    for n in range(BUDGETS[family]):
        if n >= NUM_INITIAL:
            points += running.ask(1)
        value = problem(points[n][None])[0] + deviation * noise.standard_normal()
        running.tell(points[n], float(value))
    return np.asarray(problem.f_opt - np.maximum.accumulate(problem(np.array(points))))


def show(family: str, runs: Runs) -> None:
    print(f"\n{family:<20}", *(f"{n:>8}" for n in COUNTS), " seeds")
    found = {method: runs.of_seeds(family, method) for method in METHODS}
    for method, values in found.items():
        print(f"  {method:<18}", *(f"{v:>8.3g}" for v in np.median(values, axis=0)), len(values))
    seeds = min(map(len, found.values()))
    ratios = np.log(found["structbo"][:seeds] / found["BoTorch"][:seeds])
    for n, ratio in zip(COUNTS, ratios.T, strict=True):
        if np.isfinite(ratio).all() and seeds > 1:
            error = ratio.std(ddof=1) / np.sqrt(seeds)
            p = wilcoxon(ratio).pvalue
            print(f"  log ratio at {n}: {ratio.mean():.2f} +- {error:.2f}, p = {p:.2g}")


def main() -> None:
    options = parser(__doc__.splitlines()[0], "paired.csv", list(BUDGETS), BUDGETS)
    arguments = options.parse_args()
    sys.path.append(str(arguments.bench))
    runs = Runs(arguments.results, ("problem", "method", "seed"), tuple(map(str, COUNTS)))
    for seed, family, method in product(arguments.seeds, arguments.problems, METHODS):
        if (family, method, seed) in runs:
            continue
        curve = regret(family, seed, method)
        runs.add(
            (family, method, seed), [curve[n - 1] if n <= len(curve) else np.nan for n in COUNTS]
        )
    for family in arguments.problems:
        show(family, runs)


if __name__ == "__main__":
    main()
