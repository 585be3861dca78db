"""Tables of many parameters, from the runs of examples/benchmarks/wide.py."""

import json

import cells
import numpy as np
from cells import Table, short
from papers.harness.experiment import Experiment
from wide import experiments, parser
from wide_search import COUNTS, WideSearch
from wide_summary import summary

WIDE_METHODS = {
    "structbo": "structbo",
    "log_ei": '`criterion="log_ei"`',
    "vanilla": "`recipes.vanilla`",
    "botorch": "BoTorch",
    "turbo": "TuRBO",
    "tpe": "TPE",
    "cma_es": "CMA-ES",
    "random": "random",
    "one_penalty": "one penalty",
}
"""Methods of the table of many parameters, and what it calls them."""


def wide() -> Table:
    """Regret after 50 and 100 evaluations, on all problems and seeds that structbo has runs of."""
    found: dict[tuple[str, str], dict[int, list[float]]] = {}
    with (cells.BENCHMARKS / "wide.jsonl").open(encoding="utf-8") as file:
        for run in map(json.loads, file):
            measured = WideSearch(100).measures(run["values"])
            if "regret at 100" in measured:
                regrets = [float(measured[f"regret at {n}"][0]) for n in (50, 100)]
                found.setdefault((run["problem"], run["method"]), {})[run["seed"]] = regrets

    def cell(problem: str, method: str) -> str:
        seeds = found[problem, "structbo"]
        regrets = found.get((problem, method), {})
        if not regrets.keys() >= seeds.keys():
            return ""
        return ", ".join(map(short, np.median([regrets[seed] for seed in seeds], 0)))

    problems = [problem for problem, method in found if method == "structbo"]
    rows = [
        [problem, str(len(found[problem, "structbo"])), *(cell(problem, m) for m in WIDE_METHODS)]
        for problem in sorted(problems)
    ]
    return Table(["problem", "runs", *WIDE_METHODS.values()], rows)


def reporting_half() -> list[Experiment]:
    """The families of the reporting half of the benchmark of many parameters."""
    if not (cells.BENCHMARKS / "wide.jsonl").exists():
        raise FileNotFoundError(cells.BENCHMARKS / "wide.jsonl")
    return experiments(parser().parse_args(["--half", "report"]))


def wide_pairs() -> Table:
    """The default beside each other method, over all functions of the reporting half."""
    shown = ["evaluations", "cases", "median log ratio", "Wilcoxon p", "wins", "losses"]
    families, rows = reporting_half(), []
    problems = tuple(problem for family in families for problem in family.problems)
    every = families[0]._replace(problems=problems, methods=("structbo",))
    for other in ("botorch", "turbo", "vanilla"):
        found = Table(*summary([every], cells.BENCHMARKS, [other], COUNTS))
        rows += [[WIDE_METHODS[other], *row] for row in found.of(shown).rows]
    return Table(["beside", *shown], rows)


def wide_ratios() -> Table:
    """The default beside the better of BoTorch's and TuRBO, family by family."""
    families = [family._replace(methods=("structbo",)) for family in reporting_half()]
    found = Table(*summary(families, cells.BENCHMARKS, ["botorch", "turbo"], COUNTS))
    return found.of(["family", "evaluations", "cases", "median log ratio", "wins", "losses"])
