"""Computations that are sequential on processors and batched on accelerators such as GPUs.

Operations on matrices of a few hundred rows leave most of an accelerator idle: with 300
observations of 50 parameters, 64 gradients of the likelihood take four times as long as one. On a
processor they take 64 times as long or longer, because a batch of matrices exceeds its cache.
"""

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

import jax
import jax.numpy as jnp
from jax import Array

from structbo.models.foundation.device import current_device, platform

Result = TypeVar("Result")

MAX_DRAWS = 8
"""Number of draws computed at once; larger batches gain little and take memory."""
COPIES = 32
"""Memory of one step of a chain, in multiples of the memory of its correlations."""
SHARE, LEAST_BYTES = 0.7, 8e9
"""Share of an accelerator's memory for chains, and the bytes assumed if the device reports none."""


def has_accelerator() -> bool:
    """Whether this thread computes on a device other than processors, see `on_device`."""
    return platform() != "cpu"


def map_draws(function: Callable[[Any], Result], draws: Any) -> Result:
    """A function mapped over draws, sequentially on a processor; traceable.

    Batches of factorizations inside compiled loops can hang there, see `each_matrix` of
    `models/outer_box.py`.

    Args:
        function: a function of one draw.
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
    """A function mapped over chains, as many at once as fit into an accelerator's memory.

    Args:
        function: a function of the state or key of one chain, and of arguments with points (n, D).

    Returns:
        A function of stacked states or keys, and of arguments that all chains share.
    """

    @wraps(function)
    def of_all(chains: Any, *args: Any) -> Result:
        points = next(leaf for leaf in jax.tree.leaves(args) if jnp.ndim(leaf) == 2)
        count = len(jax.tree.leaves(chains)[0])
        most = min(max_chains(*points.shape), count)
        # A divisor of the count, because a remainder would be compiled separately.
        batch = next(size for size in range(most, 0, -1) if count % size == 0)
        results: Result = jax.lax.map(lambda c: function(c, *args), chains, batch_size=batch)
        return results

    return of_all


def max_chains(num_rows: int, num_dims: int) -> int:
    """The number of chains that fit into the memory of the accelerator, at least one."""
    stats = current_device().memory_stats() or {}
    memory = stats.get("bytes_limit", LEAST_BYTES)
    return max(int(SHARE * memory / (8 * COPIES * num_dims * num_rows**2)), 1)


def where_needed(needs: Array, value: Result, compute: Callable[[], Result]) -> Result:
    """A value, replaced by the result of a function where needed; traceable.

    `jax.lax.cond` computes both branches for every member of a batch; this function does not.

    Example:
        >>> where_needed(jnp.array(True), jnp.array(1), lambda: jnp.array(2)).item()
        2
    """
    state = (needs, value)
    return jax.lax.while_loop(lambda s: s[0], lambda _: (jnp.array(False), compute()), state)[1]
