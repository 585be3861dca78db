"""Simple regret of published methods, as implemented in `structbo.recipes`.

    python examples/benchmarks/recipes.py --bench ../shared/bench

The folder holds ``problems.py`` (functions to maximize over the unit cube). All start from the same
20 Sobol points and see the same noise. Every run is written to results/recipes.csv as it ends, and
is skipped the next time; the table has medians over existing seeds. Settings are the recipes'
defaults except for groups of pairs, screening with at most 40 evaluations, batches of 5, and a
search over partitions, which takes seconds, after every fifth observation.
"""

import sys
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import numpy as np
from regret import run
from runs import Runs, parser

import structbo as sb
from structbo import recipes
from structbo.recipes.batched import STRATEGIES

BUDGET, SHOWN, BATCH_SIZE = 100, (50, 75, 100), 5
KEYS, VALUES = ("problem", "recipe", "seed"), (*map(str, SHOWN), "seconds")


def edge_matrix(problem: Any) -> np.ndarray:
    """The graph whose cliques are the components of a problem."""
    graph = np.zeros((problem.D, problem.D), int)
    for component in problem.structure:
        graph[np.ix_(component, component)] = 1
    return graph - np.diag(np.diag(graph))


def methods(problem: Any) -> dict[str, Callable[..., sb.Optimizer]]:
    """All recipes by name, the cheapest first."""
    g_add, known = recipes.g_add_gp_ucb, recipes.known_partition
    return {
        "random": recipes.random,
        "structbo": sb.Optimizer,
        "vanilla": recipes.vanilla,
        "gp_ucb": recipes.gp_ucb,
        "rembo": recipes.rembo,
        "add_gp_ucb": partial(recipes.add_gp_ucb, group_size=2),
        "random_trees": recipes.random_trees,
        "g_add_gp_ucb": g_add,
        "g_add_gp_ucb, no overlap": partial(g_add, graph="no overlap"),
        "g_add_gp_ucb, oracle": partial(g_add, graph=edge_matrix(problem)),
        "known_partition": known,
        "saas": recipes.saas,
        "hds_gp_ucb": partial(recipes.hds_gp_ucb, budget=40),
        "cws_gp_ucb": partial(recipes.cws_gp_ucb, num_active=problem.D, num_differences=2),
        "rpp_gp_ucb": partial(recipes.rpp_gp_ucb, group_size=2),
        "pp_gp_ucb": partial(recipes.pp_gp_ucb, group_size=2),
        "model_mcmc": partial(recipes.model_mcmc, cycle=5),
        "bag_of_models": partial(recipes.bag_of_models, cycle=5),
        **{f"batch, {m}": partial(recipes.batch, method=m) for m in STRATEGIES if "max" not in m},
    }


def show(runs: Runs) -> None:
    for problem in dict.fromkeys(problem for problem, _ in runs.settings()):
        print(f"\n{problem:<28}", *(f"{n:>9}" for n in SHOWN), "  seconds  seeds")
        for name in (recipe for where, recipe in runs.settings() if where == problem):
            numbers = runs.of_seeds(problem, name)
            cells = [f"{value:>9.3g}" for value in np.median(numbers, axis=0)]
            print(f"  {name:<26}", *cells, f"{len(numbers):>6}")


def main() -> None:
    options = parser(__doc__.splitlines()[0], "recipes.csv", ["star10.0", "styblinski10"])
    options.add_argument("--recipes", nargs="+", help="names of the table; by default all")
    arguments = options.parse_args()
    sys.path.insert(0, str(arguments.bench))
    from problems import get_problem

    runs = Runs(arguments.results, KEYS, VALUES)
    problems = {name: get_problem(name) for name in arguments.problems}
    names = arguments.recipes or list(methods(next(iter(problems.values()))))
    for seed, name, (label, problem) in (
        (s, n, p) for s in arguments.seeds for p in problems.items() for n in names
    ):
        if (label, name, seed) in runs:
            continue
        start = time.process_time()
        box = sb.Space.box([[0, 1]] * problem.D)
        optimizer = methods(problem)[name](box, "maximize", seed=seed)
        batch_size = BATCH_SIZE if name.startswith("batch") else 1
        curve = run(problem, optimizer, seed, BUDGET, batch_size)
        seconds = time.process_time() - start
        runs.add((label, name, seed), [*(curve[n - 1] for n in SHOWN), seconds])
        jax.clear_caches()
    show(runs)


if __name__ == "__main__":
    main()
