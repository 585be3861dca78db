"""Simple regret of structbo's default beside recorded peers, with the same seeds and noise.

    python examples/bench_regret.py --bench ../shared/bench

The folder holds ``problems.py`` (functions to maximize over the unit cube) and
``results.jsonl`` (runs of other libraries). Every run starts from the same 20 Sobol points
and sees the same noise as theirs did.
"""

import argparse
import json
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

import structbo as sb

PROBLEMS = {"star10": 100, "grid9": 100, "styblinski10": 100, "hartmann6-50": 60, "rover60": 200}
COUNTS = (50, 60, 100, 150, 200)
PEERS = {"vanilla": "BoTorch default", "turbo": "TuRBO-1", "tpe": "TPE", "cma": "CMA-ES"}


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


def peers(bench: Path, family: str) -> dict[str, dict[int, float]]:
    """Median regret of recorded runs after some numbers of evaluations."""
    curves: dict[str, list[np.ndarray]] = {}
    for line in (bench / "results.jsonl").read_text().splitlines():
        record = json.loads(line)
        if record.get("best") and record["problem"].split(".")[0] == family:
            curve = record["f_opt"] - np.array(record["best"])
            curves.setdefault(record["method"], []).append(curve)
    return {
        name: {
            n: float(np.median([c[n - 1] for c in curves[method] if len(c) >= n] or [np.nan]))
            for n in COUNTS
        }
        for method, name in PEERS.items()
        if method in curves
    }


def show(name: str, at: dict[int, float], note: str = "") -> None:
    cells = " ".join(f"{at.get(n, np.nan):>9.3g}" for n in COUNTS)
    print(f"  {name:<22} {cells}  {note}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bench", type=Path, default=Path("../shared/bench"))
    parser.add_argument("--problems", nargs="+", default=list(PROBLEMS)[:4], choices=PROBLEMS)
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--budget", type=int, help="evaluations, by default 60 to 200")
    parser.add_argument("--edges-only", action="store_true", help="a model without the residual")
    arguments = parser.parse_args()
    sys.path.insert(0, str(arguments.bench))
    from problems import get_problem

    model = sb.default_model(has_residual=not arguments.edges_only)
    for family in arguments.problems:
        budget = arguments.budget or PROBLEMS[family]
        counts = [n for n in COUNTS if n <= budget]
        print(f"{family}, regret after evaluations")
        show("", {n: n for n in COUNTS})
        curves = []
        for seed in arguments.seeds:
            name = f"{family}.{seed}" if family in ("star10", "grid9") else family
            start = time.monotonic()
            problem = get_problem(name)
            box = sb.Space.box([[0, 1]] * problem.D)
            optimizer = sb.Optimizer(box, "maximize", seed=seed, model=model)
            curve = run(problem, optimizer, seed, budget)
            curves.append(curve)
            at = {n: float(curve[n - 1]) for n in counts}
            show(f"structbo, seed {seed}", at, f"{time.monotonic() - start:.0f} s")
        median = np.median(curves, axis=0)
        show("structbo, median", {n: median[n - 1] for n in counts})
        for name, at in peers(arguments.bench, family).items():
            show(name, at)


if __name__ == "__main__":
    main()
