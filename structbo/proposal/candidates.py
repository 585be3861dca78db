"""Candidates of batches, which replace a grid over the unit cube.

One third is sampled from high values of an additive acquisition, on its junction tree; one third
are neighbors of the best observed points; one third is spread evenly. Without an additive
acquisition, half are neighbors and half are spread evenly.
"""

from functools import cache

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jaxtyping import Bool, Float, Key

from structbo.data import Data
from structbo.maximizers import AdditiveFunction, Layout, sample_additive
from structbo.space import Levels

NUM_PARENTS = 4
SAME = 1e-7
"""Points are equal if all coordinates differ by less.

Changes of scale lose a few bits, and a point this near adds no information."""


def candidate_points(
    key: Key[Array, ""],
    landscape: tuple[AdditiveFunction, Layout] | None,
    levels: Levels,
    parents: Float[Array, "k D"],
    number: int,
) -> Float[Array, "{number} D"]:
    """Legal points of the unit cube to choose from; traceable.

    Args:
        key: a JAX random key.
        landscape: an additive acquisition and the junction tree of its graph, or None.
        levels: the legal coordinates.
        parents: observed points, best first.
        number: how many points, at least 3.

    Returns:
        The points; they can coincide if variables are discrete.
    """
    key_tree, key_children, key_spread = jax.random.split(key, 3)
    num_drawn = 0 if landscape is None else number // 3
    num_children = (number - num_drawn) // 2
    num_spread, num_dims = number - num_drawn - num_children, parents.shape[1]
    children = perturbed(key_children, parents, num_children)
    shift = jax.random.uniform(key_spread, (num_dims,))
    spread = (jnp.asarray(_sobol(num_spread, num_dims)) + shift) % 1.0
    legal = jnp.concatenate([jax.vmap(levels.nearest)(children), levels.even(spread)])
    if landscape is None:
        return legal
    drawn = sample_additive(key_tree, *landscape, levels, parents[0], num_drawn)
    return jnp.concatenate([jax.vmap(levels.nearest)(drawn), legal])


@cache
def _sobol(number: int, num_dims: int) -> Float[np.ndarray, "{number} {num_dims}"]:
    """Fixed quasi-random points, to be moved by a random shift."""
    from scipy.stats import qmc

    sequence = qmc.Sobol(num_dims, seed=0)
    points: Float[np.ndarray, "n D"] = sequence.random_base2((number - 1).bit_length())[:number]
    return points


def best_observed(data: Data) -> Float[Array, "k D"]:
    """The `NUM_PARENTS` best observed points, best first."""
    is_observed = jnp.asarray(data.mask) & ~jnp.isnan(data.y)
    top = jax.lax.top_k(jnp.where(is_observed, data.y, -jnp.inf), NUM_PARENTS)[1]
    return jnp.asarray(data.x)[top]


def observed_points(data: Data) -> Float[np.ndarray, "m D"]:
    """The points of the data without padding; not traceable."""
    rows: Float[np.ndarray, "m D"] = np.asarray(data.x)[np.asarray(data.mask)]
    return rows


def is_new(
    points: Float[np.ndarray, "m D"], known: Float[np.ndarray, "n D"]
) -> Bool[np.ndarray, " m"]:
    """Which points differ from all known points and from all points before them.

    Args:
        points: points of the unit cube.
        known: known points of the unit cube.

    Example:
        >>> is_new(np.array([[0.1], [0.5], [0.5 + 1e-16], [0.7]]), np.array([[0.1]])).tolist()
        [False, True, False, True]
    """
    from scipy.spatial.distance import cdist

    same = cdist(points, np.concatenate([known, points]), "chebyshev") < SAME
    is_first: Bool[np.ndarray, " m"] = same.argmax(1) == len(known) + np.arange(len(points))
    return is_first


def first_new(
    points: Float[np.ndarray, "m D"], known: Float[np.ndarray, "n D"]
) -> Float[np.ndarray, "_k D"]:
    """The first point that differs from all known points, as a row; no row if there is none.

    Example:
        >>> first_new(np.array([[0.1], [0.5], [0.7]]), np.array([[0.1]])).tolist()
        [[0.5]]
    """
    rows = (points[k : k + 1] for k in range(len(points)))
    return next((row for row in rows if is_new(row, known).all()), points[:0])


def perturbed(
    key: Key[Array, ""], parents: Float[Array, "k D"], number: int
) -> Float[Array, "{number} D"]:
    """Points that differ from a parent in a few coordinates.

    Args:
        key: a JAX random key.
        parents: points of the unit cube.
        number: how many points.
    """
    key_parent, key_which, key_step = jax.random.split(key, 3)
    num_dims = parents.shape[1]
    chosen = parents[jax.random.randint(key_parent, (number,), 0, len(parents))]
    moves = jax.random.bernoulli(key_which, min(1.0, 5.0 / num_dims), chosen.shape)
    return jnp.clip(chosen + moves * 0.2 * jax.random.normal(key_step, chosen.shape), 0.0, 1.0)
