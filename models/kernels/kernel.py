"""Kernels: correlation functions of one dimension, the factors of products."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from jax import Array
from jax.scipy.linalg import solve_triangular
from jax.tree_util import register_dataclass
from jaxtyping import Bool, Float, Int, Key

from structbo.models.foundation.arrays import AnyArray
from structbo.models.foundation.values import Value

NUM_NODES = 64
"""Number of nodes to draw functions on the unit interval, enough for lengthscales above 0.03."""
JITTER = 1e-10
"""Added to the diagonal of nodes' correlations, nearly singular for smooth functions."""


class Kernel(Value, ABC):
    """The correlation function of one variable; a subclass defines it for two numbers.

    Kernels compare by content: instances of one class with equal attributes are equal. Attributes
    have the names of the constructor's arguments. ``examples/extend/new_kernel.py`` is a complete
    example with a parameter.
    """

    @property
    def is_categorical(self) -> bool:
        """Whether coordinates are the levels of a category, which have no order."""
        return False

    @property
    def has_unit_variance(self) -> bool:
        """Whether the correlation of equal coordinates is one; otherwise it is one on average."""
        return True

    def parameters(self, num_dims: int) -> Any:
        """Samples the kernel's own parameters, as a part of a NumPyro model.

        Args:
            num_dims: number of dimensions with this kernel.

        Returns:
            Arrays, or tuples or dicts of arrays, with these dimensions along the first axis.
        """
        return ()

    @abstractmethod
    def correlation(
        self,
        x: Float[Array, ""],
        other: Float[Array, ""],
        lengthscale: Float[Array, ""],
        parameters: Any,
        /,
    ) -> Float[Array, ""]:
        """The correlation of the function's values at two coordinates.

        It must be positive semi-definite, differentiable by all arguments, and one for equal
        coordinates, unless `has_unit_variance` is false.

        Args:
            x: a coordinate of the unit interval.
            other: another.
            lengthscale: of this dimension, in units of the cube's edge.
            parameters: what `parameters` returned, for this dimension.
        """

    def gram(
        self,
        x: Float[Array, " n"],
        other: Float[Array, " m"],
        lengthscale: Float[Array, ""],
        parameters: Any,
        /,
    ) -> Float[Array, "n m"]:
        """The correlations of two sets of coordinates; see `correlation` for the arguments."""

        def one(a: Float[Array, ""], b: Float[Array, ""]) -> Float[Array, ""]:
            return jnp.asarray(self.correlation(a, b, lengthscale, parameters))

        return jax.vmap(lambda a: jax.vmap(lambda b: one(a, b))(other))(x)

    def nodes(self, lengthscale: Float[Array, ""], parameters: Any, /) -> Float[Array, " B"]:
        """Coordinates of drawn functions, whose values there nearly determine them.

        Args:
            lengthscale: of this dimension.
            parameters: what `parameters` returned, for this dimension.
        """
        return jnp.linspace(0.0, 1.0, NUM_NODES)


class GramKernel(Kernel):
    """A kernel that a subclass defines by its matrices, `gram`."""

    def correlation(
        self,
        x: Float[Array, ""],
        other: Float[Array, ""],
        lengthscale: Float[Array, ""],
        parameters: Any,
        /,
    ) -> Float[Array, ""]:
        return self.gram(x[None], other[None], lengthscale, parameters)[0, 0]


Points = tuple[Float[AnyArray, "n D"], Float[AnyArray, "m D"], Float[Array, " D"]]
"""Two sets of points, and lengthscales."""


