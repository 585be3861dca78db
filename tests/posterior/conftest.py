"""A posterior that is sampled, and its export."""

from typing import Any

import jax
import pytest
from given_draws import NAMES, PROBS, observations

from structbo.models import AdditiveGP, edges
from structbo.posterior import Posterior, fit


@pytest.fixture(scope="session")
def posterior() -> Posterior:
    X, y = observations()
    with jax.enable_x64(False):  # as in a program that has never heard of the flag
        return fit(AdditiveGP(edges(PROBS)), X, y, num_warmup=60, num_samples=60, names=NAMES)


@pytest.fixture(scope="session")
def inference_data(posterior: Posterior) -> Any:
    with jax.enable_x64(False):
        return posterior.to_arviz(num_prior_draws=40)
