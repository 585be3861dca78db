"""The components of all draws together, and junction trees of their graph."""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from structbo.acquisition import Components
from structbo.data import Data
from structbo.draws import Draws, likelihood_of
from structbo.maximizers import Layout, dependency_graph, make_layout, triangulate
from structbo.models import Model
from structbo.models.foundation.accelerator import map_draws
from structbo.models.foundation.compilation import compiled

NUM_GRID = 17
MAX_WIDTH = 2
ROWS_PER_DIM = 8
"""Tables have room for so many components per dimension, or for a power of two of them if a draw
has more: so few sizes that the posteriors of a run share one compilation."""


class UnionGraph(NamedTuple):
    """The components of some draws, and junction trees of their graph, for message passing.

    Args:
        rows: which rows of each draw's decomposition are components, shape (S, R), -1 for padding;
            see `condition`.
        components: those of all draws that a clique of the junction tree can hold, with the places
            of their rows among these.
        layouts: the junction tree of all of them, and of those of each draw, stacked.
        is_projected: whether they are components of projections, which share no axes.
        is_everything: whether these are all terms of an additive acquisition: there is no
            projection, no residual, and no component of more members.
    """

    rows: np.ndarray
    components: Components
    layouts: tuple[Layout, Layout]
    is_projected: bool
    is_everything: bool


def structure_of(model: Model, draws: Draws, data: Data) -> UnionGraph:
    """The components of all draws together; arguments are those of `Situation`."""
    packed, (residual, projection) = _members(model, draws, data.x[:1])
    num_dims = data.x.shape[1] if projection is None else projection.shape[2]
    rows, members = _present(np.asarray(packed), num_dims)
    components = Components.of(members, max_size=MAX_WIDTH + 1)
    is_wide = members.sum(2).max() > MAX_WIDTH + 1
    return UnionGraph(
        rows,
        components,
        _layouts(components, num_dims),
        is_projected=projection is not None,
        is_everything=residual is None and projection is None and not is_wide,
    )


@compiled("model")
def _members(model: Model, draws: Draws, x: Array | np.ndarray) -> tuple[Array, tuple[Any, Any]]:
    """The tables of all draws, (S, C, D), as bits along D; residual and projection, if any."""
    one = Data(x, jnp.zeros(1), jnp.ones(1, bool))

    def of_draw(draw: Draws) -> tuple[Array, tuple[Any, Any]]:
        covariance = likelihood_of(model, draw, one).covariance
        decomposition = covariance.decomposition
        bits = jnp.packbits(decomposition.members, axis=1)
        return bits, (covariance.rho, decomposition.projection)

    found: tuple[Array, tuple[Any, Any]] = map_draws(of_draw, draws)
    return found


def _present(packed: np.ndarray, num_dims: int) -> tuple[np.ndarray, np.ndarray]:
    """The rows that are components, padded, shape (S, R), and their members, (S, R, D).

    Args:
        packed: the tables of all draws, (S, C, D), as bits along D.
        num_dims: the number of dimensions D.
    """
    present = [np.flatnonzero(table.any(1)) for table in packed]
    most = max(map(len, present))
    room = max(ROWS_PER_DIM * num_dims, 1 << most.bit_length())
    rows = np.full((len(packed), min(room, packed.shape[1])), -1)
    for own, found in zip(rows, present, strict=True):
        own[: len(found)] = found
    rows[:, 0] = np.maximum(rows[:, 0], 0)  # a constant is a row without members
    bits = np.where(rows[..., None] >= 0, np.take_along_axis(packed, rows[..., None], 1), 0)
    return rows, np.unpackbits(bits, axis=2, count=num_dims).astype(bool)


def _layouts(components: Components, num_dims: int) -> tuple[Layout, Layout]:
    """Junction trees of the union of all draws, and of each draw, stacked."""

    def layout(present: Callable[[np.ndarray], Any]) -> Layout:
        scopes = tuple(
            np.where(present(np.asarray(rows))[:, None], group, -1)
            for group, rows in zip(components.groups, components.rows, strict=True)
        )
        tree = triangulate(dependency_graph(scopes, num_dims), max_width=MAX_WIDTH)
        return make_layout(tree, scopes, num_grid=NUM_GRID, width=MAX_WIDTH)

    union = layout(lambda rows: (rows >= 0).any(0))
    single = [layout(partial(_has_component, draw)) for draw in range(len(components.rows[0]))]
    return union, jax.tree.map(lambda *leaves: np.stack(leaves), *single)


def _has_component(draw: int, rows: np.ndarray) -> np.ndarray:
    return rows[draw] >= 0
