"""Convergence and cost of the chains of `fit`, with default settings.

    python examples/benchmarks/convergence.py [--data styblinski-100] [--seeds 0 1]

Data sets come from `posterior.py`, and the model is the default. Columns are the largest R-hat, and
the minimum and median number of effective draws, over edges; and the worst of the other sites.
Times are of one thread, without compilation. Rows are added to results/convergence.csv; existing
rows are not measured again.
"""

import os

os.environ["OPENBLAS_NUM_THREADS"] = "1"
os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"

import argparse
import time
import warnings
from functools import partial
from pathlib import Path
from typing import Any

from posterior_data import data_set
from runs import Runs

import structbo as sb
from structbo.posterior import ConvergenceWarning

NAMES = (
    *("star-100", "styblinski-100", "rotated-100", "svr-100", "graph15-100", "graph20-100"),
    *("graph20-200", "hartmann-300"),
)
EDGES = ("edges R-hat", "edges least ESS", "edges median ESS")
COLUMNS = ("CPU s", "draws", *EDGES, "others R-hat", "others least ESS")
LENGTH = dict[str, Any]()
"""Options on the length of chains of `fit`; empty for the default."""


def measure(fit: Any, seed: int) -> list[float]:
    """The numbers of one row."""
    begin = time.process_time()
    posterior = fit(seed=seed)
    seconds = time.process_time() - begin
    table = posterior.summary()
    is_edge = table.index.str.startswith("Z[")
    edges, others = table[is_edge], table[~is_edge]
    size = edges["ess_bulk"]
    numbers = edges["r_hat"].max(), size.min(), size.median()
    worst = others["r_hat"].max(), others["ess_bulk"].min()
    return [float(v) for v in (seconds, posterior.num_draws, *numbers, *worst)]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", nargs="+", default=NAMES)
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1])
    table = Path(__file__).parent / "results" / "convergence.csv"
    parser.add_argument("--results", type=Path, default=table)
    options = parser.parse_args()
    warnings.simplefilter("ignore", ConvergenceWarning)
    runs = Runs(options.results, ("data", "seed"), COLUMNS)
    for name in options.data:
        data = data_set(name)
        fit = partial(sb.fit, sb.default_model(), *data[:2], show_progress_bar=False, **LENGTH)
        seeds = [seed for seed in options.seeds if (name, seed) not in runs]
        if seeds:
            fit(seed=seeds[0])  # the first one compiles
        for seed in seeds:
            runs.add((name, seed), measure(fit, seed))
