"""Evaluations and recovery rates of variable selection, as in Chen, Castro and Krause (2012).

    python examples/studies/active_variables.py --seeds 20

The first part has samples of a Gaussian process for growing D (their figure 2), the second has
functions of a few among 200 parameters (their table 1). Coordinate-wise sampling (CWS) knows how
many parameters matter and stops at the first number of differences that finds them, as in the
paper, or at 2000 evaluations. A star marks tests with estimated hyper-parameters, which the paper
assumes known. The results in results/ come from `--seeds 10`.
"""

import argparse
import csv
from itertools import product
from pathlib import Path

import numpy as np
from active_problems import Problem, beale, branin, gp_sample, quad, quad_mix
from matplotlib.figure import Figure

import structbo as sb

METHODS, SIZES = ("GPT", "FDT", "GPT*", "FDT*", "CWS"), (10, 20, 40, 80, 200, 400)
LARGE = 200
COLUMNS = "function", "D", "d", "method", "runs", "recovery rate", "evaluations"
NOISE, BUDGET = 0.1, 2000
KNOWN = {"noise": NOISE, "outputscale": 1.0, "bandwidth": 0.05}


def run(method: str, problem: Problem, num_dims: int, d: int, seed: int) -> tuple[bool, int]:
    """Whether exactly the active parameters were found, and the number of evaluations."""
    rng = np.random.default_rng([seed, num_dims, d])
    active = np.sort(rng.choice(num_dims, d, replace=False))
    function = problem(rng, num_dims, active)
    truth = tuple(f"x{i}" for i in active)
    space = sb.Space.box([[-1.0, 1.0]] * num_dims)

    def observe(x: np.ndarray) -> float:
        return function(x) + np.sqrt(NOISE) * rng.normal()

    if method != "CWS":
        known = {} if method.endswith("*") else KNOWN
        hds = sb.HierarchicalDiagonalSampling(
            space, method.strip("*"), budget=BUDGET, seed=seed, **known
        )
        hds.run(observe)
        return hds.active == truth, len(hds.trials)
    rounds = BUDGET // (2 * num_dims)
    cws = sb.CoordinatewiseSampling(space, d, num_differences=rounds, seed=seed)
    while not cws.is_done:
        for _ in range(2 * num_dims):
            trial = cws.ask()
            cws.tell(trial, observe(trial.params))
        if cws.active == truth:
            return True, len(cws.trials)
    return False, len(cws.trials)


def write(rows: list[tuple], folder: Path) -> None:
    """The table, and a picture of its first part."""
    with open(folder / "active.csv", "w", newline="") as file:
        csv.writer(file).writerows([COLUMNS, *rows])
    figure = Figure(figsize=(5.5, 3.6), layout="tight")
    axis = figure.subplots()
    for method in METHODS:
        ours = [row for row in rows if row[0] == "gp_sample" and row[3] == method]
        axis.plot([row[1] for row in ours], [row[6] for row in ours], "o-", ms=4, label=method)
    axis.set(xscale="log", xticks=SIZES, xlabel="parameters D, of which 2 matter")
    axis.set(xticklabels=SIZES, ylabel="evaluations", ylim=(0, None))
    axis.minorticks_off()
    axis.legend()
    figure.savefig(folder / "active.png", dpi=110)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--folder", type=Path, default=Path(__file__).parent / "results")
    options = parser.parse_args()
    cases: list[tuple[Problem, int, int]] = [(gp_sample, num_dims, 2) for num_dims in SIZES]
    cases += [(problem, LARGE, d) for problem in (quad, quad_mix) for d in (2, 4, 6)]
    cases += [(branin, LARGE, 2), (beale, LARGE, 2)]
    rows: list[tuple] = []
    for (problem, num_dims, d), method in product(cases, METHODS):
        found = [run(method, problem, num_dims, d, seed) for seed in range(options.seeds)]
        recovery, cost = np.round(np.mean(found, 0), 2)
        rows.append((problem.__name__, num_dims, d, method, len(found), recovery, cost))
        print(dict(zip(COLUMNS, rows[-1], strict=True)), flush=True)
        write(rows, options.folder)
