"""Weeks of eight experiments: regret, copies and new combinations, by batch strategy.

    python examples/benchmarks/weeks.py --factorials FOLDER

The folder has complete factorial experiments as CSV files with a column "yield", such as
arylation.csv (Shields et al. 2021) and suzuki.csv (Perera et al. 2018). A third problem is the
made-up reaction of reactions.py. The first week is quasi-random and the same for all strategies.
Every run is written to results/weeks.csv as it ends, and is skipped the next time. The table has
medians of the regret after each week, and means over later weeks per batch: copies, which share all
categories with an earlier point of the batch and differ by less than 6 % of the range in all
numbers, and combinations of categories that no earlier week had.
"""

import time
from collections.abc import Sequence
from typing import Any

import numpy as np
from reactions import NUMBERS, Problem, reaction, table
from runs import Runs, parser

import structbo as sb

SIZE, NUM_WEEKS = 8, 5
CASES = {name: {"batch": name} for name in sb.batches.BATCH_STRATEGIES if name != "dpp_max"}
CASES["believer, log_eqi"] = {"criterion": "log_eqi"}
NEAR = 0.06
KEYS = ("problem", "strategy", "seed")
VALUES = (*(f"week {week}" for week in range(NUM_WEEKS + 1)), "copies", "new", "seconds")


def copies(problem: Problem, points: Sequence[dict[str, Any]]) -> int:
    """The number of points near an earlier point of the batch with the same categories."""
    space = problem.space
    unit = space.to_unit(points)[:, [name in NUMBERS for name in space.names]]
    kinds = [[point[name] for name in problem.categories] for point in points]
    return sum(
        any(kinds[i] == kinds[j] and np.abs(unit[i] - unit[j]).max() < NEAR for j in range(i))
        for i in range(len(points) if unit.shape[1] else 0)
    )


def run(problem: Problem, settings: dict[str, Any], seed: int) -> list[float]:
    optimizer = sb.Optimizer(problem.space, "maximize", seed=seed, num_initial=SIZE, **settings)
    rng, counts = np.random.default_rng(seed), []
    seen, regret = set[tuple[Any, ...]](), list[float]()
    for _ in range(NUM_WEEKS + 1):
        start = time.process_time()
        trials = optimizer.ask(SIZE)
        seconds, points = time.process_time() - start, [trial.params for trial in trials]
        kinds = [tuple(point[name] for name in problem.categories) for point in points]
        counts.append((copies(problem, points), len({*kinds} - seen), seconds))
        seen |= {*kinds}
        values = [problem.value(point) for point in points]
        for trial, value in zip(trials, values, strict=True):
            optimizer.tell(trial, value + problem.noise * rng.standard_normal())
        regret.append(min([problem.best - max(values), *regret]))
    return [*regret, *np.mean(counts[1:], axis=0)]


def main() -> None:
    names = ("reaction", "arylation", "suzuki")
    options = parser(__doc__.splitlines()[0], "weeks.csv", names, folder="factorials")
    options.add_argument("--strategies", nargs="+", default=[*CASES], choices=CASES)
    given = options.parse_args()
    runs = Runs(given.results, KEYS, VALUES)
    for name in given.problems:
        problem = reaction() if name == "reaction" else table(given.factorials / f"{name}.csv")
        for seed in given.seeds:
            for strategy in given.strategies:
                if (name, strategy, seed) not in runs:
                    runs.add((name, strategy, seed), run(problem, CASES[strategy], seed))
    print(f"\n{'':<30}", *(f"{title:>9}" for title in VALUES))
    for setting in runs.settings():
        rows = runs.of_seeds(*setting)
        shown = [*np.median(rows, axis=0)[: NUM_WEEKS + 1], *rows.mean(0)[NUM_WEEKS + 1 :]]
        print(f"{' '.join(setting):<30}", *(f"{number:9.2f}" for number in shown), f"n={len(rows)}")


if __name__ == "__main__":
    main()
