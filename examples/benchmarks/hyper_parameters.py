"""Effective draws of the hyper-parameters per second of processor time, by kernel.

    python examples/benchmarks/hyper_parameters.py [--cases 10,100 20,100] [--steps 150]

The model is the default model of `suggest`. All kernels are composed with the same moves of edges.
Each runs four chains with equally many warm-up steps and draws. Times are of one thread, without
compilation. The table is in results/hyper_parameters.csv.
"""

import os

os.environ["OPENBLAS_NUM_THREADS"] = "1"
os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"

import argparse
import csv
import time
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from mixing import observations
from numpyro.infer import HMC, NUTS, Gibbs

import structbo as sb
from structbo.samplers import Hamiltonian, InformedEdges

with warnings.catch_warnings(action="ignore"):
    import arviz as az

NUM_CHAINS = 4
SITES = "rho", "kappa", "noise", "outputscale", "lengthscale"
COLUMNS = "D", "n", "kernel", "ms/step", *(f"{site} ESS/s" for site in SITES), "largest R-hat"
fixed_steps = partial(HMC, step_size=0.1, trajectory_length=None)
KERNELS: dict[str, Callable[..., Any]] = {
    "HMC of 5 steps, one scale": partial(fixed_steps, num_steps=5, adapt_mass_matrix=False),
    "HMC of 20 steps": partial(fixed_steps, num_steps=20),
    "NUTS": partial(NUTS, step_size=0.1, max_tree_depth=5),
    "Hamiltonian": Hamiltonian,
}


def composed(kernel: Callable[..., Any], model: Any) -> Gibbs:
    """A kernel for the hyper-parameters, composed with the default one for the edges."""
    return Gibbs([(InformedEdges(model), ["Z"]), (kernel(model), None)])


def measure(kernel: Callable[..., Any], num_dims: int, n: int, num_steps: int) -> list[str]:
    """The numbers of one row; for the lengthscales, the worst one."""
    x, y = observations(num_dims, n)
    fit = partial(
        sb.fit,
        sb.default_model(),
        x,
        y,
        num_warmup=num_steps,
        num_samples=num_steps,
        sampler=partial(composed, kernel),
        show_progress_bar=False,
    )
    fit(num_chains=1)
    begin = time.process_time()
    posterior = fit(num_chains=NUM_CHAINS)
    seconds = time.process_time() - begin
    draws = {site: np.log(posterior.draws[site]) for site in SITES}
    chains = {site: values.reshape(*values.shape[:2], -1) for site, values in draws.items()}

    def of_all(diagnostic: Callable[..., Any], site: str) -> list[float]:
        return [float(diagnostic(column)) for column in np.moveaxis(chains[site], -1, 0)]

    rates = [min(of_all(az.ess, site)) / seconds for site in SITES]
    r_hat = max(max(of_all(az.rhat, site)) for site in SITES)
    per_step = 1e3 * seconds / (2 * NUM_CHAINS * num_steps)
    return [f"{value:.3g}" for value in (per_step, *rates, r_hat)]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=150, help="of warm-up, and draws, per chain")
    parser.add_argument("--cases", nargs="+", default=["10,100", "20,100"])
    parser.add_argument("--folder", type=Path, default=Path(__file__).parent / "results")
    options = parser.parse_args()
    with open(options.folder / "hyper_parameters.csv", "w", buffering=1, newline="") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow(COLUMNS)
        for num_dims, n in (map(int, case.split(",")) for case in options.cases):
            for name, kernel in KERNELS.items():
                row = num_dims, n, name, *measure(kernel, num_dims, n, options.steps)
                table.writerow(row)
                print(dict(zip(COLUMNS, row, strict=True)), flush=True)
