"""One direction learned by expectation maximization, and by gradients of the likelihood.

    python examples/benchmarks/expectation_maximization.py [--seeds 5]

Li et al. 2016 learn each direction by expectation maximization (EM), after Gilboa et al. 2013. Both
ways maximize one likelihood: of a Matern-5/2 process of one projection, its scale and its noise.
The table has how far the log likelihood is below the best one found, after some numbers of Cholesky
decompositions. The nugget is a variance that belongs to the process, relative to its variance.
"""

import argparse
import csv
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
from jax import Array
from jax.scipy.linalg import cho_solve
from scipy.optimize import minimize
from tqdm import tqdm

from structbo.models.kernels import matern52

numpyro.enable_x64()

BUDGETS = 30, 100, 300, 1000
CASES = [*product((10, 50), (50, 200), (1e-6, 1e-2, 1e-1))]
RESULTS = Path(__file__).parent / "results"
lbfgs = partial(minimize, jac=True, method="L-BFGS-B")


def covariance(theta: Array, X: Array, nugget: float) -> Array:
    """Of the process at the points; theta has the direction, the log variance and the log noise."""
    z = X @ theta[:-2]
    correlation = matern52.at_distance(jnp.abs(z[:, None] - z))
    return jnp.exp(theta[-2]) * (correlation + nugget * jnp.eye(len(X)))


def normal_loss(K: Array, moments: Array) -> Array:
    """Minus the expected log density of N(0, K), given second moments, without its constant."""
    L = jnp.linalg.cholesky(K)
    return jnp.log(jnp.diag(L)).sum() + jnp.trace(cho_solve((L, True), moments)) / 2


@jax.jit
@jax.value_and_grad
def evidence_loss(theta: Array, X: Array, nugget: float, y: Array) -> Array:
    """Minus the log likelihood, without its constant."""
    K = covariance(theta, X, nugget) + jnp.exp(theta[-1]) * jnp.eye(len(y))
    return normal_loss(K, jnp.outer(y, y))


@jax.jit
@jax.value_and_grad
def expected_loss(theta: Array, X: Array, nugget: float, moments: Array) -> Array:
    """What the maximization step minimizes over the direction and the variance."""
    return normal_loss(covariance(theta, X, nugget), moments)


@jax.jit
def expectation(theta: Array, X: Array, nugget: float, y: Array) -> tuple[Array, Array]:
    """Second moments of the process given the observations, and the noise that fits them best."""
    K = covariance(theta, X, nugget)
    gain = jnp.linalg.solve(K + jnp.exp(theta[-1]) * jnp.eye(len(y)), K).T
    mean, C = gain @ y, K - gain @ K
    return C + jnp.outer(mean, mean), jnp.mean((y - mean) ** 2 + jnp.diag(C))


def by_gradients(start: np.ndarray, *data: Any) -> list[float]:
    """The log likelihood after each decomposition of L-BFGS."""
    trace: list[tuple[Array, Array]] = []

    def loss(theta: np.ndarray) -> tuple[Array, Array]:
        trace.append(evidence_loss(theta, *data))
        return trace[-1]

    lbfgs(loss, start, options={"maxfun": BUDGETS[-1]})
    return [-float(value) for value, _ in trace]


def by_expectation(start: np.ndarray, X: np.ndarray, nugget: float, y: np.ndarray) -> list[float]:
    """The log likelihood after each decomposition of EM."""
    theta, trace = start, list[float]()
    while len(trace) < BUDGETS[-1]:
        moments, noise = expectation(theta, X, nugget, y)
        found = lbfgs(expected_loss, theta, (X, nugget, moments), options={"maxfun": 10})
        trace += [-float(evidence_loss(theta, X, nugget, y)[0])] * (1 + found.nfev)
        theta = np.append(found.x[:-1], np.log(noise))
    return trace


def study(num_dims: int, n: int, nugget: float, seed: int) -> dict[str, list[str]]:
    """For each way, how far it is below the best log likelihood."""
    rng = np.random.default_rng(seed)
    X = rng.random((n, num_dims))
    W = rng.normal(size=(num_dims, 2)) * 3.0 / np.sqrt(num_dims)
    y = np.sin(X @ W[:, 0]) + 0.5 * np.cos(X @ W[:, 1]) + 0.05 * rng.normal(size=n)
    y = (y - y.mean()) / y.std()
    start = np.concatenate([np.eye(num_dims)[0], [0.0, np.log(0.1)]])
    ways = {"gradients": by_gradients, "EM": by_expectation}
    traces = {name: way(start, X, nugget, y) for name, way in ways.items()}
    best = max(map(max, traces.values()))
    return {name: [f"{best - max(t[:b]):.3f}" for b in BUDGETS] for name, t in traces.items()}


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=5)
    runs = product(CASES, range(parser.parse_args().seeds))
    with open(RESULTS / "expectation_maximization.csv", "w", newline="") as file:
        table = csv.writer(file)
        table.writerow(["D", "n", "nugget", "seed", "method", *BUDGETS])
        for case in tqdm([(*case, seed) for case, seed in runs]):
            for method, gaps in study(*case).items():
                table.writerow([*case, method, *gaps])
