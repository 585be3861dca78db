"""Kernels of the levels of a category, tables of correlations."""

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
from jax import Array
from jaxtyping import Float

from structbo.models.foundation.arguments import checked_count
from structbo.models.kernels.kernel import GramKernel


@dataclass(frozen=True, eq=False, repr=False)
class LevelKernel(GramKernel):
    """The correlations of the levels of a category; a subclass defines their table.

    Args:
        num_levels: number of choices, at equally spaced coordinates as in `Space`.

    Raises:
        ValueError: if there are fewer than two levels.
    """

    num_levels: int

    def __post_init__(self) -> None:
        checked_count("num_levels", self.num_levels, least=2)

    @property
    def is_categorical(self) -> bool:
        return True

    @abstractmethod
    def table(self, lengthscale: Float[Array, ""], parameters: Any, /) -> Float[Array, "L L"]:
        """The correlations of all levels, see `Kernel.correlation`."""

    def gram(
        self,
        x: Float[Array, " n"],
        other: Float[Array, " m"],
        lengthscale: Float[Array, ""],
        parameters: Any,
        /,
    ) -> Float[Array, "n m"]:
        # Derivatives of products with indicators are faster than derivatives of lookups.
        left, right = (jax.nn.one_hot(self._index(v), self.num_levels) for v in (x, other))
        return left @ self.table(lengthscale, parameters) @ right.T

    def nodes(self, lengthscale: Float[Array, ""], parameters: Any, /) -> Float[Array, " L"]:
        return jnp.linspace(0.0, 1.0, self.num_levels)

    def _index(self, x: Float[Array, " n"]) -> Array:
        return jnp.rint(x * (self.num_levels - 1)).astype(int)


@dataclass(frozen=True, eq=False, repr=False)
class Exchangeable(LevelKernel):
    """Equal correlations of all pairs of levels of a category, ``exp(-1 / (2 lengthscale^2))``.

    `AdditiveGP` has the same correlations in its ``categorical`` dimensions; the kernel is for
    `Centered`, which needs the number of levels.

    Args:
        num_levels: number of choices, at equally spaced coordinates as in `Space`.

    Raises:
        ValueError: if there are fewer than two levels.

    Example:
        >>> kernel = Exchangeable(3)
        >>> round(float(kernel.correlation(*map(jnp.array, (0.0, 0.5, 1.0)), ())), 4)
        0.6065
    """

    def table(self, lengthscale: Float[Array, ""], parameters: Any, /) -> Float[Array, "L L"]:
        common = jnp.exp(-0.5 / lengthscale**2)
        return jnp.eye(self.num_levels) * (1.0 - common) + common
