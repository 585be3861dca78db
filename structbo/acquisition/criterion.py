"""Criteria of single draws, and acquisitions: criteria averaged over posterior draws.

A *criterion* is a frozen dataclass, a constant of compiled searches. With the posteriors of some
draws it becomes an *acquisition*, a function of points. The acquisition is averaged over draws
before it is maximized: its maximum is best on average, not for a single draw.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
from jax import Array
from jax.tree_util import register_dataclass, register_pytree_node
from jaxtyping import Float, Int

from structbo.acquisition.exploration import HalfLog
from structbo.maximizers.search_state import Search
from structbo.models.foundation.accelerator import map_draws
from structbo.models.foundation.arrays import AnyArray
from structbo.models.foundation.values import ByContent
from structbo.models.gp import ConditionedGP

CONSTANTS = "_constants"
"""The attribute for the untraced parts of a criterion."""


class Criterion(ABC):
    """A measure of the value of an evaluation; subclasses are frozen dataclasses and pytrees."""

    traced: ClassVar[tuple[str, ...]] = ()
    """Fields with traced numbers, which may change without recompilation."""
    is_log: ClassVar[bool] = False
    """Whether `values` are logarithms, whose exponentials are averaged over draws."""

    def __init_subclass__(cls, **settings: Any) -> None:
        super().__init_subclass__(**settings)
        register_pytree_node(cls, _flatten, partial(_unflatten, cls))

    @abstractmethod
    def of(self, posteriors: ConditionedGP, search: Search) -> "Acquisition":
        """The acquisition of the posteriors of S draws, stacked along the first axis."""

    def width(
        self,
        mean: Float[Array, " m"],
        deviation: Float[Array, " m"],
        context: Any,
        num_observed: float,
        num_dims: int,
    ) -> Float[Array, ""] | float:
        """The width of the criterion's confidence bounds, in standard deviations.

        Batch strategies define their relevance region by these bounds. The default is the width of
        `HalfLog`.

        Args:
            mean: mean of the function at the candidates of a batch.
            deviation: standard deviation of the function there.
            context: the context of the mixture of draws.
            num_observed: the number of observations.
            num_dims: the number of dimensions D.
        """
        return jnp.sqrt(HalfLog()(num_observed, num_dims))

    @abstractmethod
    def values(self, draw: Any, context: Any, x: Float[Array, "m D"]) -> Float[Array, " m"]:
        """Values at points, for one draw.

        Args:
            draw: one of the acquisition's draws.
            context: what the criterion needs besides the draw, such as an incumbent or beta.
            x: points of the unit cube.

        Returns:
            Values, larger is better.
        """

    def values_on_lines(
        self, draw: Any, context: Any, x: Float[Array, "L G D"], dim: Int[Array, ""]
    ) -> Float[Array, "L G"]:
        """Values on lines along one dimension, for one draw; the default evaluates every point.

        Args:
            draw: one of the acquisition's draws.
            context: what the criterion needs besides the draw.
            x: G points on each of L lines, which differ in one coordinate only.
            dim: this coordinate.
        """
        return self.values(draw, context, x.reshape(-1, x.shape[2])).reshape(x.shape[:2])


def _flatten(criterion: Criterion) -> tuple[list[Any], ByContent]:
    fields = vars(criterion)
    if CONSTANTS not in fields:  # cached for calls of compiled functions
        numbers = tuple([name for name in criterion.traced if not callable(fields[name])])
        constants = {name: value for name, value in fields.items() if name not in numbers}
        object.__setattr__(criterion, CONSTANTS, ByContent((numbers, constants)))
    known: ByContent = fields[CONSTANTS]
    return list(map(fields.__getitem__, known.values[0])), known


def _unflatten(cls: type[Criterion], constants: ByContent, leaves: Iterable[Any]) -> Criterion:
    numbers, fields = constants.values
    criterion = object.__new__(cls)  # without the checks of its constructor: numbers are traced
    vars(criterion).update(fields, **dict(zip(numbers, leaves, strict=True)))
    return criterion


@partial(
    register_dataclass,
    data_fields=["draws", "contexts", "which", "criterion"],
    meta_fields=[],
)
@dataclass(frozen=True)
class Acquisition:
    """A criterion averaged over draws: a function of points, and a pytree.

    Args:
        draws: posteriors or functions drawn from them, K of them stacked along the first axis.
        contexts: what the criterion needs besides each of them, stacked likewise.
        which: index of the posterior of each draw.
        criterion: the criterion.
    """

    draws: Any
    contexts: Any
    which: Int[AnyArray, " K"]
    criterion: Criterion

    @property
    def num_draws(self) -> int:
        """The number of draws."""
        return len(self.which)

    def of_draw(self, k: Int[Array, ""] | int) -> "Acquisition":
        """The acquisition of one draw alone."""
        parts = (self.draws, self.contexts, self.which)
        draws, contexts, which = jax.tree.map(lambda leaf: jnp.asarray(leaf)[k][None], parts)
        return Acquisition(draws, contexts, which, self.criterion)

    def by_draw(self, x: Float[Array, "m D"]) -> Float[Array, "K m"]:
        """The values of every draw at points."""
        return self._map(lambda draw, context: self.criterion.values(draw, context, x))

    def __call__(self, x: Float[Array, "m D"]) -> Float[Array, " m"]:
        """The mean over draws at points; its logarithm if the criterion is on this scale."""
        return self._mean(self.by_draw(x))

    def on_lines(self, x: Float[Array, "L G D"], dim: Int[Array, ""]) -> Float[Array, "L G"]:
        """The same for G points on each of L lines, which differ in the coordinate `dim` only."""
        return self._mean(
            self._map(lambda draw, context: self.criterion.values_on_lines(draw, context, x, dim))
        )

    def _map(
        self, values: Callable[[Any, Any], Float[Array, "*shape"]]
    ) -> Float[Array, " K *shape"]:
        """Values of every draw, the draws along the first axis."""
        return map_draws(lambda item: values(*item), (self.draws, self.contexts))

    def _mean(self, by_draw: Float[Array, " K *shape"]) -> Float[Array, "*shape"]:
        if not self.criterion.is_log:
            return by_draw.mean(0)
        return jax.nn.logsumexp(by_draw, axis=0) - jnp.log(by_draw.shape[0])

    def standard_error(self, x: Float[Array, "m D"]) -> Float[Array, " m"]:
        """Monte Carlo error of the mean over draws at points, as if draws were independent.

        For a criterion on the log scale it is the relative error of the mean. With one draw the
        error is unknown: the result is infinite.
        """
        by_draw = self.by_draw(x)
        num_draws = by_draw.shape[0]
        if num_draws == 1:
            return jnp.full(len(x), jnp.inf)
        if self.criterion.is_log:
            by_draw = jnp.exp(by_draw - jax.nn.logsumexp(by_draw, axis=0)) * num_draws
        return by_draw.std(0, ddof=1) / jnp.sqrt(num_draws)


def count_draws(stacked: Any) -> int:
    """The length of the first axis of a stacked pytree."""
    return int(jax.tree.leaves(stacked)[0].shape[0])
