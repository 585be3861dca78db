"""Searches among 20 to 1,000 parameters: structbo, its recipes, and other libraries.

    pip install -e ".[optuna]" botorch cmaes scikit-learn "gymnasium[mujoco]"
    python examples/benchmarks/wide.py --families trees sparse --methods structbo botorch turbo

Settings are chosen on the development half; the reporting half evaluates them. The halves were
fixed before any setting was chosen:

- Random families (trees, sparse graphs, additive, smooth, rotated, unstructured) have other
  instances in each half. A seed draws an instance, and the active variables of a known function.
- Known functions: embedded Hartmann-6 and Ackley in development, embedded Levy-4 and Rosenbrock
  in the report.
- Tasks: lasso with 60 and 300 penalties and HalfCheetah in development; lasso with 100 and 1,000
  penalties, Walker and the rover in the report. A seed draws the first state of a policy.

All methods of a seed start from the same 20 Sobol points and see the same noise, whose deviation is
1 % of the range of a function; tasks have no noise. Every run is a line of results/wide.jsonl with
all values without noise, the CPU seconds of every suggestion, and versions. It is skipped the next
time, also where fewer evaluations are asked for. A copy of the file in another folder, given by
--results, compares other settings of structbo with the same runs of peers.

The table has the regret of the best point at 50, 100, 200 and 500 evaluations. The regrets of lasso
and rover are relative to a bound; policies have no known maximum, hence best values. The summary
pairs cases with the best of the methods in --against.
"""

import os

os.environ["OMP_NUM_THREADS"] = os.environ["OPENBLAS_NUM_THREADS"] = "1"

import sys
from argparse import ArgumentParser, Namespace
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))  # the folder of the package `papers`

from papers.harness.experiment import Experiment
from papers.harness.running import run_missing
from wide_methods import METHODS
from wide_problems import SUFFIXES, of_half
from wide_search import COUNTS, WideSearch
from wide_summary import show

COMPARED = ("structbo", "vanilla", "botorch", "turbo")
MEASURES = tuple(f"{name} at {n}" for name in ("regret", "best value") for n in COUNTS)


def experiments(arguments: Namespace) -> list[Experiment]:
    """The chosen problems of every chosen family."""
    halves = of_half(arguments.half)
    names = {problem for family in halves.values() for problem in family}
    for given, known in ((arguments.families, halves), (arguments.problems, names)):
        if unknown := sorted({*given} - {*known}):
            raise SystemExit(f"{unknown} are not in the half {arguments.half!r}: {sorted(known)}.")
    kind = WideSearch(arguments.evaluations)
    found = []
    for family in arguments.families or halves:
        problems = [p for p in halves[family] if not arguments.problems or p in arguments.problems]
        methods = [m for m in arguments.methods if m != "one_penalty" or family == "lasso"]
        if family == "lasso":
            methods = list(dict.fromkeys([*methods, "one_penalty"]))
        if problems:
            found.append(
                Experiment(
                    name=family,
                    paper="",
                    place=arguments.half,
                    title=family,
                    kind=kind,
                    problems=tuple(problems),
                    methods=tuple(methods),
                    measures=(*MEASURES, "seconds"),
                    seeds=arguments.seeds,
                    printed="",
                    runs_of="wide",
                    others=kind.longer(),
                )
            )
    return found


def parser() -> ArgumentParser:
    """The command line."""
    options = ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--half", choices=SUFFIXES, default="development")
    options.add_argument("--families", nargs="+", default=[], help="by default all of the half")
    options.add_argument("--problems", nargs="+", default=[], help="by default all of a family")
    options.add_argument("--methods", nargs="+", choices=METHODS, default=COMPARED)
    options.add_argument("--against", nargs="+", choices=METHODS, default=["botorch", "turbo"])
    options.add_argument("--seeds", type=int, default=5, help="number of seeds")
    options.add_argument("--evaluations", type=int, choices=COUNTS, default=100)
    options.add_argument("--data", type=Path, help="folder of the tasks")
    options.add_argument("--jobs", type=int, default=1, help="number of processes")
    options.add_argument("--results", type=Path, default=Path(__file__).parent / "results")
    options.add_argument("--pictures", type=Path, help="folder of a picture for each family")
    options.add_argument("--show", action="store_true", help="only print the runs that exist")
    return options


def main() -> int:
    arguments = parser().parse_args()
    families, failures = experiments(arguments), 0
    if not arguments.show:
        for family in families:
            failures += run_missing(family, arguments.results, arguments.data, arguments.jobs)
    show(families, arguments.results, arguments.against, arguments.pictures)
    return int(failures > 0)


if __name__ == "__main__":
    sys.exit(main())
