"""The Gaussian process posteriors of all draws, and the union of their components."""

from collections.abc import Iterable
from dataclasses import dataclass, replace

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jaxtyping import Int

from structbo.data import Data
from structbo.draws.conditioning import likelihood_of
from structbo.draws.model import Draw, Draws
from structbo.maximizers import Components, Layout, dependency_graph, make_layout, triangulate
from structbo.models import ConditionedGP, Model
from structbo.models.foundation.accelerator import map_draws
from structbo.models.foundation.compilation import compiled

NUM_GRID = 17
MAX_WIDTH = 2
ROWS_PER_DIM = 8
"""Number of table rows for components, per dimension. If a draw needs more, the number of rows is a
power of two, so that the posteriors of a run share compilations."""


@dataclass(frozen=True)
class Posteriors:
    """The Gaussian process posteriors of S draws, and the union of their components.

    Args:
        model: the NumPyro model.
        draws: posterior draws of its sites.
        data: the padded observations on which the processes are conditioned.
        processes: posteriors of the draws, stacked along the first axis. Their decompositions have
            rows for the existing components, and padding.
        components: the components of all draws that fit into a clique of the junction tree, with
            their rows in each process.
        layouts: the junction tree of all components, and the stacked junction trees of each draw.
        num_rows: number of table rows for components.
        is_everything: whether `components` are all terms of an additive acquisition: there is no
            projection, no residual, and no larger component.
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
            draws: values of its latent sites, with the draws along the first axis.
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
        is_additive = covariance.residual is None and covariance.decomposition.projection is None
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
        """The posteriors of the same draws given other data."""
        processes, _ = _conditioned(self.model, self.num_rows, self.draws, data)
        return replace(self, data=data, processes=processes)

    @property
    def num_inducing(self) -> int | None:
        """Number of inducing points of the likelihood, see `MarginalGP`; None if it is exact."""
        number = self.processes.x.shape[1]
        return None if number == len(self.data.x) else number

    @property
    def is_projected(self) -> bool:
        """Whether the components act on projections, which share no axes."""
        return self.processes.covariance.decomposition.projection is not None


@compiled("model", "num_rows")
def _conditioned(
    model: Model, num_rows: int, draws: Draws, data: Data
) -> tuple[ConditionedGP, Int[Array, ""]]:
    """The posteriors with tables of ``num_rows`` components, and the largest count of components.

    The table of a structure has a row for every possible component. For edges between 500
    dimensions there are 125,250, while a draw has some hundreds.
    """
    y = jnp.asarray(data.y)

    def of_draw(draw: Draw) -> tuple[ConditionedGP, Int[Array, ""]]:
        process = likelihood_of(model, draw, data).condition(y)
        covariance = process.covariance
        present = covariance.decomposition.members.any(1)
        (rows,) = jnp.nonzero(present, size=min(num_rows, len(present)), fill_value=-1)
        rows = rows.at[0].max(0)  # without members, row 0 is a constant
        kept = covariance.decomposition.only(rows)
        covariance = replace(covariance, decomposition=kept)
        return replace(process, covariance=covariance), present.sum()

    processes, counts = map_draws(of_draw, draws)
    return processes, counts.max()


def _layouts(components: Components, num_dims: int) -> tuple[Layout, Layout]:
    """Junction tree of the union of all draws, and the stacked junction trees of each draw."""

    groups = [np.asarray(group) for group in components.groups]
    rows = [np.asarray(group) for group in components.rows]

    def layout(rows: Iterable[Int[np.ndarray, " _F"]]) -> Layout:
        pairs = zip(groups, rows, strict=True)
        scopes = [np.where(row[:, None] >= 0, group, -1) for group, row in pairs]
        tree = triangulate(dependency_graph(scopes, num_dims), max_width=MAX_WIDTH)
        return make_layout(tree, scopes, num_grid=NUM_GRID, width=MAX_WIDTH)

    union = layout([of_draws.max(0) for of_draws in rows])
    single = map(layout, zip(*rows, strict=True))
    return union, jax.tree.map(lambda *leaves: np.stack(leaves), *single)
