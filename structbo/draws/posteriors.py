"""The posteriors of all draws, made by one run of the model, and the union of their components."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from structbo.data import Data
from structbo.draws.conditioning import likelihood_of
from structbo.draws.model import Draws
from structbo.maximizers import Components, Layout, dependency_graph, make_layout, triangulate
from structbo.models import ConditionedGP, Model
from structbo.models.foundation.accelerator import map_draws
from structbo.models.foundation.compilation import compiled

NUM_GRID = 17
MAX_WIDTH = 2
ROWS_PER_DIM = 8
"""Tables have room for this many components per dimension. If a draw has more, they have room for
a power of two of them. So the posteriors of a run share one compilation."""


@dataclass(frozen=True)
class Posteriors:
    """The Gaussian process posteriors of S draws, and their components together.

    Args:
        model: the NumPyro model.
        draws: posterior draws of its sites.
        data: the padded observations on which the processes are conditioned.
        processes: one per draw, stacked along the first axis. Their decompositions have rows for
            the components that exist, and padding.
        components: the components of all draws that a clique of the junction tree can hold, with
            the places of their rows in each process.
        layouts: the junction tree of all components, and the trees of each draw's, stacked.
        num_rows: how many components there is room for.
        is_everything: whether `components` are all terms of an additive acquisition. There is then
            no projection, no residual, and no component of more members.
    """

    model: Model
    draws: Draws
    data: Data
    processes: ConditionedGP
    components: Components
    layouts: tuple[Layout, Layout]
    num_rows: int
    is_everything: bool

    @classmethod
    def of(cls, model: Model, draws: Draws, data: Data) -> "Posteriors":
        """Conditions a model on data, once for every draw.

        Args:
            model: a NumPyro model with one `MarginalGP` as observed site.
            draws: values of its latent sites, the first axis being the draws.
            data: padded observations.
        """
        num_rows = ROWS_PER_DIM * data.x.shape[1]
        processes, most = _conditioned(model, num_rows, draws, data)
        if int(most) > num_rows:
            num_rows = 1 << int(most).bit_length()
            processes, _ = _conditioned(model, num_rows, draws, data)
        return cls._with_union(model, draws, data, processes, num_rows)

    @classmethod
    def prepared(cls, model: Model, draws: Draws, data: Data) -> "Posteriors":
        """Compiles `of` in the background, for draws and data of these shapes.

        Returns:
            Zeros in the shapes of the posteriors.
        """
        num_rows = ROWS_PER_DIM * data.x.shape[1]
        processes, _ = _conditioned.prepare(model, num_rows, draws, data)
        return cls._with_union(model, draws, data, processes, num_rows)

    @classmethod
    def _with_union(
        cls, model: Model, draws: Draws, data: Data, processes: ConditionedGP, num_rows: int
    ) -> "Posteriors":
        covariance = processes.covariance
        members = np.asarray(covariance.decomposition.members)
        components = Components.of(members, max_size=MAX_WIDTH + 1)
        is_wide = members.sum(2).max() > MAX_WIDTH + 1
        is_additive = covariance.rho is None and covariance.decomposition.projection is None
        return cls(
            model=model,
            draws=draws,
            data=data,
            processes=processes,
            components=components,
            layouts=_layouts(components, members.shape[2]),
            num_rows=num_rows,
            is_everything=bool(is_additive and not is_wide),
        )

    def given(self, data: Data) -> "Posteriors":
        """The same draws, conditioned on other data."""
        processes, _ = _conditioned(self.model, self.num_rows, self.draws, data)
        return replace(self, data=data, processes=processes)

    @property
    def num_inducing(self) -> int | None:
        """How many inducing points the likelihood has, see `MarginalGP`; None if it is exact."""
        number = self.processes.x.shape[1]
        return None if number == len(self.data.x) else number

    @property
    def is_projected(self) -> bool:
        """Whether the components belong to projections, which share no axes."""
        return self.processes.covariance.decomposition.projection is not None


@compiled("model", "num_rows")
def _conditioned(
    model: Model, num_rows: int, draws: Draws, data: Data
) -> tuple[ConditionedGP, Array]:
    """The posteriors, with room for some components, and how many the largest draw has.

    A structure's table has a row for every component that may be: of edges between 500 dimensions
    125,250, where a draw has some hundreds.
    """
    y = jnp.asarray(data.y)

    def of_draw(draw: Draws) -> tuple[ConditionedGP, Array]:
        process = likelihood_of(model, draw, data).condition(y)
        covariance = process.covariance
        present = covariance.decomposition.members.any(1)
        (rows,) = jnp.nonzero(present, size=min(num_rows, len(present)), fill_value=-1)
        rows = rows.at[0].max(0)  # a constant is a row without members
        kept = covariance.decomposition.only(rows)
        covariance = replace(covariance, decomposition=kept)
        return replace(process, covariance=covariance), present.sum()

    processes, counts = map_draws(of_draw, draws)
    return processes, counts.max()


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
