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
from structbo.draws import Draws, condition
from structbo.maximizers import Layout, dependency_graph, make_layout, triangulate
from structbo.models import Model
from structbo.models.compilation import compiled

NUM_GRID = 17
MAX_WIDTH = 2


class UnionGraph(NamedTuple):
    """The components of some draws, and junction trees of their graph, for message passing.

    Args:
        components: those of all draws that a clique of the junction tree can hold.
        layouts: the junction tree of all of them, and of those of each draw, stacked.
        is_projected: whether they are components of projections, which share no axes.
        is_everything: whether these are all terms of an additive acquisition: there is no
            projection, no residual, and no component of more members.
    """

    components: Components
    layouts: tuple[Layout, Layout]
    is_projected: bool
    is_everything: bool


def structure_of(model: Model, draws: Draws, data: Data) -> UnionGraph:
    """The components of all draws together; arguments are those of `Situation`."""
    stacked, (residual, projection) = _members(model, draws, data.x[:1])
    members = np.asarray(stacked)
    components = Components.of(members, max_size=MAX_WIDTH + 1)
    is_wide = members.sum(2).max() > MAX_WIDTH + 1
    return UnionGraph(
        components,
        _layouts(components, members.shape[2]),
        is_projected=projection is not None,
        is_everything=residual is None and projection is None and not is_wide,
    )


@compiled("model")
def _members(model: Model, draws: Draws, x: Array | np.ndarray) -> tuple[Array, tuple[Any, Any]]:
    """The components of all draws, bool, shape (S, C, D); residual and projection, if any."""
    one = Data(x, jnp.zeros(1), jnp.ones(1, bool))
    covariance = condition(model, draws, one).covariance
    decomposition = covariance.decomposition
    return decomposition.members, (covariance.rho, decomposition.projection)


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
