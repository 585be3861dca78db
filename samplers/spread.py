"""Moves that scale how far apart the numbers of a vector are, about their mean."""

from collections.abc import Callable

import jax
import jax.numpy as jnp
from jax import Array

NUM_MOVES = 4
"""In a row; each costs an evaluation of the density, and there is one more."""


def spread_moves(
    key: Array, potential: Callable[[Array], Array], position: Array, vectors: Array
) -> Array:
    """Some Metropolis-Hastings moves, each of which scales one vector about its mean.

    Numbers that may be alike or not, as lengthscales are, take such moves where small steps of
    each would not: the more alike they are, the smaller these have to be. A factor ``c`` for N
    numbers changes the volume by ``c`` to the power of N - 1. Factors are of sizes between the
    width that the spread of N normal numbers has and one, so that some of them fit.

    Args:
        key: a JAX random key.
        potential: from a position (P,) to minus the log density.
        position: where to start, shape (P,).
        vectors: which numbers each vector has, bool, shape (V, P): two or more, or none, which
            moves nothing. They take turns.

    Returns:
        The position at the end, shape (P,).

    References:
        Liu and Sabatti 2000, "Generalised Gibbs sampler and multigrid Monte Carlo for Bayesian
        computation", on moves along the orbits of a group, here that of scales.

    Example:
        >>> normal = lambda q: q @ q / 2
        >>> start = jnp.array([3.0, 1.0, -1.0])
        >>> end = spread_moves(jax.random.key(0), normal, start, jnp.ones((1, 3), bool))
        >>> bool(end[0] != 3.0), round(float(end.mean()), 6)
        (True, 1.0)
    """
    keys = jax.random.split(key, NUM_MOVES + 1)

    def move(k: Array, state: tuple[Array, Array]) -> tuple[Array, Array]:
        position, height = state
        key_size, key_factor, key_accept = jax.random.split(keys[k], 3)
        vector = vectors[k % len(vectors)]
        freedom = jnp.maximum(vector.sum() - 1.0, 1.0)
        size = freedom ** (-0.5 * jax.random.uniform(key_size))
        # The first move only finds the height of the start.
        log_factor = jnp.where(k == 0, 0.0, size * jax.random.normal(key_factor))
        mean = jnp.where(vector, position, 0.0).sum() / (freedom + 1.0)
        scaled = mean + jnp.exp(log_factor) * (position - mean)
        new = jnp.where(vector, scaled, position)
        new_height = potential(new)
        log_ratio = height - new_height + freedom * log_factor
        accept = jnp.log(jax.random.uniform(key_accept)) < log_ratio
        return jnp.where(accept, new, position), jnp.where(accept, new_height, height)

    init = (position, jnp.array(jnp.inf))
    return jax.lax.fori_loop(0, NUM_MOVES + 1, move, init)[0]
