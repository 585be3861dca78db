"""The time of a suggestion by compiled program, and by part of the largest programs.

    python examples/benchmarks/parts.py [--cases 10,100 20,200 50,300]

Milliseconds of processor time per warm suggestion, each after one more value; the table is
results/parts.csv. "in the chain" is twice the time saved with half of the moves; "in the starts" is
three times the time saved with two of three starts.
"""

import os

os.environ["OMP_NUM_THREADS"] = os.environ["OPENBLAS_NUM_THREADS"] = "1"

import argparse
import csv
import time
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any
from unittest.mock import patch

import jax
import numpy as np
from numpyro.infer import Gibbs

import structbo as sb
from structbo.maximizers import MultiStart
from structbo.models.foundation.program import Program
from structbo.samplers import Hamiltonian, InformedEdges

NUM_ASKS = 6
NAMES = {
    "run": "chain",
    "_warp": "power of the transform",
    "_conditioned": "posteriors of the draws",
    "search_starts": "starts",
    "_value_and_gradient": "gradient ascent",
}
"""Names of programs in the table."""
COLUMNS = ("D", "n", "part", "calls", "ms")


class FewMoves(InformedEdges):
    """Half of the moves of edges."""

    def moves_per_step(self, value: jax.Array) -> int:
        return super().moves_per_step(value) // 2


def sampler(edges: type[InformedEdges], num_steps: int) -> Any:
    """The default sampler of edges with other moves, and a number of leapfrog steps."""
    return lambda model: Gibbs([(edges(model), ["Z"]), (Hamiltonian(model, num_steps), None)])


SETTINGS: dict[str, tuple[str, dict[str, Any]]] = {
    "moves of edges, in the chain": ("run", {"sampler": sampler(FewMoves, 10)}),
    "leapfrog steps, in the chain": ("run", {"sampler": sampler(InformedEdges, 5)}),
    "coordinate ascent, in the starts": ("search_starts", {"maximizer": MultiStart(2, 8)}),
}
"""Settings with fewer moves or starts, and the affected program."""


def spent(num_dims: int, n: int, **settings: Any) -> tuple[Counter[str], dict[str, float]]:
    """Calls and milliseconds per suggestion of each program, and in "total"."""
    calls, times, call = Counter[str](), defaultdict[str, float](float), Program.__call__

    def timed(program: Any, *args: Any, **kwargs: Any) -> Any:
        begin = time.process_time()
        result = jax.block_until_ready(call(program, *args, **kwargs))
        calls[program.__name__] += 1
        times[program.__name__] += time.process_time() - begin
        return result

    rng = np.random.default_rng(0)

    def objective(x: np.ndarray) -> float:
        return float(np.sin(5 * x[0] * x[1]) + x[2] * x[3] + 0.01 * rng.normal())

    optimizer = sb.Optimizer(sb.Space.box([[0, 1]] * num_dims), "maximize", **settings)
    for point in rng.random((n - NUM_ASKS, num_dims)):
        optimizer.tell(point, objective(point))
    with optimizer.expecting(n + 1):  # no compilation for later asks
        optimizer.tell(trial := optimizer.ask(), objective(trial.params))
        with patch.object(Program, "__call__", timed):
            for _ in range(NUM_ASKS):
                begin = time.process_time()
                trial = optimizer.ask()
                times["total"] += time.process_time() - begin
                optimizer.tell(trial, objective(trial.params))
    return calls, defaultdict(float, {name: 1e3 * t / NUM_ASKS for name, t in times.items()})


def rows_of(num_dims: int, n: int) -> list[tuple[str, float, float]]:
    """Part, calls and milliseconds."""
    calls, times = spent(num_dims, n)
    rows = [(name, calls[key] / NUM_ASKS, times[key]) for key, name in NAMES.items()]
    rows.append(("Python and the rest", 1.0, times["total"] - sum(row[2] for row in rows)))
    share = {"search_starts": 3.0}  # one of three points is left out
    for name, (key, settings) in SETTINGS.items():
        less = spent(num_dims, n, **settings)[1][key]
        rows.append((name, calls[key] / NUM_ASKS, share.get(key, 2.0) * (times[key] - less)))
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cases", nargs="+", default=["10,100", "20,200", "50,300"])
    parser.add_argument("--results", type=Path, default=Path(__file__).parent / "results/parts.csv")
    arguments = parser.parse_args()
    with arguments.results.open("w", buffering=1, newline="") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow(COLUMNS)
        for num_dims, n in (map(int, case.split(",")) for case in arguments.cases):
            for part, calls, milliseconds in rows_of(num_dims, n):
                table.writerow((num_dims, n, part, f"{calls:.0f}", f"{milliseconds:.0f}"))
                print(f"D = {num_dims}, n = {n}: {part:<35} {calls:>4.0f} {milliseconds:>8.0f} ms")


if __name__ == "__main__":
    main()
