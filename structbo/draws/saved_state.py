"""States of Markov chains as bytes, so that a chain can go on in another process."""

import zlib
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

CHECK_BYTES = 4


def state_to_bytes(state: Any) -> bytes:
    """The leaves of a state one after another, after a check sum of their kinds; compressed."""
    leaves = [np.asarray(_numbers(leaf)) for leaf in jax.tree.leaves(state)]
    return zlib.compress(_check_sum(state) + b"".join(leaf.tobytes() for leaf in leaves))


def state_from_bytes(saved: bytes, like: Any) -> Any:
    """The state that was saved.

    Args:
        saved: from `state_to_bytes`.
        like: a state of the same kind, or its shapes and types.

    Returns:
        The state, or None if it was of another kind.
    """
    content = zlib.decompress(saved)
    if content[:CHECK_BYTES] != _check_sum(like):
        return None
    leaves, tree = jax.tree.flatten(like)
    restored, start = [], CHECK_BYTES
    for leaf in leaves:
        kind = jax.eval_shape(_numbers, leaf)
        size = kind.size * kind.dtype.itemsize
        flat = np.frombuffer(content[start : start + size], kind.dtype)
        array = jnp.asarray(flat.reshape(kind.shape))
        restored.append(jax.random.wrap_key_data(array) if _is_key(leaf) else array)
        start += size
    return jax.tree.unflatten(tree, restored)


def _check_sum(state: Any) -> bytes:
    """Differs for states with other names, shapes or types."""
    kinds = [
        (jax.tree_util.keystr(path), leaf.shape, str(leaf.dtype))
        for path, leaf in jax.tree_util.tree_leaves_with_path(state)
    ]
    return zlib.crc32(repr(kinds).encode()).to_bytes(CHECK_BYTES, "big")


def _numbers(leaf: Array) -> Array:
    """An array of numbers, also for random keys."""
    return jax.random.key_data(leaf) if _is_key(leaf) else leaf


def _is_key(leaf: Any) -> bool:
    return jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key)
