"""Loss of acquisition by shorter gradient ascents and by fewer starts.

    python examples/benchmarks/ascent.py --bench ../shared/bench

At every proposal of a run, the same acquisition is maximized with each setting. The table has the
difference of the log expected improvement to the best setting, over all proposals of all runs: its
mean, and the share above one twentieth. It also has CPU seconds without compilation. Functions come
from `paired.py`, without noise.
"""

import os

os.environ["OMP_NUM_THREADS"] = os.environ["OPENBLAS_NUM_THREADS"] = "1"

import sys
import time
from dataclasses import dataclass, field
from itertools import product
from typing import Any

import numpy as np
from random_functions import problem_of
from runs import Runs, parser
from scipy.stats import qmc

import structbo as sb
from structbo.maximizers import GradientAscent, MultiStart, evaluate

FAMILIES = ("star10", "graph15", "rotated10")
NUM_INITIAL, BUDGET = 20, 80
SETTINGS = [(11, 200), (11, 60), (11, 30), (11, 15), (6, 30), (3, 30)]
"""Number of starts, number of starts for coordinate ascent, and iterations."""
COLUMNS = ("mean loss", "share above .05", "CPU s")


@dataclass(frozen=True)
class Compared(MultiStart):
    """The default maximizer, which records the result of each setting.

    Args:
        found: values and seconds, shape (settings, 2), of every proposal.
    """

    found: list[np.ndarray] = field(default_factory=list, compare=False)

    def __call__(self, function: Any, search: Any) -> np.ndarray:
        rows = []
        for num_starts, num_iterations in SETTINGS:
            own = search._replace(starts=search.starts[:num_starts])
            GradientAscent(1)(function, own)
            begin = time.process_time()
            points = GradientAscent(num_iterations)(function, own)
            seconds = time.process_time() - begin
            rows.append([float(evaluate(function, points[:1])[0]), seconds])
        self.found.append(np.array(rows))
        return super().__call__(function, search)


def compared(family: str, seed: int) -> np.ndarray:
    """Losses and seconds of one run, shape (proposals, settings, 2)."""
    problem, maximizer = problem_of(family, seed), Compared()
    box = sb.Space.box([[0, 1]] * problem.D)
    optimizer = sb.Optimizer(box, "maximize", seed=seed, maximizer=maximizer)
    first = qmc.Sobol(problem.D, seed=seed).random_base2(5)[:NUM_INITIAL]
    for point, value in zip(first, problem(first), strict=True):
        optimizer.tell(point, float(value))
    for _ in range(BUDGET - NUM_INITIAL):
        trial = optimizer.ask()
        optimizer.tell(trial, float(problem(np.asarray(trial.params)[None])[0]))
    found = np.array(maximizer.found)
    found[..., 0] = found[..., 0].max(1, keepdims=True) - found[..., 0]
    return found


def main() -> None:
    arguments = parser(__doc__.splitlines()[0], "ascent.csv", FAMILIES, FAMILIES).parse_args()
    sys.path.append(str(arguments.bench))
    runs = Runs(arguments.results, ("problem", "starts", "iterations", "seed"), COLUMNS)
    for seed, family in product(arguments.seeds, arguments.problems):
        if (family, *SETTINGS[-1], seed) in runs:
            continue
        found = compared(family, seed)
        means, shares = found.mean(0), (found[..., 0] > 0.05).mean(0)
        for setting, (loss, seconds), share in zip(SETTINGS, means, shares, strict=True):
            runs.add((family, *setting, seed), [loss, share, seconds])


if __name__ == "__main__":
    main()