@partial(register_dataclass, data_fields=["parameters"], meta_fields=["kernel", "dims"])
@dataclass(frozen=True)
class KernelGroup:
    """Dimensions with a separate kernel, at fixed values of its parameters.

    Args:
        kernel: the kernel.
        dims: the dimensions.
        parameters: values returned by `Kernel.parameters` for these dimensions.
    """

    kernel: Kernel
    dims: tuple[int, ...]
    parameters: Any

    def correlations(
        self,
        x: Float[AnyArray, "n D"],
        other: Float[AnyArray, "m D"],
        lengthscale: Float[Array, " D"],
    ) -> Float[Array, "E n m"]:
        """Correlations of two sets of points in each of the E dimensions."""
        dims = jnp.array(self.dims)
        left, right = (jnp.asarray(points).T[dims] for points in (x, other))
        return jax.vmap(self.kernel.gram)(left, right, lengthscale[dims], self.parameters)

    def pull_back(
        self,
        points: Points,
        by_correlations: Callable[[Int[Array, ""]], tuple[Float[Array, "n m"], Float[Array, ""]]],
    ) -> tuple[Points, "KernelGroup", Float[Array, " D"]]:
        """Derivatives by points, lengthscales and parameters, from derivatives by correlations.

        Dimensions are visited one at a time, in buffers that stay in cache.

        Args:
            points: two sets of points, and lengthscales.
            by_correlations: maps a dimension to the derivatives by its correlations, and a number.

        Returns:
            Derivatives by the points and lengthscales; by the parameters, None for integers; and
            the number of each dimension, zero outside of the group.
        """
        x, other, lengthscale = points
        # The sign keeps two equal sets of points apart, see `Distances`.
        left, right, dims = x.T, -other.T, jnp.array(self.dims)

        def step(_: None, item: tuple[Array, Any, Any]) -> tuple[None, Any]:
            dim, real, integers = item

            def gram(x: Array, other: Array, lengthscale: Array, real: Any) -> Any:
                return self.kernel.gram(x, other, lengthscale, _merged(real, integers))

            pull: Callable[[Array], Any]
            _, pull = jax.vjp(gram, left[dim], -right[dim], lengthscale[dim], real)
            by_dim, number = by_correlations(dim)
            return None, (*pull(by_dim), number)

        found = jax.lax.scan(step, None, (dims, *_split(self.parameters)))[1]
        by_x, by_other, by_lengthscale, by_parameters, numbers = found

        def spread(values: Array, like: AnyArray) -> Array:
            return jnp.zeros_like(like).at[dims].set(values)

        by_points = (
            spread(by_x, left).T,
            spread(by_other, right).T,
            spread(by_lengthscale, lengthscale),
        )
        by_group = replace(self, parameters=by_parameters)
        return by_points, by_group, spread(numbers, lengthscale)

    def product(
        self,
        x: Float[Array, "n D"],
        other: Float[Array, "m D"],
        lengthscale: Float[Array, " D"],
        members: Bool[Array, " D"],
    ) -> Float[Array, "n m"]:
        """Product of the correlations over the kernel's dimensions that are members."""

        def gram(dim: Int[Array, ""], parameters: Any) -> Float[Array, "n m"]:
            return self.kernel.gram(x[:, dim], other[:, dim], lengthscale[dim], parameters)

        return self._product(gram, self.parameters, members, (len(x), len(other)))

    def variances(
        self, x: Float[Array, "n D"], lengthscale: Float[Array, " D"]
    ) -> Float[Array, "E n"]:
        """Prior variances of points in each of the E dimensions."""
        dims = jnp.array(self.dims)

        def of_dim(x: Array, lengthscale: Array, parameters: Any) -> Float[Array, " n"]:
            def one(a: Float[Array, ""]) -> Float[Array, ""]:
                return jnp.asarray(self.kernel.correlation(a, a, lengthscale, parameters))

            return jax.vmap(one)(x)

        return jax.vmap(of_dim)(x.T[dims], lengthscale[dims], self.parameters)

    def draw(
        self, key: Key[Array, ""], num_functions: int, lengthscale: Float[Array, " D"]
    ) -> Float[Array, "E B F"]:
        """Draws F functions of each of the E dimensions: their weights."""
        nodes = jax.vmap(self.kernel.nodes)(lengthscale[jnp.array(self.dims)], self.parameters)
        return jax.random.normal(key, (*nodes.shape, num_functions))

    def functions(
        self,
        drawn: Float[Array, "E B F"],
        x: Float[Array, "n D"],
        lengthscale: Float[Array, " D"],
        members: Bool[Array, " D"],
    ) -> Float[Array, "n F"]:
        """Products of drawn functions over the members.

        Their covariance is the product of the correlations. A function is determined by its values
        at the nodes; its variance given these is neglected.

        Args:
            drawn: weights of F functions of each dimension.
            x: points.
            lengthscale: the lengthscale of the draw or another one.
            members: which dimensions count.
        """

        def of_dim(dim: Int[Array, ""], item: tuple[Array, Any]) -> Float[Array, "n F"]:
            weights, parameters = item
            scale = lengthscale[dim]
            nodes = self.kernel.nodes(scale, parameters)
            gram = self.kernel.gram(nodes, nodes, scale, parameters)
            cholesky = jnp.linalg.cholesky(gram + JITTER * jnp.eye(len(nodes)))
            to_nodes = self.kernel.gram(nodes, x[:, dim], scale, parameters)
            return solve_triangular(cholesky, to_nodes, lower=True).T @ weights

        shape = (len(x), drawn.shape[2])
        return self._product(of_dim, (drawn, self.parameters), members, shape)

    def _product(
        self,
        of_dim: Callable[[Int[Array, ""], Any], Float[Array, "n F"]],
        items: Any,
        members: Bool[Array, " D"],
        shape: tuple[int, int],
    ) -> Float[Array, "n F"]:
        """Product over the members of a function of single dimensions."""

        def step(product: Array, item: tuple[Array, Any]) -> tuple[Array, None]:
            dim = item[0]
            return jax.lax.cond(
                members[dim], lambda: product * of_dim(*item), lambda: product
            ), None

        return jax.lax.scan(step, jnp.ones(shape), (jnp.array(self.dims), items))[0]


def _split(parameters: Any) -> tuple[Any, Any]:
    """Real numbers and integers among parameters, None in place of the others."""

    def kept(are_real: bool) -> Any:
        def leaf(value: Array) -> Array | None:
            return value if jnp.issubdtype(value.dtype, jnp.inexact) == are_real else None

        return jax.tree.map(leaf, parameters)

    return kept(True), kept(False)


def _merged(real: Any, integers: Any) -> Any:
    """The parameters that `_split` separated."""

    def leaf(real: Array | None, integer: Array | None) -> Array | None:
        return integer if real is None else real

    return jax.tree.map(leaf, real, integers, is_leaf=lambda value: value is None)
