"""Serialization of Markov chain states, to continue a chain in another process."""

import zlib
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

CHECK_BYTES = 4


def state_to_bytes(state: Any) -> bytes:
    """The compressed bytes of a checksum of names, shapes and types, followed by all leaves."""
    leaves = [np.asarray(_numbers(leaf)) for leaf in jax.tree.leaves(state)]
    return zlib.compress(_check_sum(state) + b"".join(leaf.tobytes() for leaf in leaves))


def state_from_bytes(saved: bytes, like: Any) -> Any:
    """The saved state.

    Args:
        saved: bytes from `state_to_bytes`.
        like: a state with the same names, shapes and types, or their abstract values.

    Returns:
        The state, or None if its names, shapes or types differ.
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
    """Checksum of the names, shapes and types of a state."""
    kinds = [
        (jax.tree_util.keystr(path), leaf.shape, str(leaf.dtype))
        for path, leaf in jax.tree_util.tree_leaves_with_path(state)
    ]
    return zlib.crc32(repr(kinds).encode()).to_bytes(CHECK_BYTES, "big")


def _numbers(leaf: Array) -> Array:
    """The array itself, or the data of a random key."""
    return jax.random.key_data(leaf) if _is_key(leaf) else leaf


def _is_key(leaf: Any) -> bool:
    return jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key)
