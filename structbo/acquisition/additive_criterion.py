"""Additive criteria: sums over components, which message passing can maximize."""

from abc import abstractmethod
from dataclasses import dataclass
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.tree_util import register_dataclass
from jaxtyping import Float, Inexact, Int

from structbo.acquisition.criterion import Acquisition, Criterion
from structbo.acquisition.joint import TINY_VARIANCE
from structbo.maximizers.components import Components
from structbo.models.foundation.accelerator import map_draws
from structbo.models.gp import ConditionedGP


class AdditiveCriterion(Criterion):
    """A criterion that is a sum over components; its average is a sum over components of all draws.

    `values` includes all components: wide ones, the residual, and components of projections.
    `AdditiveAcquisition` has the components that message passing can handle.
    """

    @abstractmethod
    def on_grid(
        self,
        draw: Any,
        context: Any,
        row: Int[Array, ""],
        coordinates: Float[Array, "s G"],
        factors: Float[Array, "s G n"],
    ) -> Float[Array, " G**s"]:
        """One component of one draw on the product of the grids of its s members.

        Args:
            draw: one of the acquisition's draws.
            context: further inputs of the criterion, such as an incumbent or beta.
            row: the row of the component in the draw's table.
            coordinates: the grids.
            factors: correlations of the grids with the data, zero for padding.
        """

    @abstractmethod
    def component(
        self, draw: Any, context: Any, row: Int[Array, ""], x: Float[Array, "m D"]
    ) -> Float[Array, " m"]:
        """One component of one draw at points of the parameters."""

    @abstractmethod
    def residual(self, draw: Any, context: Any, x: Float[Array, "m D"]) -> Float[Array, " m"]:
        """The residual of one draw at points, zeros if there is none."""

    def values(self, draw: Any, context: Any, x: Float[Array, "m D"]) -> Float[Array, " m"]:
        decomposition = posterior_of(draw).covariance.decomposition

        @jax.checkpoint
        def add(total: Array, row: Array) -> tuple[Array, None]:
            value = jax.lax.cond(
                decomposition.is_component[row],
                lambda: self.component(draw, context, row, x),
                lambda: jnp.zeros(len(x)),
            )
            return total + value, None

        rows = jnp.arange(decomposition.members.shape[0])
        total, _ = jax.lax.scan(add, self.residual(draw, context, x), rows)
        return total


class ComponentCriterion(AdditiveCriterion):
    """An additive criterion of the posterior mean and deviation of each component.

    The deviation is the component's, without observation noise.
    """

    @abstractmethod
    def score(
        self,
        mean: Float[Array, " m"],
        deviation: Float[Array, " m"],
        context: Any,
        row: Int[Array, ""] | int,
    ) -> Float[Array, " m"]:
        """The values of a component with these moments; the residual has row -1."""

    def on_grid(
        self,
        draw: ConditionedGP,
        context: Any,
        row: Int[Array, ""],
        coordinates: Float[Array, "s G"],
        factors: Float[Array, "s G n"],
    ) -> Float[Array, " G**s"]:
        variance = draw.covariance.variances[row]
        own = draw.covariance.variances_on_grids(row, coordinates)
        prior_variance = variance * products(own[..., None])[:, 0]
        return self._score(
            *draw.moments(variance * products(factors), prior_variance), context, row
        )

    def component(
        self, draw: ConditionedGP, context: Any, row: Int[Array, ""], x: Float[Array, "m D"]
    ) -> Float[Array, " m"]:
        return self._score(*draw.predict_component(row, x), context, row)

    def residual(
        self, draw: ConditionedGP, context: Any, x: Float[Array, "m D"]
    ) -> Float[Array, " m"]:
        if draw.covariance.residual is None:
            return jnp.zeros(len(x))
        return self._score(*draw.predict_residual(x), context, -1)

    def _score(
        self,
        mean: Float[Array, " m"],
        variance: Float[Array, " m"],
        context: Any,
        row: Int[Array, ""] | int,
    ) -> Float[Array, " m"]:
        deviation = jnp.sqrt(jnp.maximum(variance, TINY_VARIANCE))
        return self.score(mean, deviation, context, row)


