"""Reference posteriors from long runs: `posterior.py` compares samplers with them.

    python examples/benchmarks/posterior_reference.py [--data star-50 grid-50]

Four chains per data set double their steps until R-hat is below 1.01 for every edge; a file is only
written if this succeeds in time. A file in results/posterior/ also has the minimum number of
effective draws over edges.
"""

import argparse
import json
import time
from pathlib import Path
from typing import Any

import numpy as np
from posterior_data import data_set
from posterior_errors import summary
from posterior_model import MODEL

import structbo as sb
from structbo.samplers import ParallelTempering, default_sampler

FOLDER = Path(__file__).parent / "results" / "posterior"
NAMES = [
    *(
        f"{name}-{n}"
        for n in (20, 50, 100, 200)
        for name in ("star", "grid", "styblinski", "rotated")
    ),
    *("graph15-50", "graph15-100", "graph20-100", "graph20-200", "hartmann-100", "svr-100"),
]
NUM_CHAINS, FIRST_LENGTH = 4, 1000
MAX_R_HAT = 1.01


def make(name: str, length: int, seconds: float, is_tempered: bool) -> None:
    """Runs chains for a data set, from an initial length, and writes its file if they agree."""
    data, begin, r_hat = data_set(name), time.process_time(), np.inf
    while r_hat > MAX_R_HAT and time.process_time() - begin < seconds:
        posterior = sb.fit(
            MODEL,
            *data[:2],
            num_warmup=length // 2,
            num_samples=length,
            num_chains=NUM_CHAINS,
            sampler=ParallelTempering if is_tempered else default_sampler,
            show_progress_bar=False,
        )
        table = posterior.summary()
        edges = table[table.index.str.startswith("Z[")].astype(float)
        r_hat, size = float(edges["r_hat"].max()), float(edges["ess_bulk"].min())
        if r_hat <= MAX_R_HAT:
            flat = {s: v.reshape(-1, *v.shape[2:]) for s, v in posterior.draws.items()}
            quality = {"r_hat": r_hat, "ess": size, "draws": NUM_CHAINS * length}
            found = summary(flat, data) | quality
            (FOLDER / f"{name}.json").write_text(json.dumps(rounded(found)) + "\n")
        cpu = time.process_time() - begin
        print(f"{name} {length} draws: R-hat {r_hat:.3f}, ESS {size:.0f}, {cpu:.0f} s", flush=True)
        length *= 2


def rounded(found: Any) -> Any:
    """Numbers with four decimals, in lists and dicts of any depth."""
    if isinstance(found, dict):
        return {name: rounded(value) for name, value in found.items()}
    return [rounded(v) for v in found] if isinstance(found, list) else round(found, 4)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", nargs="+", default=NAMES)
    parser.add_argument("--length", type=int, default=FIRST_LENGTH, help="of the first chains")
    parser.add_argument("--seconds", type=float, default=600.0, help="no new run after so many")
    parser.add_argument("--tempered", action="store_true", help="by ParallelTempering")
    options = parser.parse_args()
    FOLDER.mkdir(exist_ok=True)
    for name in options.data:
        make(name, options.length, options.seconds, options.tempered)
