"""Simulation-based calibration: ranks of true parameters among a sampler's draws.

Parameters are drawn from the prior, and observations given the parameters. A chain runs given the
observations, and the true parameters are ranked among its draws. If model and sampler agree, ranks
are uniform for every function of parameters and observations (Talts et al. 2018, "Validating
Bayesian inference algorithms with simulation-based calibration"). `calibration.py` runs it on all
samplers.
"""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from numpyro import handlers
from numpyro.infer import Gibbs
from numpyro.infer.gibbs import latent_sample_sites
from numpyro.infer.util import log_density

from structbo.posterior import Structures

NUM_POINTS, NUM_WARMUP, NUM_DRAWS, THINNING = 8, 60, 31, 8


def ranks(
    model: Callable[..., Any], kernel: Gibbs, num_dims: int, num_replications: int, seed: int = 0
) -> dict[str, np.ndarray]:
    """Ranks of true quantities among posterior draws, with ties broken at random.

    The quantities are the first element of every continuous site (W[0, 1] of a matrix), the log
    density of everything, and three that every structure has: whether the first two dimensions
    share a component, whether the first is active, and the number of components.

    Args:
        model: a NumPyro model, ``model(X, y=None)``.
        kernel: the sampler of all its latent sites.
        num_dims: the number of columns of X, which is fixed.
        num_replications: number of data sets to simulate.
        seed: seed of all random choices.

    Returns:
        By the name of the quantity, integers from 0 to `NUM_DRAWS`, one per data set. Constant
        quantities are omitted.
    """
    points = jnp.asarray(np.random.default_rng(5).random((NUM_POINTS, num_dims)))

    def quantities(y: jax.Array, values: dict[str, jax.Array]) -> dict[str, jax.Array]:
        density, trace = log_density(model, (points, y), {}, values)
        structures = Structures.of(trace["y"]["fn"].covariance)
        first = {
            name: value[tuple(range(value.ndim))]
            for name, value in values.items()
            if jnp.issubdtype(value.dtype, jnp.floating)
        }
        return first | {
            "log density": density,
            "together": structures.together[0, 1],
            "active": structures.active[0],
            "components": structures.num_components,
        }

    def replicate(key: jax.Array) -> tuple[dict[str, jax.Array], dict[str, jax.Array]]:
        key_prior, key_chain, key_ties = jax.random.split(key, 3)
        trace = handlers.trace(handlers.seed(model, key_prior)).get_trace(points)
        truth = {name: trace[name]["value"] for name in latent_sample_sites(trace)}
        y = truth.pop("y")

        def sweep(_: int, state: Any) -> Any:
            return kernel.sample(state, (points, y), {})

        def draw(state: Any, _: None) -> tuple[Any, dict[str, jax.Array]]:
            state = jax.lax.fori_loop(0, THINNING, sweep, state)
            return state, kernel.get_constrain_fn((points, y), {})(state.z)

        state = kernel.init(key_chain, NUM_WARMUP, None, (points, y), {})
        state = jax.lax.fori_loop(0, NUM_WARMUP, sweep, state)
        _, draws = jax.lax.scan(draw, state, length=NUM_DRAWS)
        # The same compiled code computes all, so that equal values are equal to the last bit.
        every = jax.tree.map(lambda one, many: jnp.concatenate([one[None], many]), truth, draws)
        found = jax.lax.map(lambda values: quantities(y, values), every)

        def rank(values: jax.Array) -> jax.Array:
            ties = (values[1:] == values[0]).sum()
            return (values[1:] < values[0]).sum() + jax.random.randint(key_ties, (), 0, ties + 1)

        return jax.tree.map(lambda v: v[0], found), jax.tree.map(rank, found)

    keys = jax.random.split(jax.random.key(seed), num_replications)
    truths, found = jax.jit(lambda: jax.lax.map(replicate, keys))()
    return {name: np.asarray(r) for name, r in found.items() if len(np.unique(truths[name])) > 1}
