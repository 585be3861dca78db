"""Exact samples from ``exp(f / temperature)`` on a grid, for additive f.

The algorithm is message passing with log-sum-exp in place of the maximum; variables are then drawn
from the tables from which max-sum reads off their best values.
"""

from functools import partial

import jax
import jax.numpy as jnp
from jax import Array
from jaxtyping import Float, Int, Key

from structbo.maximizers.junction_tree import Layout
from structbo.maximizers.message_passing import (
    AdditiveFunction,
    Tables,
    max_sum,
    pass_messages,
    read_off,
)
from structbo.models.foundation.arrays import AnyArray
from structbo.space import Levels


@partial(jax.jit, static_argnums=3)
def sample_tables(
    key: Key[Array, ""], tables: Tables, layout: Layout, num_samples: int
) -> tuple[Int[Array, "{num_samples} D"], Float[Array, ""]]:
    """Draws grid points with probability proportional to the exponential of a sum of tables.

    Forward filtering, backward sampling: the messages are passed once for all samples. A variable
    without tables is uniform. A variable that the junction tree clamps is ignored: tables are taken
    at its first grid point.

    Args:
        key: a JAX random key.
        tables: the factors.
        layout: the junction tree of their graph.
        num_samples: how many independent points to draw, static.

    Returns:
        Grid indices, and the log of the sum over the whole grid.

    References:
        Koller and Friedman 2009, section 10.2 (sum-product) and section 12.1 (sampling).
    """
    flat, log_total = pass_messages(tables, layout, partial(jax.scipy.special.logsumexp, axis=0))
    num_dims = len(layout.order)

    def one(key: Key[Array, ""]) -> Int[Array, " D"]:
        keys = jax.random.split(key, num_dims)
        return read_off(flat, layout, lambda v, step: jax.random.categorical(keys[step], v))

    return jax.lax.map(one, jax.random.split(key, num_samples)), log_total


@partial(jax.jit, static_argnums=5)
def sample_additive(
    key: Key[Array, ""],
    function: AdditiveFunction,
    layout: Layout,
    levels: Levels,
    start: Float[AnyArray, " D"],
    num_samples: int,
    shortfall: float = 0.25,
) -> Float[Array, "{num_samples} D"]:
    """Draws points of the unit cube with high values of an additive function.

    Points follow ``exp(f / temperature)`` on a regular grid; a continuous coordinate then moves at
    random within its cell. Near a maximum of D variables the mean shortfall of samples is ``D / 2``
    times the temperature. The temperature is set so that this equals a fraction of the function's
    range, from its mean to its maximum over the grid.

    Args:
        key: a JAX random key.
        function: the additive function.
        layout: the junction tree of its graph.
        levels: the legal coordinates; of a discrete variable with more levels than grid points
            only those next to a grid point are drawn.
        start: coordinates of clamped variables and variables without factors.
        num_samples: how many points to draw, static.
        shortfall: the fraction of the range, between 0 and 1.

    Returns:
        Legal points.
    """
    key_index, key_cell = jax.random.split(key)
    num_dims = len(start)
    grid = levels.regular_positions(layout.num_grid)
    grid = jnp.where(layout.clamped[:, None], levels.positions(start), grid)
    tables = function.tables(levels.coordinates(grid))
    mean = sum(t.sum() / t[0].size for t in tables)
    temperature = 2.0 * shortfall * (max_sum(tables, layout)[0] - mean) / num_dims
    scale = 1.0 / jnp.maximum(temperature, jnp.finfo(temperature.dtype).tiny)
    index, _ = sample_tables(key_index, tuple(t * scale for t in tables), layout, num_samples)
    positions = jnp.take_along_axis(grid, index.T, axis=1)
    width = 1.0 / (layout.num_grid - 1)
    moves = width * (jax.random.uniform(key_cell, positions.shape) - 0.5)
    is_free = ~levels.discrete & ~layout.clamped[:, None]
    moved = jnp.clip(jnp.where(is_free, positions + moves, positions), 0.0, levels.span)
    return levels.coordinates(moved).T
