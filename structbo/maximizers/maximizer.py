"""The interface of maximizers, from an acquisition and a search to ranked points."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Protocol, runtime_checkable

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.typing import ArrayLike
from jaxtyping import Float, Int

from structbo.maximizers.search_state import Search

Function = Callable[[Float[Array, "m D"]], Float[Array, " m"]]
"""Maps points to values."""
NUM_STARTS = 8


@runtime_checkable
class HasLines(Protocol):
    """A function that is cheaper on lines along one dimension than at single points."""

    def on_lines(self, x: Float[Array, "L G D"], dim: Int[Array, ""]) -> Float[Array, "L G"]:
        """Values at G points on each of L lines, which differ in the coordinate `dim` only."""
        ...


class Maximizer(ABC):
    """Maximizes acquisitions; subclasses are frozen dataclasses.

    A function with ``tables`` is additive (`AdditiveFunction`): message passing maximizes it.
    """

    def starts(self, function: Function, search: Search) -> Float[Array, "K D"]:
        """Points to start from, by default the best candidates.

        Compiled together with the acquisition, so it must be traceable by JAX.

        Args:
            function: the acquisition.
            search: the state of the search.

        Returns:
            Legal points.
        """
        return search.candidates[:NUM_STARTS]

    def prepare(self, function: Function, search: Search) -> None:  # noqa: B027 - optional
        """Compiles the programs of a call in the background; the default has none.

        Args:
            function: an acquisition of zeros, with the shapes of the one to maximize.
            search: a search of zeros, likewise.
        """

    @abstractmethod
    def __call__(self, function: Function, search: Search) -> Float[np.ndarray, "K D"]:
        """Points with large values of the acquisition; not traced.

        Args:
            function: the acquisition; `evaluate` compiles it.
            search: the state of the search, with its `starts`.

        Returns:
            Points of the unit cube, best first. The first point that is legal and new after
            rounding to the levels is evaluated next.
        """


def evaluate(function: Function, x: ArrayLike) -> Float[Array, " m"]:
    """The values of a function at points, compiled once per number of points.

    Args:
        function: a pytree such as an acquisition, or a Python function, which compares by identity.
        x: the points.

    Example:
        >>> evaluate(lambda x: x.sum(1), np.ones((2, 3))).tolist()
        [3.0, 3.0]
    """
    is_pytree = not jax.tree_util.all_leaves([function])
    return _evaluate(function if is_pytree else jax.tree_util.Partial(function), jnp.asarray(x))


@jax.jit
def _evaluate(function: Function, x: Float[Array, "m D"]) -> Float[Array, " m"]:
    return function(x)


def ranked(function: Function, points: Float[Array, "m D"]) -> Float[Array, "m D"]:
    """Points, best first; traceable."""
    return points[jnp.argsort(-function(points))]


def values_on_lines(
    function: Function, x: Float[Array, "L G D"], dim: Int[Array, ""]
) -> Float[Array, "L G"]:
    """The values of a function on lines; traceable.

    A function with a method ``on_lines``, as acquisitions have, computes them faster than points.

    Args:
        function: the function.
        x: G points on each of L lines, which differ in one coordinate only.
        dim: this coordinate.
    """
    if isinstance(function, HasLines):
        return function.on_lines(x, dim)
    return function(x.reshape(-1, x.shape[2])).reshape(x.shape[:2])


def is_additive(function: Function) -> bool:
    """Whether message passing can maximize a function."""
    return hasattr(type(function), "tables")
