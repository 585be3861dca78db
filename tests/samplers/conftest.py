"""Enumerated posteriors of small problems, and compiled chains to compare with them."""

from collections.abc import Callable
from functools import cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpyro.infer.util import log_density
from scipy.special import softmax

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

    @cache
    def densities(model, site: str) -> Callable[..., jax.Array]:
        def density(args, value):
            return log_density(model, args, {}, {site: value})[0]

        return jax.jit(jax.vmap(density, in_axes=(None, 0)))

    def enumerate_posterior(model, args: tuple[Any, ...], site: str, values) -> np.ndarray:
        return softmax(np.asarray(densities(model, site)(args, values)))

    return enumerate_posterior


@pytest.fixture(scope="session")
def run_block() -> Callable[..., jax.Array]:
    """Draws of one site by one block, all else fixed: shape (chains, steps, ...).

    A block is compiled once for all arguments of the same shapes.
    """

    @cache
    def chains(block: StructureBlock, site: str) -> Callable[..., jax.Array]:
        def chain(args, start, key, num_steps):
            def step(value, key):
                conditional = Conditional(block.model, site, value, args, {})
                value, _ = block.update(key, conditional, value)
                return value, value

            return jax.lax.scan(step, start, jax.random.split(key, num_steps))[1]

        return jax.jit(jax.vmap(chain, in_axes=(None, 0, 0, None)), static_argnums=3)

    def run(
        block: StructureBlock, args: tuple[Any, ...], site: str, starts, num_steps: int
    ) -> jax.Array:
        keys = jax.random.split(jax.random.key(0), len(starts))
        return chains(block, site)(args, starts, keys, num_steps)

    return run


@pytest.fixture(
    scope="session",
    params=[
        pytest.param(0.25, id="quick"),
        pytest.param(1.0, id="long", marks=pytest.mark.nightly),
    ],
)
def effort(request: pytest.FixtureRequest) -> float:
    """Share of the draws of a long run that a test takes."""
    return request.param


@pytest.fixture(scope="session")
def check_frequencies(effort: float) -> Callable[..., None]:
    """Fails if draws of several chains miss probabilities by more than Monte Carlo error.

    The expected total variation distance of a correct sampler follows from the standard errors of
    the frequencies, ``sum_k sqrt(2 / pi) se_k / 2``. These come from the differences between
    chains, and are at least the errors of independent draws. The distance may be twice as large,
    plus two standard errors, which matters for few values. Long runs see errors of 0.025 in total
    variation; quick ones, with a quarter of the draws, errors of 0.05, where samplers with a
    deliberate bug are off by 0.1 and more. A correct sampler fails with a probability of 0.0004 for
    two values, and less for more.
    """

    def check(draws, values, probabilities: np.ndarray, resolution: float = 0.012) -> None:
        """Compares draws, (chains, steps, ...); fails if the expected distance is too coarse.

        The resolution refers to a long run.
        """
        shares = np.stack([frequencies(chain, values) for chain in np.asarray(draws)])
        assert (shares[:, probabilities == 0] == 0).all()
        independent = probabilities * (1 - probabilities) / draws.shape[1]
        variance = np.maximum(shares.var(0, ddof=1), independent) / len(shares)
        expected = 0.5 * np.sqrt(2 / np.pi * variance).sum()
        distance = 0.5 * np.abs(shares.mean(0) - probabilities).sum()
        assert expected < resolution / np.sqrt(effort)
        assert distance < 2 * (expected + np.sqrt(variance.max()))

    def frequencies(draws: np.ndarray, values) -> np.ndarray:
        """Share of every value among the draws, all of which must be among the values."""
        stacked = np.concatenate([np.reshape(v, (len(v), -1)) for v in (values, draws)])
        code = np.unique(stacked, axis=0, return_inverse=True)[1].ravel()
        counts = np.bincount(code[len(values) :], minlength=code.max() + 1)[code[: len(values)]]
        assert counts.sum() == len(draws), "draws outside the support"
        return counts / len(draws)

    return check
