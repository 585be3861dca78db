"""Error and time of inducing points against the exact process.

    python examples/benchmarks/inducing.py [--cases 10,1000,16 10,2000,6 10,5000,0]

Half of the points are uniform, half lie around one point, as those of a search. One chain has the
exact likelihood, one the default number of inducing points; both are run in on 128 of the points.
Errors are on 400 unseen points of both kinds:

- ``mean_error``: root mean squared difference of the predictive means at the draws of the exact
  chain, in units of the exact posterior deviation;
- ``exact_density``, ``density``: mean log density of unseen values, by the draws of each chain;
- ``flip_error``: at the last draw of the exact chain, the largest difference of the probability of
  an edge given everything else, of all edges;
- ``edge_difference``: the largest difference of the edge probabilities of the two chains, most of
  which is Monte Carlo error.

Seconds are of one sweep of each chain. Without draws, by 0, there is no exact chain.
"""

import argparse
import csv
import time
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import jax
import numpy as np
from scipy.special import expit, logsumexp
from scipy.stats import norm

from structbo.data import Data
from structbo.draws import Chain, condition, default_model, likelihood_of, sweeps_per_draw
from structbo.models import AdditiveGP
from structbo.models.likelihood import NUM_INDUCING
from structbo.models.precision import double_precision

CASES = ["10,1000,16", "10,2000,6", "10,5000,0"]
"""Parameters, evaluations, and draws of each chain."""
NUM_NEW, NOISE, SPREAD = 400, 0.02, 0.08
ERRORS = ("exact_s", "mean_error", "exact_density", "density", "flip_error", "edge_difference")
COLUMNS = ("D", "n", "seconds", *ERRORS)


def observations(num_dims: int, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Points and standardized values, the last of which are not seen."""
    rng = np.random.default_rng(0)
    size = n + NUM_NEW
    near = np.clip(0.5 + SPREAD * rng.normal(size=(size, num_dims)), 0.0, 1.0)
    x = np.where(rng.random((size, 1)) < 0.5, near, rng.random((size, num_dims)))
    pairs = np.sin(5 * x[:, 0] * x[:, 1]) + x[:, 2] * x[:, 3] + np.sin(4 * x[:, 5] + 3 * x[:, 6])
    y = pairs + np.cos(4 * x[:, 4]) + NOISE * rng.normal(size=size)
    return x, (y - y[:n].mean()) / y[:n].std()


def drawn(model: AdditiveGP, data: Data, number: int) -> tuple[dict[str, Any], float]:
    """Draws of a chain, and the seconds of a sweep."""
    chain = Chain(model, number, seed=0)
    chain.advance(data)
    start = time.perf_counter()
    draws = {name: np.asarray(value) for name, value in chain.advance(data).items()}
    sweeps = number * sweeps_per_draw(data.x.shape[1])
    return draws, (time.perf_counter() - start) / sweeps


def predicted(
    model: AdditiveGP, draws: dict[str, Any], data: Data, new: np.ndarray
) -> list[np.ndarray]:
    """Means and variances of the function at new points, of each draw: (draws, m)."""
    posteriors = condition(model, draws, data)
    return [np.asarray(v) for v in jax.lax.map(lambda gp: gp.predict(new), posteriors)]


def log_density(draws: dict[str, Any], moments: list[np.ndarray], y: np.ndarray) -> float:
    """Of new values, by the mixture of the draws."""
    mean, variance = moments
    each = norm.logpdf(y, mean, np.sqrt(variance + draws["noise"][:, None]))
    return float((logsumexp(each, axis=0) - np.log(len(each))).mean())


def edge_odds(model: AdditiveGP, draw: dict[str, Any], data: Data) -> np.ndarray:
    """Log likelihood ratios of every edge, given all else, from 45 evaluations in 10 dimensions."""
    rows, columns = np.triu_indices(data.x.shape[1], 1)

    @jax.jit
    def log_likelihood(Z: jax.Array, data: Data) -> jax.Array:
        return likelihood_of(model, {**draw, "Z": Z}, data).log_prob(data.y)

    def ratio(i: int, j: int) -> float:
        off, on = draw["Z"].copy(), draw["Z"].copy()
        off[[i, j], [j, i]], on[[i, j], [j, i]] = 0, 1
        return float(log_likelihood(on, data) - log_likelihood(off, data))

    return np.array([ratio(i, j) for i, j in zip(rows, columns, strict=True)])


def measured(num_dims: int, n: int, number: int) -> list[float]:
    """The row of a case."""
    x, y = observations(num_dims, n)
    data = Data.padded(x[:n], y[:n])
    summarized = replace(default_model(), num_inducing=NUM_INDUCING)
    draws, seconds = drawn(summarized, data, max(number, 1))
    if number == 0:
        return [seconds]
    exact = replace(default_model(), num_inducing=len(data.y))
    exact_draws, exact_seconds = drawn(exact, data, number)
    at = partial(predicted, data=data, new=x[n:])
    own, right, same = at(summarized, draws), at(exact, exact_draws), at(summarized, exact_draws)
    last = {name: value[-1] for name, value in exact_draws.items()}
    odds, right_odds = (edge_odds(model, last, data) for model in (summarized, exact))
    return [
        seconds,
        exact_seconds,
        np.sqrt(np.mean((same[0] - right[0]) ** 2 / right[1])),
        log_density(exact_draws, right, y[n:]),
        log_density(draws, own, y[n:]),
        np.abs(expit(odds) - expit(right_odds)).max(),
        np.abs(draws["Z"].mean(0) - exact_draws["Z"].mean(0)).max(),
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cases", nargs="+", default=CASES)
    results = Path(__file__).parent / "results" / "inducing.csv"
    parser.add_argument("--results", type=Path, default=results)
    arguments = parser.parse_args()
    rows = []
    for case in arguments.cases:
        num_dims, n, number = map(int, case.split(","))
        with double_precision():
            rows.append([num_dims, n, *measured(num_dims, n, number)])
        print(*(f"{k} {v:.4g}" for k, v in zip(COLUMNS, rows[-1], strict=False)), flush=True)
        with arguments.results.open("w", newline="") as file:
            table = csv.writer(file, lineterminator="\n")
            table.writerow(COLUMNS)
            table.writerows([[f"{value:.4g}" for value in row] for row in rows])


if __name__ == "__main__":
    main()