@partial(
    register_dataclass,
    data_fields=["draws", "contexts", "components", "criterion"],
    meta_fields=[],
)
@dataclass(frozen=True)
class AdditiveAcquisition:
    """A mean over draws of a sum over components, as an `AdditiveFunction` for message passing.

    Args:
        draws: posteriors or functions drawn from them, stacked along the first axis.
        contexts: further inputs of the criterion for each draw, stacked likewise.
        components: the included components, whose tables fit into memory.
        criterion: the criterion.
    """

    draws: Any
    contexts: Any
    components: Components
    criterion: AdditiveCriterion

    @classmethod
    def of(cls, acquisition: Acquisition, components: Components) -> "AdditiveAcquisition":
        """The part of an additive criterion's acquisition with these components.

        Args:
            acquisition: an acquisition on some of S draws.
            components: the union of the components of all S draws.
        """
        criterion = acquisition.criterion
        assert isinstance(criterion, AdditiveCriterion)
        own = components.of_draws(jnp.asarray(acquisition.which))
        return cls(acquisition.draws, acquisition.contexts, own, criterion)

    @property
    def scopes(self) -> tuple[Int[np.ndarray, "_F _size"], ...]:
        """Members of all components by size; -1 for components of no draw."""
        return tuple(
            np.where(np.asarray(rows).max(0)[:, None] >= 0, np.asarray(group), -1)
            for group, rows in zip(self.components.groups, self.components.rows, strict=True)
        )

    def tables(self, grids: Float[Array, "D G"]) -> tuple[Float[Array, " _F *_grid"], ...]:
        """The components on grids, by size, with one axis of grid points for each member."""

        def add(totals: tuple[Array, ...], item: Any) -> tuple[tuple[Array, ...], None]:
            return jax.tree.map(jnp.add, totals, self._of_draw(grids, item)), None

        num_draws, num_grid = len(self.components.rows[0]), grids.shape[1]
        zeros = tuple(
            jnp.zeros((len(group), *[num_grid] * group.shape[1]))
            for group in self.components.groups
        )
        totals, _ = jax.lax.scan(add, zeros, self._items)
        return tuple(total / num_draws for total in totals)

    def tables_by_draw(self, grids: Float[Array, "D G"]) -> tuple[Float[Array, "S _F *_grid"], ...]:
        """The components of every draw on grids, see `tables`."""
        return map_draws(partial(self._of_draw, grids), self._items)

    @property
    def _items(self) -> Any:
        """Arguments of `_of_draw`, stacked."""
        return self.draws, self.contexts, tuple(map(jnp.asarray, self.components.rows))

    def _of_draw(
        self, grids: Float[Array, "D G"], item: Any
    ) -> tuple[Float[Array, " _F *_grid"], ...]:
        """The components of one draw on grids, see `tables`."""
        draw, context, rows = item
        posterior = posterior_of(draw)
        factors = posterior.covariance.factors(grids.T, posterior.x) * posterior.mask

        def table(scope_and_row: tuple[Array, Array]) -> Array:
            scope, row = scope_and_row
            shape = [grids.shape[1]] * len(scope)

            def values() -> Array:
                on_grid = self.criterion.on_grid(draw, context, row, grids[scope], factors[scope])
                return on_grid.reshape(shape)

            return jax.lax.cond(row >= 0, values, lambda: jnp.zeros(shape))

        groups = map(jnp.asarray, self.components.groups)
        return tuple(jax.lax.map(table, pair) for pair in zip(groups, rows, strict=True))

    def __call__(self, x: Float[Array, "m D"]) -> Float[Array, " m"]:
        """The sum of these components at points."""
        return jax.lax.map(lambda p: sum(t.sum() for t in self.tables(p[:, None])), x)


def posterior_of(draw: Any) -> ConditionedGP:
    """The posterior of a draw, which is a posterior or a function drawn from one."""
    return draw if isinstance(draw, ConditionedGP) else draw.posterior


def products(rows: Inexact[Array, "s G n"]) -> Inexact[Array, "G**s n"]:
    """Products over all combinations of one grid point per member."""
    product = jnp.ones((1, rows.shape[2]), rows.dtype)
    for row in rows:
        product = (product[:, None, :] * row[None, :, :]).reshape(-1, rows.shape[2])
    return product


def sums_of_products(
    rows: Inexact[Array, "s G n"], weights: Inexact[Array, " n"]
) -> Inexact[Array, " G**s"]:
    """Weighted sums of `products`, by a product of matrices."""
    return ((weights * products(rows[:-1])) @ rows[-1].T).ravel()
