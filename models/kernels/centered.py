"""Kernels of functions whose average is zero, so that components mean what they say."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jaxtyping import Float

from structbo.models.kernels.kernel import GramKernel, Kernel
from structbo.models.kernels.stationary import Stationary
from structbo.models.kernels.totals import sums_along, total

LONGEST = 10.0
"""Largest lengthscale of functions of a continuous variable; longer ones count as this one. Its
functions are linear to within 0.3 %, and rounding errors grow with its square."""
NUM_AVERAGED = 32
"""Nodes of Gauss-Legendre quadrature, enough for lengthscales above 0.05."""


@jax.custom_vjp
def shifted(
    scale: Float[Array, ""],
    matrix: Float[Array, "n m"],
    by_row: Float[Array, " n"],
    by_column: Float[Array, " m"],
) -> Float[Array, "n m"]:
    """A multiple of the sum of a matrix, a number for each row and one for each column."""
    return scale * (matrix + (by_row[:, None] + by_column))


def _shifted_forward(scale: Array, *summands: Array) -> tuple[Array, tuple[Array, Array]]:
    found = shifted(scale, *summands)
    return found, (scale, found)


def _shifted_backward(
    saved: tuple[Array, Array], cotangent: Array
) -> tuple[Array, Array, Array, Array]:
    scale, found = saved
    by_row, by_column = sums_along(cotangent)
    by_scale = total(cotangent * found) / scale
    return by_scale, scale * cotangent, scale * by_row, scale * by_column


shifted.defvjp(_shifted_forward, _shifted_backward)


def legendre(number: int) -> tuple[Float[np.ndarray, " {number}"], Float[np.ndarray, " {number}"]]:
    """Nodes and weights of Gauss-Legendre quadrature for averages over the unit interval.

    Example:
        >>> nodes, weights = legendre(2)
        >>> round(float(weights @ nodes**2), 6)
        0.333333
    """
    nodes, weights = np.polynomial.legendre.leggauss(number)
    return 0.5 + nodes / 2, weights / 2


@dataclass(frozen=True, eq=False, repr=False)
class Centered(GramKernel):
    """The kernel of ``f - average of f``, for functions f of another kernel; its variance varies.

    A product of plain kernels contains the main effects of its dimensions and a constant, so data
    cannot tell a pair from its main effects. A product of centered kernels contains neither: its
    functions average zero over each dimension. An edge is then an interaction, and shares of the
    variance add up over the components. A long lengthscale is a linear effect.

    The covariance is ``k(x, x') - m(x) - m(x') + M``, with the averages ``m(x)`` of ``k(x, .)`` and
    ``M`` of m. It is scaled to an average variance of one.

    Args:
        kernel: the kernel of f.
        levels: the coordinates to average over, with equal weights; by default the whole unit
            interval, or all levels of `LevelCorrelations`.

    Raises:
        TypeError: if ``kernel`` is not a kernel, or is centered already.
        ValueError: if there are fewer than two levels, or one is outside of the unit interval.

    References:
        Durrande, Ginsbourger, Roustant and Carraro 2013, "ANOVA kernels and RKHS of zero mean
        functions for model-based sensitivity analysis"; Lu, Boukouvalas and Hensman 2022, "Additive
        Gaussian processes revisited".

    Example:
        >>> from structbo.models import squared_exponential
        >>> kernel = Centered(squared_exponential, levels=(0.0, 1.0))
        >>> x, other, lengthscale = map(jnp.array, (0.0, 1.0, 0.3))
        >>> [round(float(kernel.correlation(x, x2, lengthscale, ())), 4) for x2 in (x, other)]
        [1.0, -1.0]
    """

    kernel: Kernel
    levels: tuple[float, ...] | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.kernel, Kernel) or isinstance(self.kernel, Centered):
            raise TypeError(f"kernel must be a kernel that is not centered, got {self.kernel!r}.")
        if self.levels is None:
            return
        levels = tuple(sorted({float(level) for level in self.levels}))
        if len(levels) < 2 or not 0.0 <= levels[0] < levels[-1] <= 1.0:
            raise ValueError(
                f"levels must be at least two coordinates of the unit interval, got {self.levels}."
            )
        object.__setattr__(self, "levels", levels)

    @property
    def is_categorical(self) -> bool:
        return self.kernel.is_categorical

    @property
    def has_unit_variance(self) -> bool:
        return False

    def parameters(self, num_dims: int) -> Any:
        return self.kernel.parameters(num_dims)

    def gram(
        self,
        x: Float[Array, " n"],
        other: Float[Array, " m"],
        lengthscale: Float[Array, ""],
        parameters: Any,
        /,
    ) -> Float[Array, "n m"]:
        if not self.is_categorical:
            lengthscale = jnp.minimum(lengthscale, LONGEST)
        average, mean, variance = self._averages(lengthscale, parameters)
        plain = self.kernel.gram(x, other, lengthscale, parameters)
        return shifted(1.0 / (variance - mean), plain, mean - average(x), -average(other))

    def nodes(self, lengthscale: Float[Array, ""], parameters: Any, /) -> Float[Array, " B"]:
        return self.kernel.nodes(lengthscale, parameters)

    def _averages(
        self, lengthscale: Float[Array, ""], parameters: Any
    ) -> tuple[
        Callable[[Float[Array, " n"]], Float[Array, " n"]], Float[Array, ""], Float[Array, ""]
    ]:
        """The function m, the number M, and the average variance of the kernel."""
        kernel = self.kernel
        if self.levels is None and isinstance(kernel, Stationary) and kernel.integrals is not None:
            zeroth, first = kernel.integrals(1.0 / lengthscale)
            integrals = kernel.integrals

            def integral(x: Float[Array, " n"]) -> Float[Array, " n"]:
                left, right = (integrals(side / lengthscale)[0] for side in (x, 1.0 - x))
                return lengthscale * (left + right)

            mean = 2.0 * lengthscale * (zeroth - lengthscale * first)
            return integral, mean, jnp.ones(())
        nodes, weights = self._averaged(lengthscale, parameters)

        def average(x: Float[Array, " n"]) -> Float[Array, " n"]:
            return kernel.gram(x, nodes, lengthscale, parameters) @ weights

        between = kernel.gram(nodes, nodes, lengthscale, parameters)
        return average, weights @ between @ weights, weights @ jnp.diagonal(between)

    def _averaged(
        self, lengthscale: Float[Array, ""], parameters: Any
    ) -> tuple[Float[Array, " Q"], Float[Array, " Q"]]:
        """Coordinates to average over, and their weights."""
        if self.levels is not None:
            levels = jnp.array(self.levels)
        elif self.is_categorical:
            levels = self.nodes(lengthscale, parameters)
        else:
            nodes, weights = legendre(NUM_AVERAGED)
            return jnp.asarray(nodes), jnp.asarray(weights)
        return levels, jnp.full(len(levels), 1.0 / len(levels))
