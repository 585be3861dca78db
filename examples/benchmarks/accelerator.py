"""What an accelerator changes: suggestions and `fit` on the device that JAX finds, by the clock.

    python examples/benchmarks/accelerator.py
    JAX_PLATFORMS=cpu python examples/benchmarks/accelerator.py

Every case runs in a separate process. "first" includes compilation: the first suggestion and the
first `fit`. The others are the median of four more suggestions, each after one more value, and a
second `fit`. Effective draws are the minimum over edges, by `fit`. Rows are added to
results/accelerator.csv; existing rows are not measured again.
"""

import argparse
import subprocess
import sys
import time
import warnings
from pathlib import Path
from typing import Any

import jax
import numpy as np
from methods import Structbo
from posterior_data import data_set
from runs import Runs

import structbo as sb

SUGGESTIONS = ["10,100", "20,200", "50,300", "50,1000", "200,500"]
"""Parameters and evaluations."""
FITS = ["graph15-100,4", "graph15-100,64", "graph20-200,16"]
"""Data sets of `posterior.py`, and numbers of chains."""
LENGTH = dict[str, Any]()
"""Options on the length of chains of `fit`; empty for the default."""
NUM_ASKS = 6
"""Asks per case, of which the first two are not warm."""
COLUMNS = ("first s", "s", "draws", "least ESS", "GB")


def suggestions(num_dims: int, n: int) -> list[float]:
    """Seconds of the first suggestion and of a warm one."""
    rng = np.random.default_rng(0)

    def objective(x: np.ndarray) -> float:
        return float(np.sin(5 * x[0] * x[1]) + x[2] * x[3] + 0.01 * rng.normal())

    running, times = Structbo(num_dims, num_evaluations=n + 1), []  # compiles for no later ones
    for point in rng.random((n - NUM_ASKS, num_dims)):
        running.tell(point, objective(point))
    for _ in range(NUM_ASKS):
        begin = time.perf_counter()
        (point,) = running.ask(1)
        times.append(time.perf_counter() - begin)
        running.tell(point, objective(point))
    return [times[0], float(np.median(times[2:])), np.nan, np.nan]


def fits(name: str, num_chains: int) -> list[float]:
    """Seconds of two calls of `fit`, and the second one's numbers of draws and effective draws."""
    warnings.simplefilter("ignore", sb.posterior.ConvergenceWarning)
    x, y, *_ = data_set(name)
    times = []
    for seed in (1, 0):
        begin = time.perf_counter()
        posterior = sb.fit(
            sb.default_model(),
            x,
            y,
            seed=seed,
            num_chains=num_chains,
            show_progress_bar=False,
            **LENGTH,
        )
        times.append(time.perf_counter() - begin)
    table = posterior.summary()
    least = table[table.index.str.startswith("Z[")]["ess_bulk"].min()
    return [*times, posterior.num_draws, float(least)]


def measure(case: str) -> list[float]:
    """The numbers of one row."""
    first, second = case.split(",")
    found = suggestions(int(first), int(second)) if first.isdigit() else fits(first, int(second))
    memory = (jax.devices()[0].memory_stats() or {}).get("peak_bytes_in_use", np.nan)
    return [*found, memory / 1e9]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cases", nargs="+", default=[*SUGGESTIONS, *FITS])
    table = Path(__file__).parent / "results" / "accelerator.csv"
    parser.add_argument("--results", type=Path, default=table)
    options = parser.parse_args()
    if len(options.cases) > 1:
        for case in options.cases:  # this process must not take the accelerator's memory
            own = [sys.executable, __file__, "--cases", case, "--results", str(options.results)]
            subprocess.run(own, check=True)
        return
    (case,) = options.cases
    runs = Runs(options.results, ("device", "case"), COLUMNS)
    key = jax.devices()[0].device_kind, case
    if key not in runs:
        runs.add(key, measure(case))


if __name__ == "__main__":
    main()
