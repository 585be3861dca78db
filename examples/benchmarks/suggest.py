"""Time of one suggestion, and of a batch: warm, and as the first call of a fresh process.

    python examples/benchmarks/suggest.py [--peer botorch] [--one-core]

Warm times are medians of five asks, each after one more value, in processor seconds. They are the
last asks of a run, without compilation for later ones. A peer is timed after structbo in every
case, on the same points: BoTorch's default model, refitted at every ask, and its expected
improvement, with ten restarts and 512 raw samples. XLA's threads spin while they wait for each
other, which counts as processor time; on one core they do not, as with one run per core. First
calls use all cores.
"""

import os

os.environ["OMP_NUM_THREADS"] = os.environ["OPENBLAS_NUM_THREADS"] = "1"

import argparse
import subprocess
import sys
import tempfile
import time

import numpy as np
from methods import BoTorch, Structbo

CASES = [
    (10, 100, 1, "believer"),
    (20, 200, 1, "believer"),
    (50, 300, 1, "believer"),
    (20, 200, 10, "believer"),
    (20, 200, 10, "dpp_sample"),
]
"""Parameters, evaluations, points per ask, and batch strategy."""
NUM_ASKS = 6
"""Asks per case, of which the first is not warm."""

FIRST_CALL = """
import sys, time
start = time.perf_counter()
import numpy as np, structbo as sb
if len(sys.argv) > 1:
    sb.keep_programs(sys.argv[1])
rng = np.random.default_rng(0)
x = rng.random((100, 10))
sb.suggest(sb.Space.box([[0, 1]] * 10), x, np.sin(5 * x[:, 0] * x[:, 1]) + x[:, 2])
print(time.perf_counter() - start)
"""


def objective(point: np.ndarray) -> float:
    return float(np.sin(5 * point[0] * point[1]) + point[2])


def warm(running: Structbo | BoTorch, num_dims: int, n: int, size: int) -> float:
    """Median processor seconds per ask of a method that has already asked once."""
    for point in np.random.default_rng(0).random((n - size, num_dims)):
        running.tell(point, objective(point))
    times = []
    for _ in range(NUM_ASKS):
        start = time.process_time()
        points = running.ask(size)
        times.append(time.process_time() - start)
        for point in points:
            running.tell(point, objective(point))
    print(
        f"  {type(running).__name__}: first ask {times[0]:.1f} s, then {np.round(times[1:], 2)}",
        flush=True,
    )
    return float(np.median(times[1:]))


def first_call(*folder: str) -> float:
    """Seconds from starting Python's imports to the first suggestion at D = 10, n = 100.

    Args:
        folder: folder of compiled programs; empty to compile all.
    """
    command = [sys.executable, "-c", FIRST_CALL, *folder]
    output = subprocess.run(command, capture_output=True, text=True, check=True)
    return float(output.stdout.split()[-1])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--peer", choices=["botorch"], help="a library to be timed beside")
    parser.add_argument("--one-core", action="store_true", help="for all but the first calls")
    options = parser.parse_args()
    peer = options.peer
    print(f"first call:                     {first_call():6.1f} s   (goal 10 s)", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        first_call(folder)
        print(
            f"first call, programs are kept:  {first_call(folder):6.1f} s   (goal 3 s)", flush=True
        )
    if options.one_core:
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    for num_dims, n, size, batch in CASES:
        last = n + (NUM_ASKS - 1) * size
        seconds = warm(Structbo(num_dims, batch, num_evaluations=last), num_dims, n, size)
        case = f"D = {num_dims}, n = {n}, q = {size}, {batch}"
        row = f"{case:<40} {seconds:.2f} s"
        if peer is not None:
            other = warm(BoTorch(num_dims, batch), num_dims, n, size)
            row += f", {peer} {other:.2f} s, ratio {seconds / other:.2f}"
        print(row, flush=True)


if __name__ == "__main__":
    main()
