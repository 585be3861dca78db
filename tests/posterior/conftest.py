"""A posterior of given draws, and its export."""

from typing import Any

import jax
import numpy as np
import pytest
from given_draws import NAMES, NUM_CHAINS, NUM_DRAWS, PROBS, edge_draws, observations

from structbo.models import AdditiveGP, edges
from structbo.posterior import Posterior


@pytest.fixture(scope="session")
def posterior() -> Posterior:
    """Chains whose edge a,c never changes, with the statistics of a sampler."""
    rng = np.random.default_rng(5)
    shape = (NUM_CHAINS, NUM_DRAWS)
    draws = {
        "Z": edge_draws(0.5) * (PROBS > 0),
        "lengthscale": rng.uniform(0.5, 2.0, (*shape, 3)),
        "noise": rng.uniform(0.05, 0.1, shape),
        "outputscale": rng.uniform(1.0, 2.0, shape),
    }
    statistics = {
        "acceptance_rate": rng.uniform(0.6, 1.0, shape),
        "diverging": np.zeros(shape, bool),
        "energy": rng.standard_normal(shape),
    }
    return Posterior(AdditiveGP(edges(PROBS)), *observations(), draws, statistics, NAMES)


@pytest.fixture(scope="session")
def inference_data(posterior: Posterior) -> Any:
    with jax.enable_x64(False):  # as in a program that has never heard of the flag
        return posterior.to_arviz(num_prior_draws=40)
