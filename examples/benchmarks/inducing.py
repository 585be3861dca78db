"""Error and time of inducing points against the exact process.

    python examples/benchmarks/inducing.py [--cases 10,1000,3 10,2000,2 10,5000,0]

Half of the points are uniform, and half lie around one point, as in a search. Errors are for the
default number of inducing points, at the draws of an exact chain:

- ``mean_error``: root mean squared difference of the predictive means at 400 unseen points of both
  kinds, in units of the exact posterior deviation of the function;
- ``exact_density``, ``density``: mean log density of the values there, by each process;
- ``edge_error``: largest difference of the probability of an edge at the last draw and even odds.

Seconds are processor time of one sweep of a chain. With 0 draws there is no exact chain.
"""

import argparse
import time
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from scipy.special import expit, logsumexp
from scipy.stats import norm

from structbo.data import Data
from structbo.draws import Chain, condition, default_model, likelihood_of, sweeps_per_draw
from structbo.models import AdditiveGP
from structbo.models.foundation.precision import double_precision
from structbo.models.likelihood import NUM_INDUCING

CASES = ["10,1000,3", "10,2000,2", "10,5000,0"]
RESULTS = Path(__file__).parent / "results" / "inducing.csv"
NUM_NEW, NOISE, SPREAD = 400, 0.02, 0.08
COLUMNS = ["D", "n", "s", "exact_s", "mean_error", "exact_density", "density", "edge_error"]


def observations(num_dims: int, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Points and standardized values, of which the last are held out."""
    rng = np.random.default_rng(0)
    size = n + NUM_NEW
    near = np.clip(0.5 + SPREAD * rng.normal(size=(size, num_dims)), 0.0, 1.0)
    x = np.where(rng.random((size, 1)) < 0.5, near, rng.random((size, num_dims)))
    pairs = np.sin(5 * x[:, 0] * x[:, 1]) + x[:, 2] * x[:, 3] + np.sin(4 * x[:, 5] + 3 * x[:, 6])
    y = pairs + np.cos(4 * x[:, 4]) + NOISE * rng.normal(size=size)
    return x, (y - y[:n].mean()) / y[:n].std()


def drawn(model: AdditiveGP, data: Data, number: int) -> tuple[dict[str, Any], float]:
    """Draws of a chain, and processor seconds of a sweep."""
    chain = Chain(model, number, seed=0)
    chain.advance(data)
    start = time.process_time()
    draws = {name: np.asarray(value) for name, value in chain.advance(data).items()}
    seconds = time.process_time() - start
    return draws, seconds / (number * sweeps_per_draw(*data.x.shape[::-1]))


def predicted(model: AdditiveGP, draws: dict[str, Any], data: Data, x: Any, y: Any) -> Any:
    """Means and variances at new points, of each draw, and the log density of values there."""
    posteriors = condition(model, draws, data)
    mean, variance = map(np.asarray, jax.lax.map(lambda gp: gp.predict(x), posteriors))
    each = norm.logpdf(y, mean, np.sqrt(variance + draws["noise"][:, None]))
    return mean, variance, float((logsumexp(each, axis=0) - np.log(len(each))).mean())


def edge_probabilities(model: AdditiveGP, draw: dict[str, Any], data: Data) -> np.ndarray:
    """Probability of every edge given all other sites, with prior odds of one."""

    @jax.jit
    def log_likelihood(Z: np.ndarray, data: Data) -> jax.Array:
        return likelihood_of(model, {**draw, "Z": Z}, data).log_prob(jnp.asarray(data.y))

    def probability(pair: tuple[int, int]) -> float:
        off, on = draw["Z"].copy(), draw["Z"].copy()
        off[pair], on[pair] = 0, 1
        off[pair[::-1]], on[pair[::-1]] = 0, 1
        return float(expit(log_likelihood(on, data) - log_likelihood(off, data)))

    return np.array([probability(pair) for pair in combinations(range(data.x.shape[1]), 2)])


def measured(num_dims: int, n: int, number: int) -> list[float]:
    """The row of a case."""
    x, y = observations(num_dims, n)
    data = Data.padded(x[:n], y[:n])
    inducing, exact = (replace(default_model(), num_inducing=m) for m in (NUM_INDUCING, len(x)))
    _, seconds = drawn(inducing, data, max(number, 1))
    if number == 0:
        return [seconds]
    draws, exact_seconds = drawn(exact, data, number)
    new = data, x[n:], y[n:]
    found, right = (predicted(model, draws, *new) for model in (inducing, exact))
    error = np.sqrt(np.mean((found[0] - right[0]) ** 2 / right[1]))
    last = {name: value[-1] for name, value in draws.items()}
    edges, right_edges = (edge_probabilities(model, last, data) for model in (inducing, exact))
    edge_error = np.abs(edges - right_edges).max()
    return [seconds, exact_seconds, error, right[2], found[2], edge_error]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cases", nargs="+", default=CASES)
    parser.add_argument("--results", type=Path, default=RESULTS)
    given = parser.parse_args()
    lines = [",".join(COLUMNS)]
    for case in given.cases:
        num_dims, n, number = map(int, case.split(","))
        with double_precision():
            row = [num_dims, n, *measured(num_dims, n, number)]
        lines.append(",".join(f"{value:.4g}" for value in row))
        print(*(f"{k} {v:.4g}" for k, v in zip(COLUMNS, row, strict=False)), flush=True)
        given.results.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
