"""Errors of a sampler's draws against the posterior, per second of processor time.

    python examples/benchmarks/posterior.py [--data star-100] [--chains 4]

Every sampler draws as for a suggestion: *cold*, with its run-in, and *warm*, after one more
observation. The references are the long runs of `posterior_reference.py`. Errors are of edge
probabilities, of quantiles of other sites (in units of their spread), and of the log predictive
density of held-out values. Times are of one thread, without compilation. Rows are added to
results/posterior/posterior.csv; existing rows are not measured again. Data sets have pictures.
"""

import os

os.environ["OPENBLAS_NUM_THREADS"] = "1"
os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"

import argparse
import json
import time
from itertools import product
from pathlib import Path
from typing import Any

import jax
import numpy as np
from matplotlib.figure import Figure
from numpyro.infer import HMC, Gibbs
from posterior_data import data_set
from posterior_errors import errors
from posterior_model import MODEL
from posterior_reference import FOLDER
from runs import Runs

from structbo.data import Data
from structbo.draws import Chain
from structbo.models.foundation.precision import double_precision
from structbo.samplers import EdgeGibbs, Hamiltonian, InformedEdges, SamplerFactory, default_sampler
from structbo.samplers import ParallelTempering as Tempering

NUM_DRAWS = (4, 16, 64)
STARTS = ("cold", "warm")
KEYS, ERRORS = ("data", "sampler", "start", "draws"), ("edges", "sites", "density")


def visited(model: Any) -> Gibbs:
    """A sampler with edges updated one by one, without informed moves."""
    return Gibbs([(EdgeGibbs(model), ["Z"]), (Hamiltonian(model), None)])


def short_steps(model: Any) -> Gibbs:
    """HMC of five steps for the continuous sites."""
    kernel = HMC(model, step_size=0.1, num_steps=5, trajectory_length=None)
    return Gibbs([(InformedEdges(model), ["Z"]), (kernel, None)])


SAMPLERS: dict[str, SamplerFactory] = {
    "default": default_sampler,
    "EdgeGibbs": visited,
    "HMC of 5 steps": short_steps,
    "ParallelTempering": Tempering,
}


def timed(chain: Chain, data: Data) -> tuple[Any, float]:
    """The draws of a chain, and their seconds of processor time."""
    begin = time.process_time()
    with double_precision():
        draws = jax.block_until_ready(chain.advance(data))
    return jax.tree.map(np.asarray, draws), time.process_time() - begin


def measure(name: str, sampler: Any, num_draws: int, num_chains: int) -> dict[str, list[float]]:
    """Mean seconds and errors over chains, of cold and of warm starts."""
    found, reference = data_set(name), json.loads((FOLDER / f"{name}.json").read_text())
    whole, before = (Data.padded(found.x[:m], found.y[:m]) for m in (None, -1))
    results: dict[str, list[list[float]]] = {start: [] for start in STARTS}
    for seed in range(num_chains + 1):  # the first one compiles
        for start in results:
            chain = Chain(MODEL, num_draws, seed, sampler)
            if start == "warm":
                timed(chain, before)
            draws, seconds = timed(chain, whole)
            if seed:
                results[start].append([seconds, *errors(draws, found, reference)])
    return {start: np.mean(rows, axis=0).tolist() for start, rows in results.items()}


def picture(name: str, runs: Runs, folder: Path) -> None:
    """Errors over processor time, a line for every sampler."""
    figure = Figure(figsize=(11.0, 3.0), layout="constrained")
    for column, axes in enumerate(figure.subplots(1, len(ERRORS)), start=1):
        for sampler, (start, style) in product(SAMPLERS, zip(STARTS, ("--", "-"), strict=True)):
            own = runs.of_seeds(name, sampler, start)
            look = {"color": f"C{[*SAMPLERS].index(sampler)}", "linestyle": style, "marker": "."}
            if len(own):
                axes.plot(own[:, 0], own[:, column], label=f"{sampler}, {start}", **look)
        axes.set(xscale="log", xlabel="CPU seconds", title=f"error of {ERRORS[column - 1]}")
        axes.tick_params(axis="x", which="minor", labelbottom=False)  # they would overlap
    figure.legend(*axes.get_legend_handles_labels(), loc="outside right center", fontsize="x-small")
    figure.savefig(folder / f"{name}.png", dpi=110)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", nargs="+", default=sorted(p.stem for p in FOLDER.glob("*.json")))
    parser.add_argument("--chains", type=int, default=4)
    parser.add_argument("--folder", type=Path, default=FOLDER)
    options = parser.parse_args()
    runs = Runs(options.folder / "posterior.csv", KEYS, ("CPU s", *ERRORS))
    for name in options.data:
        for (sampler, kernel), n in product(SAMPLERS.items(), NUM_DRAWS):
            if (name, sampler, STARTS[-1], n) not in runs:
                for start, numbers in measure(name, kernel, n, options.chains).items():
                    runs.add((name, sampler, start, n), numbers)
        picture(name, runs, options.folder)


if __name__ == "__main__":
    main()
