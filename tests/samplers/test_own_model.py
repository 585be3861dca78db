"""The example with a user's Poisson model, against the enumeration of all graphs."""

import runpy
from functools import partial
from itertools import product
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpyro import handlers
from numpyro.infer import MCMC
from numpyro.infer.util import log_density
from scipy.special import logsumexp
from scipy.stats import multivariate_t

from structbo.samplers import default_sampler

EXAMPLE = Path(__file__).parents[2] / "examples" / "own_model.py"
NUM_DIMS, NUM_ROWS = 3, 16
FIXED = {
    "lengthscale": jnp.full(NUM_DIMS, 0.4),
    "deviation": jnp.array(0.8),
    "level": jnp.array(2.0),
}


@pytest.fixture(scope="module")
def counts():
    return runpy.run_path(str(EXAMPLE))["counts"]


def graphs() -> np.ndarray:
    """All edge matrices, shape (2 ** pairs, D, D)."""
    first, second = np.triu_indices(NUM_DIMS, 1)
    bits = np.array([*product((0, 1), repeat=len(first))])
    found = np.zeros((len(bits), NUM_DIMS, NUM_DIMS), np.int32)
    found[:, first, second] = found[:, second, first] = bits
    return found


def log_evidence(log_joint, num_draws: int = 20_000) -> float:
    """The integral over log rates, by importance sampling from a t distribution at the mode."""
    mode = jnp.full(NUM_ROWS, 2.0)
    gradient, hessian = jax.grad(log_joint), jax.hessian(log_joint)
    for _ in range(20):
        mode = mode - jnp.linalg.solve(hessian(mode), gradient(mode))
    root = np.linalg.cholesky(np.linalg.inv(-hessian(mode)))
    rng, freedom = np.random.default_rng(0), 8.0
    normal = rng.normal(size=(num_draws, NUM_ROWS))
    t = normal / np.sqrt(rng.chisquare(freedom, (num_draws, 1)) / freedom)
    density = multivariate_t(np.zeros(NUM_ROWS), np.eye(NUM_ROWS), df=freedom).logpdf(t)
    heights = jax.lax.map(log_joint, jnp.asarray(mode + t @ root.T), batch_size=500)
    log_weights = np.asarray(heights) - density + np.log(np.diag(root)).sum()
    return float(logsumexp(log_weights) - np.log(num_draws))


def test_graphs_have_the_frequencies_of_their_evidence(counts, effort):
    """Log rates are integrated out by importance sampling, and all eight graphs are listed."""
    rng = np.random.default_rng(1)
    X = rng.random((NUM_ROWS, NUM_DIMS))
    log_rate = 2.0 + 1.2 * np.sin(4.0 * X[:, 0]) * np.cos(4.0 * X[:, 1])
    y = jnp.asarray(rng.poisson(np.exp(log_rate)))
    model = handlers.condition(counts, data=FIXED)

    def log_joint(Z, log_rate):
        return log_density(model, (X, y), {}, {"Z": Z, "log_rate": log_rate})[0]

    evidences = np.array([log_evidence(jax.jit(partial(log_joint, Z))) for Z in graphs()])
    expected = np.exp(evidences - logsumexp(evidences))
    sampler = default_sampler(model, num_dims=NUM_DIMS)
    mcmc = MCMC(sampler, num_warmup=500, num_samples=int(6000 * effort), progress_bar=False)
    mcmc.run(jax.random.key(0), X, y)
    same = (mcmc.get_samples()["Z"][:, None] == graphs()).all((2, 3))
    found = same.mean(0)
    assert found.sum() == pytest.approx(1.0)
    assert 0.5 * np.abs(found - expected).sum() < 0.05 / np.sqrt(effort), (found, expected)
