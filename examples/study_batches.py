"""Batch methods on finite sets of candidates, as in Kathuria, Deshpande and Kohli 2016, section 4.

    python examples/study_batches.py --abalone ../shared/data/abalone/abalone.data

Candidates are those of batch_problems.py. Kernel parameters maximize the marginal likelihood of 100
of their values. Values are standardized and observed with deviation 0.01. All methods start from
the same random point; DPP samples are within 0.01 of the process, EST estimates the maximum by
ESTn. Written: a CSV file and a picture of the median regret of the candidate that looks best; those
in results/ come from `--runs 20`.
"""

import argparse
import csv
from pathlib import Path

import jax
import jax.numpy as jnp
import matplotlib.pyplot as plt
import numpy as np
from batch_problems import NAMES, problem
from scipy.optimize import minimize
from scipy.special import log_ndtr

from structbo import batches
from structbo.batches import EstimationWidth, GroundSet, Hallucination, PureExploration
from structbo.inference import Data
from structbo.models import AdditiveCovariance, ConditionedGP, Decomposition, MarginalGP
from structbo.models.kernels import squared_exponential

M, DELTA, NOISE = 512, 0.1, 1e-4
METHODS = {
    "BUCB": (Hallucination(), "UCB"), "B-EST": (Hallucination(), "EST"),
    "UCB-PE": (PureExploration(), "UCB"), "EST-PE": (PureExploration(), "EST"),
    "UCB-DPP-SAMPLE": (batches.DPPSample(0.01), "UCB"),
    "EST-DPP-SAMPLE": (batches.DPPSample(0.01), "EST"),
    "LP-UCB": (batches.LocalPenalization(), "UCB"),
    "random": (lambda _, q, key: jax.random.permutation(key, M)[:q].tolist(), "UCB"),
}  # fmt: skip
NUM_BATCHES = {5: 10, 10: 5}


def process(logs: jax.Array, data: Data) -> MarginalGP:
    """A fully dependent process: logs of the lengthscales, of the variance and of the noise."""
    v, whole = jnp.exp(logs), Decomposition.of(jnp.ones((1, len(logs) - 2), bool))
    covariance = AdditiveCovariance(whole, v[:-2], v[-2], None, None, None, squared_exponential)
    return MarginalGP(covariance, jnp.asarray(data.x), NOISE + v[-1], jnp.asarray(data.mask))


@jax.jit
def posterior(logs: jax.Array, data: Data) -> ConditionedGP:
    return jax.tree.map(lambda v: v[None], process(logs, data).condition(data.y))


def fit(x: np.ndarray, f: np.ndarray) -> np.ndarray:
    """Kernel parameters of maximum likelihood."""
    data = Data.padded(x, f)
    loss = jax.jit(jax.value_and_grad(lambda logs: -process(logs, data).log_prob(data.y)))
    start, box = [-1.0] * x.shape[1] + [0.0, -7.0], [(-3.5, 3.0)] * x.shape[1] + [(-2, 4), (-12, 1)]
    return minimize(lambda v: tuple(map(np.asarray, loss(v))), start, jac=True, bounds=box).x


def est_maximum(ground: GroundSet, floor: float) -> float:
    """ESTn: the expected maximum of independent normals, at least the best value so far."""
    top = max(floor, (ground.mean + 6 * ground.deviation).max())
    w = np.linspace(floor, top, 200)[:, None]
    below = np.exp(log_ndtr((w - ground.mean) / np.maximum(ground.deviation, 1e-9)).sum(1))
    return floor + np.trapezoid(1 - below, w[:, 0])


def run(method: str, size: int, seed: int, x: np.ndarray, f: np.ndarray, logs: np.ndarray) -> list:
    """Regret after each batch."""
    rng = np.random.default_rng([seed, 7])
    strategy, kind = METHODS[method]
    seen, regret = [int(rng.integers(M))], []
    noise = np.sqrt(NOISE) * rng.normal(size=60)
    for t in range(1, NUM_BATCHES[size] + 2):
        data = Data.padded(x[seen], f[seen] + noise[: len(seen)])
        gp, best = posterior(logs, data), data.y[data.mask].argmax()
        regret.append(float(f.max() - f[seen[best]]))
        if t > NUM_BATCHES[size]:
            return regret[1:]
        ucb, later = (np.sqrt(2 * np.log(M * np.pi**2 * s**2 / (6 * DELTA))) for s in (t, t + 1))
        kwargs = {"key": jax.random.key(1000 * seed + t), "width": ucb, "next_width": later}
        if kind == "EST":
            width = EstimationWidth(est_maximum(GroundSet.of(gp, x), data.y[best]))
            kwargs |= {"width": width, "next_width": None}
        seen += batches.choose_batch(strategy, gp, data, x, size, **kwargs).tolist()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=50)
    parser.add_argument("--abalone", type=Path, required=True)
    parser.add_argument("--results", type=Path, default=Path(__file__).parent / "results")
    arguments = parser.parse_args()
    figure, axes = plt.subplots(2, 4, figsize=(14, 6), sharex="row", layout="constrained")
    with open(arguments.results / "batches.csv", "w", buffering=1) as file:
        table = csv.writer(file)
        table.writerow(["problem", "batch size", "method", "runs", *range(1, 11)])
        for column, name in enumerate(NAMES):
            x, values = problem(name, M, arguments.abalone)
            f = (values - values.mean()) / values.std()
            some = np.random.default_rng(1).choice(M, 100, replace=False)
            logs = fit(x[some], f[some])
            for row, size in enumerate(NUM_BATCHES):
                for method in METHODS:
                    runs = [run(method, size, seed, x, f, logs) for seed in range(arguments.runs)]
                    median = np.median(runs, axis=0) * values.std()
                    table.writerow([name, size, method, len(runs), *np.round(median, 5)])
                    axes[row, column].plot(1 + np.arange(len(median)), median, label=method)
                axes[row, column].set(title=f"{name}, B = {size}", xlabel="batches")
    figure.supylabel("median immediate regret")
    axes[0, 3].legend(fontsize=7)
    figure.savefig(arguments.results / "batches.png", dpi=100)


if __name__ == "__main__":
    jax.config.update("jax_enable_x64", True)
    main()
