"""Enumerated posteriors of small problems, and compiled chains to compare with them."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpyro.infer.util import log_density

from structbo.samplers import StructureBlock
from structbo.samplers.conditional import Conditional


@pytest.fixture(scope="session")
def data() -> Callable[[int, int], tuple[jax.Array, jax.Array]]:
    """Observations of an interaction of the first two of several dimensions and of the others."""

    def draw(num_points: int, num_dims: int) -> tuple[jax.Array, jax.Array]:
        rng = np.random.default_rng(0)
        X = rng.random((num_points, num_dims))
        y = np.sin(5 * X[:, 0] * X[:, 1]) + 0.5 * np.cos(4 * X[:, 2:].sum(1))
        y = y + 0.3 * rng.normal(size=num_points)
        return jnp.array(X), jnp.array((y - y.mean()) / y.std())

    return draw


@pytest.fixture(scope="session")
def posterior_over() -> Callable[..., np.ndarray]:
    """Probabilities of given values of a model's only latent site, from its full log density."""

    def enumerate_posterior(model, args: tuple[Any, ...], site: str, values) -> np.ndarray:
        density = jax.jit(jax.vmap(lambda v: log_density(model, args, {}, {site: v})[0]))
        return np.asarray(jax.nn.softmax(density(values)))

    return enumerate_posterior


@pytest.fixture(scope="session")
def run_block() -> Callable[..., jax.Array]:
    """Draws of one site by one block, all else fixed: shape (chains, steps, ...)."""

    def run(
        block: StructureBlock, args: tuple[Any, ...], site: str, starts, num_steps: int
    ) -> jax.Array:
        def step(value, key):
            conditional = Conditional(block.model, site, value, args, {})
            value, _ = block.update(key, conditional, value)
            return value, value

        def chain(start, key):
            return jax.lax.scan(step, start, jax.random.split(key, num_steps))[1]

        keys = jax.random.split(jax.random.key(0), len(starts))
        return jax.jit(jax.vmap(chain))(starts, keys)

    return run
