"""What processors do one after the other, and accelerators such as GPUs do all at once.

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

BATCH = 32
"""So many items at once fill an accelerator, and their matrices its memory not yet."""


def has_accelerator() -> bool:
    """Whether JAX computes on something else than processors."""
    return jax.default_backend() != "cpu"


def map_many(function: Callable[[Any], Result], items: Any) -> Result:
    """A function of every item, one after the other on a processor; traceable.

    Batches of factorizations inside compiled loops can hang there, see `each_matrix` of
    `models/outer_box.py`.

    Args:
        function: of one item.
        items: a pytree of arrays, the items along the first axis.

    Returns:
        Results, the items along the first axis.

    Example:
        >>> map_many(lambda x: 2 * x, jnp.arange(3)).tolist()
        [0, 2, 4]
    """
    results: Result = jax.lax.map(function, items, batch_size=BATCH if has_accelerator() else None)
    return results


def where_needed(needs: Array, value: Result, compute: Callable[[], Result]) -> Result:
    """A value, or, where another one is needed, what a function computes; traceable.

    Of a batch with `jax.lax.cond` both would be computed, whether any of the batch needs it or not.

    Example:
        >>> where_needed(jnp.array(True), jnp.array(1), lambda: jnp.array(2)).item()
        2
    """
    state = (needs, value)
    return jax.lax.while_loop(lambda s: s[0], lambda _: (jnp.array(False), compute()), state)[1]


def for_each(function: Callable[..., Result]) -> Callable[..., Result]:
    """A function of many first arguments, stacked, at once; it shares the others.

    Example:
        >>> for_each(jnp.add)(jnp.arange(3), 1).tolist()
        [1, 2, 3]
    """

    @wraps(function)
    def all_at_once(items: Any, *args: Any) -> Result:
        return jax.vmap(lambda item: function(item, *args))(items)

    return all_at_once
