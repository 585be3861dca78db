"""Simple regret of structbo's default and of recorded peers, with the same seeds and noise.

    python examples/benchmarks/regret.py --bench ../shared/bench

The folder holds ``problems.py`` (functions to maximize over the unit cube). Every run has the same
20 Sobol points and the same noise as the runs of other libraries in results/regret_peers.csv. It is
written to results/regret.csv as it ends, and is skipped the next time.
"""

import sys
from collections.abc import Iterable
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from posterior_model import MODEL, THREE_QUARTERS
from runs import Runs, parser

import structbo as sb
from structbo.acquisition import DEFAULT_CRITERION

PROBLEMS = {
    "star10": 100,
    "grid9": 100,
    "styblinski10": 100,
    "michalewicz10": 200,
    "rosenbrock30": 200,
    "hartmann6-50": 200,
    "rover60": 200,
}
COUNTS = (50, 60, 100, 150, 200)
MODELS = {
    "structbo": None,
    "without the residual": sb.default_model(has_residual=False),
    "independent": MODEL,
    "three_quarters": THREE_QUARTERS,
}
"""The default of the space, the one without a residual, and other priors of lengthscales."""
PEERS = Path(__file__).parent / "results" / "regret_peers.csv"
"""Runs of other libraries: the regret after the last of their evaluations, and after `COUNTS`."""


def run(
    problem: Any, optimizer: sb.Optimizer, seed: int, budget: int, batch_size: int = 1
) -> np.ndarray:
    """Regret of the best point so far after each evaluation, shape (budget,)."""
    noise = np.random.default_rng([seed, 987])
    sobol = sys.modules["problems"].sobol
    x = sobol(20, problem.D, seed)
    y = problem.observe(x, noise)
    for point, value in zip(x, y, strict=True):
        optimizer.tell(point, value)
    while len(x) < budget:
        for trial in optimizer.ask(min(batch_size, budget - len(x))):
            value = problem.observe(trial.params[None], noise)[0]
            optimizer.tell(trial, value)
            x = np.vstack([x, trial.params])
    return problem.f_opt - np.maximum.accumulate(problem(x))


def peers(family: str) -> dict[str, np.ndarray]:
    """Median regret of recorded runs after `COUNTS` evaluations, NaN beyond the last one."""
    runs = Runs(PEERS, ("problem", "method", "seed"), ("evaluations", "last", *map(str, COUNTS)))
    return {
        method: np.median(runs.of_seeds(where, method), axis=0)[2:]
        for where, method in runs.settings()
        if where == family
    }


def show(name: str, regret: Iterable[float], seeds: object = "") -> None:
    print(f"  {name:<32}", *(f"{value:>8.3g}" for value in regret), f"{seeds:>6}")


def main() -> None:
    options = parser(__doc__.splitlines()[0], "regret.csv", list(PROBLEMS), PROBLEMS)
    options.add_argument("--model", choices=MODELS, default="structbo")
    options.add_argument("--criterion", default=DEFAULT_CRITERION)
    arguments = options.parse_args()
    sys.path.insert(0, str(arguments.bench))
    from problems import get_problem

    model, criterion = MODELS[arguments.model], arguments.criterion
    label = arguments.model if criterion == DEFAULT_CRITERION else f"{arguments.model}, {criterion}"
    runs = Runs(arguments.results, ("problem", "model", "seed"), tuple(map(str, COUNTS)))
    for family, seed in product(arguments.problems, arguments.seeds):
        if (family, label, seed) in runs:
            continue
        problem = get_problem(f"{family}.{seed}" if family in ("star10", "grid9") else family)
        box = sb.Space.box([[0, 1]] * problem.D)
        optimizer = sb.Optimizer(box, "maximize", seed=seed, model=model, criterion=criterion)
        curve = run(problem, optimizer, seed, PROBLEMS[family])
        runs.add(
            (family, label, seed), [curve[n - 1] if n <= len(curve) else np.nan for n in COUNTS]
        )
    for family in arguments.problems:
        print(f"\n{family:<34}", *(f"{n:>8}" for n in COUNTS), " seeds")
        for where, name in (setting for setting in runs.settings() if setting[0] == family):
            regret = runs.of_seeds(where, name)
            show(f"{name}, median", np.median(regret, axis=0), len(regret))
            show(f"{name}, worst", np.max(regret, axis=0))
        for name, regret in peers(family).items():
            show(name, regret)


if __name__ == "__main__":
    main()
