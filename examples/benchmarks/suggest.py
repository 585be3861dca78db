"""Time of one suggestion, and of a batch, in a process that has already made one.

    python examples/benchmarks/suggest.py [--peer botorch] [--one-core]

Warm times are medians of five asks, each after one more value, in processor seconds. They are the
last asks of a run, without compilation for later ones, except in the cases of an open end. In
function A three parameters matter and there is no noise; in function B every parameter interacts
with its neighbor on a ring, with noise of 1 % of the deviation. An interrupted run goes on.

A peer is timed after structbo in every case, on the same points: BoTorch's default model, refitted
at every ask, and its expected improvement, with ten restarts and 512 raw samples. XLA's threads
spin while they wait for each other, which counts as processor time; on one core they do not.
"""

import os

os.environ["OMP_NUM_THREADS"] = os.environ["OPENBLAS_NUM_THREADS"] = "1"

import argparse
import sys
import time
from pathlib import Path
from typing import NamedTuple

import numpy as np
from methods import BoTorch, Structbo
from runs import Runs


class Case(NamedTuple):
    """What is timed.

    Args:
        function: "A" or "B".
        num_dims: the number of parameters.
        num_told: the number of evaluations before the first warm ask.
        size: points per ask.
        batch: the batch strategy.
        has_end: whether the optimizer knows which evaluation is the last.
    """

    function: str
    num_dims: int
    num_told: int
    size: int = 1
    batch: str = "believer"
    has_end: bool = True

    def __str__(self) -> str:
        end = "" if self.has_end else ", open end"
        batch = f", {self.size} at once by {self.batch}" if self.size > 1 else ""
        return f"{self.function}, {self.num_dims}, {self.num_told}{batch}{end}"


CASES = [
    Case("A", 10, 100),
    Case("A", 20, 200),
    Case("A", 50, 300),
    Case("A", 20, 200, 10),
    Case("A", 20, 200, 10, "dpp_sample"),
    Case("A", 20, 200, has_end=False),
    Case("B", 20, 200),
    Case("B", 20, 200, has_end=False),
    *[Case("A", *many) for many in ((100, 200), (180, 200), (300, 300), (500, 500))],
]
NUM_ASKS = 6  # of which the first is not warm
DEVIATION, NOISE = 2.2, 0.01
"""Function B over twenty parameters is divided by its deviation; then noise is added."""


def three_of_many(point: np.ndarray) -> float:
    return float(np.sin(5 * point[0] * point[1]) + point[2])


def noisy_ring(point: np.ndarray) -> float:
    """The neighbors on a ring interact; the value at a point is always the same."""
    pairs = np.sin(3 * point * np.roll(point, -1) + np.arange(len(point)))
    noise = np.random.default_rng(list(point.tobytes())).normal()
    return float(pairs.sum() / DEVIATION + NOISE * noise)


FUNCTIONS = {"A": three_of_many, "B": noisy_ring}


def warm(running: Structbo | BoTorch, case: Case) -> float:
    """Median processor seconds per ask of a method that has already asked once."""
    objective, size = FUNCTIONS[case.function], case.size
    for point in np.random.default_rng(0).random((case.num_told - size, case.num_dims)):
        running.tell(point, objective(point))
    times = []
    for _ in range(NUM_ASKS):
        start = time.process_time()
        points = running.ask(size)
        times.append(time.process_time() - start)
        for point in points:
            running.tell(point, objective(point))
    return float(np.median(times[1:]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--peer", choices=["botorch"], help="a library to be timed beside")
    parser.add_argument("--one-core", action="store_true", help="use one core")
    results = Path(__file__).parent / "results" / "suggest.csv"
    parser.add_argument("--results", type=Path, default=results)
    options = parser.parse_args()
    if options.one_core:
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    runs = Runs(options.results, ("case", "method"), ("seconds",))
    for case in CASES:
        last = case.num_told + (NUM_ASKS - 1) * case.size if case.has_end else sys.maxsize
        if (case, "structbo") not in runs:
            made = Structbo(case.num_dims, case.batch, num_evaluations=last)
            runs.add((case, "structbo"), [warm(made, case)])
        if options.peer is not None and (case, options.peer) not in runs:
            runs.add((case, options.peer), [warm(BoTorch(case.num_dims, case.batch), case)])


if __name__ == "__main__":
    main()
