"""Small random inputs that several tests share."""

from collections.abc import Callable
from functools import partial

import jax.numpy as jnp
import numpy as np
import pytest

from structbo.models import AdditiveCovariance, Decomposition, matern52

RandomEdges = Callable[..., np.ndarray]


@pytest.fixture(scope="session")
def random_edges() -> RandomEdges:
    def draw(num_dims: int, seed: int, density: float = 0.4) -> np.ndarray:
        upper = np.triu(np.random.default_rng(seed).random((num_dims, num_dims)) < density, 1)
        return upper | upper.T

    return draw


@pytest.fixture(scope="session")
def make_covariance() -> Callable[..., AdditiveCovariance]:
    """An additive covariance over {0, 1}, {1, 2}, {3} and a row of padding."""
    members = jnp.array([[1, 1, 0, 0], [0, 1, 1, 0], [0, 0, 0, 1], [0, 0, 0, 0]], bool)
    return partial(
        AdditiveCovariance,
        decomposition=Decomposition.of(members),
        lengthscale=jnp.array([0.3, 0.5, 0.8, 0.4]),
        outputscale=jnp.array(1.7),
        strengths=None,
        residual=None,
        kernel=matern52,
    )
