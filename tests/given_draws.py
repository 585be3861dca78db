"""Posteriors of small data whose draws are given, not sampled."""

from typing import Any

import jax
import numpy as np
from numpyro import handlers

from structbo.models import AdditiveGP
from structbo.posterior import Posterior

NUM_CHAINS, NUM_DRAWS, NAMES = 2, 60, ("a", "b", "c")
PROBS = np.array([[0.0, 0.5, 0.0], [0.5, 0.0, 0.5], [0.0, 0.5, 0.0]])


def observations(num_dims: int = 3, n: int = 15) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.random((n, num_dims))
    y = np.sin(6.0 * X[:, 0] * X[:, 1]) + X[:, 2] + 0.05 * rng.standard_normal(n)
    return X, (y - y.mean()) / y.std()


def with_edges(Z: np.ndarray, model: AdditiveGP | None = None) -> Posterior:
    """A posterior with these edges, (chains, draws, D, D), and random hyper-parameters."""
    rng = np.random.default_rng(1)
    X, y = observations(Z.shape[-1])
    draws = {
        "Z": Z,
        "lengthscale": rng.uniform(0.5, 2.0, Z.shape[:3]),
        "noise": rng.uniform(0.05, 0.1, Z.shape[:2]),
        "outputscale": rng.uniform(1.0, 2.0, Z.shape[:2]),
    }
    return Posterior(model or AdditiveGP(), X, y, draws)


def edge_draws(probability: float, num_dims: int = 3) -> np.ndarray:
    rng = np.random.default_rng(2)
    shape = (NUM_CHAINS, NUM_DRAWS, num_dims, num_dims)
    upper = np.triu(rng.random(shape) < probability, 1)
    return (upper | np.swapaxes(upper, -2, -1)).astype(np.int32)


def dense_covariance(posterior: Posterior, chain: int, draw: int) -> np.ndarray:
    @jax.jit
    def covariance(values: dict[str, Any]) -> jax.Array:
        run = handlers.trace(handlers.substitute(handlers.seed(posterior.model, 0), data=values))
        return run.get_trace(posterior.X)["y"]["fn"].gram

    values = {name: value[chain, draw] for name, value in posterior.draws.items()}
    return np.asarray(covariance(values))


def with_structure(structure: Any, site: str, values: np.ndarray) -> Posterior:
    """A posterior with the given draws of one structure site, (chains, draws, D)."""
    rng = np.random.default_rng(1)
    X, y = observations(values.shape[-1])
    draws = {
        site: values,
        "lengthscale": rng.uniform(0.5, 2.0, values.shape),
        "noise": rng.uniform(0.05, 0.1, values.shape[:2]),
        "outputscale": rng.uniform(1.0, 2.0, values.shape[:2]),
    }
    return Posterior(AdditiveGP(structure), X, y, draws)
