"""Kernels: correlation functions of one dimension, the factors of products."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
from jax import Array
from jax.scipy.linalg import solve_triangular
from jax.tree_util import register_dataclass

from structbo.models.foundation.values import Value

NUM_NODES = 64
"""Nodes of the unit interval by which functions are drawn, enough for lengthscales above 0.03."""
JITTER = 1e-10
"""Added to the diagonal of correlations of nodes, nearly singular for smooth functions."""


class Kernel(Value, ABC):
    """The correlation function of one variable; a subclass defines it for two numbers.

    Kernels are values: instances of one class with equal attributes are equal. Attributes have the
    names of the constructor's arguments. ``examples/extend/new_kernel.py`` is a complete example
    with a parameter.
    """

    is_categorical: ClassVar[bool] = False
    """Whether coordinates are the levels of a category, which have no order."""

    def parameters(self, num_dims: int) -> Any:
        """Samples the kernel's own parameters, as a part of a NumPyro model.

        Args:
            num_dims: how many dimensions have this kernel.

        Returns:
            Arrays, or tuples or dicts of such, whose first axis are these dimensions.
        """
        return ()

    @abstractmethod
    def correlation(self, x: Array, other: Array, lengthscale: Array, parameters: Any, /) -> Array:
        """The correlation of the function's values at two coordinates.

        It must be positive semi-definite, one where the coordinates are equal, and differentiable
        by all arguments.

        Args:
            x: a coordinate of the unit interval, a scalar.
            other: another.
            lengthscale: of this dimension, in units of the cube's edge, a scalar.
            parameters: what `parameters` returned, for this dimension.

        Returns:
            A scalar.
        """

    def nodes(self, lengthscale: Array, parameters: Any, /) -> Array:
        """Coordinates at which functions are drawn; their values nearly determine a function.

        Args:
            lengthscale: of this dimension, a scalar.
            parameters: what `parameters` returned, for this dimension.

        Returns:
            Shape (B,).
        """
        return jnp.linspace(0.0, 1.0, NUM_NODES)


@partial(register_dataclass, data_fields=["parameters"], meta_fields=["kernel", "dims"])
@dataclass(frozen=True)
class KernelGroup:
    """Dimensions that have a kernel of their own, at fixed values of its parameters.

    Args:
        kernel: the kernel.
        dims: the dimensions.
        parameters: what `Kernel.parameters` returned for them.
    """

    kernel: Kernel
    dims: tuple[int, ...]
    parameters: Any

    def correlations(self, x: Array, other: Array, lengthscale: Array) -> Array:
        """Correlations of two sets of points in each of the E dimensions.

        Args:
            x: points, shape (n, D).
            other: points, shape (m, D).
            lengthscale: shape (D,).

        Returns:
            Shape (E, n, m).
        """
        dims = jnp.array(self.dims)
        columns = x.T[dims], other.T[dims], lengthscale[dims], self.parameters
        return jax.vmap(self._gram)(*columns)

    def product(self, x: Array, other: Array, lengthscale: Array, members: Array) -> Array:
        """Product of the correlations over those of the dimensions that are members.

        Args:
            x: points, shape (n, D).
            other: points, shape (m, D).
            lengthscale: shape (D,).
            members: bool, shape (D,).

        Returns:
            Shape (n, m).
        """

        def gram(dim: Array, parameters: Any) -> Array:
            return self._gram(x[:, dim], other[:, dim], lengthscale[dim], parameters)

        return self._product(gram, self.parameters, members, (len(x), len(other)))

    def draw(self, key: Array, num_functions: int, lengthscale: Array) -> Array:
        """Draws functions of each of the E dimensions: their weights, shape (E, B, F)."""
        nodes = jax.vmap(self.kernel.nodes)(lengthscale[jnp.array(self.dims)], self.parameters)
        return jax.random.normal(key, (*nodes.shape, num_functions))

    def functions(self, drawn: Array, x: Array, lengthscale: Array, members: Array) -> Array:
        """Products, over the members, of the functions that were drawn.

        Their covariance is the product of the correlations. A function is determined by its values
        at the nodes: what is left out is its variance given these.

        Args:
            drawn: weights of F functions of each dimension, shape (E, B, F).
            x: points, shape (n, D).
            lengthscale: shape (D,), that of the draw or another.
            members: bool, shape (D,).

        Returns:
            Shape (n, F).
        """

        def of_dim(dim: Array, item: tuple[Array, Any]) -> Array:
            weights, parameters = item
            scale = lengthscale[dim]
            nodes = self.kernel.nodes(scale, parameters)
            gram = self._gram(nodes, nodes, scale, parameters)
            cholesky = jnp.linalg.cholesky(gram + JITTER * jnp.eye(len(nodes)))
            to_nodes = self._gram(nodes, x[:, dim], scale, parameters)
            return solve_triangular(cholesky, to_nodes, lower=True).T @ weights

        shape = (len(x), drawn.shape[2])
        return self._product(of_dim, (drawn, self.parameters), members, shape)

    def _gram(self, x: Array, other: Array, lengthscale: Array, parameters: Any) -> Array:
        """Correlations of coordinates (n,) and (m,) of one dimension, shape (n, m)."""

        def one(a: Array, b: Array) -> Array:
            return jnp.asarray(self.kernel.correlation(a, b, lengthscale, parameters))

        return jax.vmap(lambda a: jax.vmap(lambda b: one(a, b))(other))(x)

    def _product(
        self,
        of_dim: Callable[[Array, Any], Array],
        items: Any,
        members: Array,
        shape: tuple[int, int],
    ) -> Array:
        """Product over the members of what is computed for each of the dimensions."""

        def step(product: Array, item: tuple[Array, Any]) -> tuple[Array, None]:
            dim = item[0]
            return jax.lax.cond(
                members[dim], lambda: product * of_dim(*item), lambda: product
            ), None

        return jax.lax.scan(step, jnp.ones(shape), (jnp.array(self.dims), items))[0]
