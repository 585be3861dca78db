"""Large matrices of pairs of points, computed in tiles that stay in cache."""

from collections.abc import Callable
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jaxtyping import Bool, Float, Shaped

from structbo.models.foundation.accelerator import has_accelerator

TILES = (64, 32, 16)
"""Sizes of tiles, the largest first."""
MAX_IN_CACHE = 2**16
"""Largest number of elements of the factors of one tile, unless it is of the smallest size. They
take half a megabyte, and sums over larger components as much again. With 20 to 200 dimensions, this
choice is up to a third faster than one size for all."""
MAX_WHOLE = 128**2
"""Largest number of elements of a matrix computed without tiles, which are computed twice."""
MAX_WHOLE_FACTORS = 2**20
"""Largest number of elements of its one-dimensional factors, which take 8 MB."""
KEPT = "kept in tiles"
"""Name of intermediate results that derivatives do not compute again, see `checkpoint_name`."""


def by_tiles(
    gram: Callable[[Float[Array, "a D"], Float[Array, "b D"]], Float[Array, "a b"]],
    x: Float[Array, "n D"],
    other: Float[Array, "m D"],
    mask: Bool[Array, " m"] | None = None,
    *,
    visits_dims: bool = False,
) -> Float[Array, "n m"]:
    """Evaluates a large Gram matrix tile by tile, so that its factors stay in cache.

    Derivatives recompute tiles, which is faster than reading their factors from memory. If both
    sets of points are the same array, one half of the symmetric matrix is computed.

    Args:
        gram: maps two sets of points to a matrix.
        x: points.
        other: other points.
        mask: which of the other points are data; tiles of padding alone are zero.
            Default: all.
        visits_dims: whether most operations are on one dimension at a time, in which case tiles
            have the largest size.

    Returns:
        ``gram(x, other)``.
    """
    size = len(x) * len(other)
    is_small = size <= MAX_WHOLE and size * x.shape[1] <= MAX_WHOLE_FACTORS
    if is_small or has_accelerator():
        return gram(x, other)
    fit_cache = (t for t in TILES if visits_dims or x.shape[1] * t**2 <= MAX_IN_CACHE)
    most = next(fit_cache, TILES[-1])
    left, right = _tiled(x, most), _tiled(other, most)
    mask = jnp.ones(len(other), bool) if mask is None else mask
    counts = _tiled(mask[:, None], most).any((1, 2))

    @partial(jax.checkpoint, policy=jax.checkpoint_policies.save_only_these_names(KEPT))
    def tile(arguments: tuple[Array, Array, Array]) -> Array:
        one, two, is_needed = arguments

        def nothing() -> Array:
            return jnp.zeros((one.shape[1], two.shape[1]))

        return jax.lax.cond(is_needed, lambda: gram(one.T, two.T), nothing)

    shape = (len(left), len(right))
    if x is other:
        rows, columns = np.tril_indices(len(left))
        position = np.zeros(shape, int)
        position[rows, columns] = position[columns, rows] = np.arange(len(rows))
        both = counts[rows] & counts[columns]
        tiles = jax.lax.map(tile, (left[rows], right[columns], both))[position]
        is_mirrored = np.triu(np.ones(shape, bool), 1)[..., None, None]
        tiles = jnp.where(is_mirrored, tiles.swapaxes(2, 3), tiles)
    else:
        rows, columns = np.indices(shape).reshape(2, -1)
        tiles = jax.lax.map(tile, (left[rows], right[columns], counts[columns]))
        tiles = tiles.reshape(*shape, left.shape[2], right.shape[2])
    height, width = len(left) * left.shape[2], len(right) * right.shape[2]
    return tiles.swapaxes(1, 2).reshape(height, width)[: len(x), : len(other)]


def _tiled(points: Shaped[Array, "n D"], most: int) -> Shaped[Array, "tiles D tile"]:
    """Points in equal padded tiles of at most this size, with points on the last axis."""
    count = -(-len(points) // most)
    size = -(-len(points) // count)
    padded = jnp.pad(points, ((0, count * size - len(points)), (0, 0)), mode="edge")
    return padded.reshape(count, size, -1).transpose(0, 2, 1)
