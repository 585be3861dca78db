"""A run that is killed at random moments has the same trials as an uninterrupted one.

    python examples/benchmarks/kills.py --runs 10 --kills 5 --n-trials 30

A process minimizes with a storage and is killed by SIGKILL at a random moment, while it asks,
evaluates or tells; another process continues. At the end, every told value must be in the storage.
The complete trials must equal, bit by bit, the trials of an uninterrupted run without storage. The
script prints the number of trials after each kill.
"""

import argparse
import multiprocessing
import os
import random
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import optuna

import structbo as sb

optuna.logging.set_verbosity(optuna.logging.WARNING)
SPACE = {"x": (0.0, 1.0), "rate": (1e-3, 1.0, "log"), "act": sb.Categorical(["a", "b", "c"])}
NAME = "run"
MAX_DELAY = 0.5
"""Seconds; an evaluation and a proposal take less."""


def objective(params: dict[str, Any]) -> float:
    time.sleep(0.05)
    penalty = 0.0 if params["act"] == "b" else 0.5 * params["x"]
    return (params["x"] - 0.3) ** 2 + (params["rate"] - 0.1) ** 2 + penalty


def complete(storage: str) -> list[tuple[dict[str, Any], float | None]]:
    """Points and values of the complete trials."""
    if NAME not in optuna.get_all_study_names(storage):
        return []
    trials = optuna.load_study(study_name=NAME, storage=storage).trials
    return [(t.params, t.value) for t in trials if t.state == optuna.trial.TrialState.COMPLETE]


def logged(log: Path) -> list[str]:
    return log.read_text().split() if log.exists() else []


def run(storage: str, log: Path, n_trials: int, settings: dict[str, Any]) -> None:
    """Runs to the end, and logs each value after it was told."""

    def append(_: sb.Optimizer, trial: sb.Trial) -> None:
        with log.open("a") as file:
            file.write(f"{trial.value!r}\n")

    sb.minimize(
        objective,
        SPACE,
        n_trials - len(complete(storage)),
        storage=storage,
        study_name=NAME,
        load_if_exists=True,
        callbacks=[append],
        show_progress_bar=False,
        **settings,
    )


def unbroken(n_trials: int, settings: dict[str, Any]) -> list[tuple[dict[str, Any], float | None]]:
    """Points and values of a run without storage."""
    result = sb.minimize(objective, SPACE, n_trials, show_progress_bar=False, **settings)
    return [(t.params, t.value) for t in result.trials]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--kills", type=int, default=5, help="of each run")
    parser.add_argument("--n-trials", type=int, default=30)
    parser.add_argument("--num-initial", type=int, default=6)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    n_trials, settings = options.n_trials, {"num_initial": options.num_initial, "seed": 0}
    chance = random.Random(options.seed)
    # Processes are forked from a server that has imported all modules.
    context = multiprocessing.get_context("forkserver")
    with tempfile.TemporaryDirectory() as folder:
        os.environ.setdefault("JAX_COMPILATION_CACHE_DIR", f"{folder}/programs")
        os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0")
        with ProcessPoolExecutor(1, mp_context=context) as pool:
            whole = pool.submit(unbroken, n_trials, settings).result()
        for i in range(options.runs):
            storage, log = f"sqlite:///{folder}/{i}.db", Path(folder, f"{i}.log")
            for number in sorted(chance.choices(range(n_trials), k=options.kills)):
                process = context.Process(target=run, args=(storage, log, n_trials, settings))
                process.start()
                while len(logged(log)) < number and process.is_alive():
                    time.sleep(0.01)
                time.sleep(chance.uniform(0.0, MAX_DELAY))
                process.kill()
                process.join()
                values = [repr(value) for _, value in complete(storage)]
                assert logged(log) == values[: len(logged(log))], "a value is lost"
                print(f"run {i}: killed with {len(values)} trials told", flush=True)
                log.write_text("".join(f"{value}\n" for value in values))
            process = context.Process(target=run, args=(storage, log, n_trials, settings))
            process.start()
            process.join()
            assert complete(storage) == whole, "trials differ"
            print(f"run {i}: nothing told was lost, and all trials are the same", flush=True)


if __name__ == "__main__":
    main()
