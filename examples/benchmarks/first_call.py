"""Time of the first suggestion of a process: when all is compiled, and by kept programs.

    python examples/benchmarks/first_call.py

Seconds by the clock from Python's imports to the first suggestion, at 10 parameters and 100
evaluations. JAX's own cache alone, in the last line, spares a process the compilation, but not the
tracing before it.
"""

import subprocess
import sys
import tempfile

FIRST_CALL = """
import sys, time
start = time.perf_counter()
import numpy as np, structbo as sb
from structbo.models.foundation import kept_programs
mode, folder = sys.argv[1:]
if mode != "compiled":
    sb.keep_programs(folder)
if mode == "cached":
    kept_programs._folder = None
rng = np.random.default_rng(0)
x = rng.random((100, 10))
sb.suggest(sb.Space.box([[0, 1]] * 10), x, np.sin(5 * x[:, 0] * x[:, 1]) + x[:, 2])
print(time.perf_counter() - start)
"""


def first_call(mode: str, folder: str) -> float:
    """Seconds that a new process takes.

    Args:
        mode: "compiled", "kept" or "cached".
        folder: where programs are kept.
    """
    command = [sys.executable, "-c", FIRST_CALL, mode, folder]
    output = subprocess.run(command, capture_output=True, text=True, check=True)
    return float(output.stdout.split()[-1])


def main() -> None:
    for mode in ("compiled", "kept", "cached"):
        with tempfile.TemporaryDirectory() as folder:
            if mode != "compiled":
                first_call(mode, folder)
            times = [first_call(mode, folder) for _ in range(3)]
        print(f"{mode:<10} {min(times):5.1f} to {max(times):5.1f} s", flush=True)


if __name__ == "__main__":
    main()
