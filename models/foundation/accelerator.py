"""Work that processors do one after the other, and accelerators such as GPUs at once.

An operation on matrices of some hundreds of rows leaves most of an accelerator idle: with 300
observations of 50 parameters, 64 gradients of the likelihood take four times as long as one. On a
processor they take 64 times as long, or longer, as a batch of matrices does not fit in its cache.
"""

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

import jax
import jax.numpy as jnp
from jax import Array

Result = TypeVar("Result")

MAX_DRAWS = 8
"""Number of draws that are computed at once: more gain little and take memory."""
COPIES = 32
"""Memory of one step of a chain, in multiples of the memory of its correlations."""
SHARE, LEAST_BYTES = 0.7, 8e9
"""Share of an accelerator's memory that chains may take, and its bytes if the device reports
none."""


def has_accelerator() -> bool:
    """Whether JAX computes on something else than processors."""
    return jax.default_backend() != "cpu"


def map_draws(function: Callable[[Any], Result], draws: Any) -> Result:
    """A function of every draw, one after the other on a processor; traceable.

    Batches of factorizations inside compiled loops can hang there, see `each_matrix` of
    `models/outer_box.py`.

    Args:
        function: of one draw.
        draws: a pytree of arrays, the draws along the first axis.

    Returns:
        Results, the draws along the first axis.

    Example:
        >>> map_draws(lambda x: 2 * x, jnp.arange(3)).tolist()
        [0, 2, 4]
    """
    batch = MAX_DRAWS if has_accelerator() else None
    results: Result = jax.lax.map(function, draws, batch_size=batch)
    return results


def for_chains(function: Callable[..., Result]) -> Callable[..., Result]:
    """A function of many chains, as many at once as an accelerator's memory has room for.

    Args:
        function: of the state or key of one chain, and of arguments that hold points (n, D).

    Returns:
        A function of stacked states or keys, and of arguments that all chains share.
    """

    @wraps(function)
    def of_all(chains: Any, *args: Any) -> Result:
        points = next(leaf for leaf in jax.tree.leaves(args) if jnp.ndim(leaf) == 2)
        count = len(jax.tree.leaves(chains)[0])
        most = min(max_chains(*points.shape), count)
        # One that divides the count, as a remainder would be compiled for itself.
        batch = next(size for size in range(most, 0, -1) if count % size == 0)
        results: Result = jax.lax.map(lambda c: function(c, *args), chains, batch_size=batch)
        return results

    return of_all


def max_chains(num_rows: int, num_dims: int) -> int:
    """How many chains fit into the memory of the accelerator, at least one."""
    stats = jax.devices()[0].memory_stats() or {}
    memory = stats.get("bytes_limit", LEAST_BYTES)
    return max(int(SHARE * memory / (8 * COPIES * num_dims * num_rows**2)), 1)


def where_needed(needs: Array, value: Result, compute: Callable[[], Result]) -> Result:
    """A value, or, where another one is needed, the result of a function; traceable.

    `jax.lax.cond` computes both branches for every member of a batch; this function does not.

    Example:
        >>> where_needed(jnp.array(True), jnp.array(1), lambda: jnp.array(2)).item()
        2
    """
    state = (needs, value)
    return jax.lax.while_loop(lambda s: s[0], lambda _: (jnp.array(False), compute()), state)[1]
