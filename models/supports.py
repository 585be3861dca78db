"""Supports of the sites of structures, by which samplers find the sites that they move."""

import jax.numpy as jnp
from jax import Array
from jax.typing import ArrayLike
from jaxtyping import Bool, Float, Int32
from numpyro.distributions import constraints

from structbo.models.outer_box import each_matrix, outer_box_ratio


class StructureSupport(constraints.Constraint):
    """A finite set of arrays of integers."""

    is_discrete = True

    def feasible_like(self, prototype: ArrayLike) -> Array:
        """Zeros; supports without zeros override this."""
        return jnp.zeros_like(jnp.asarray(prototype))

    def tree_flatten(self) -> tuple[tuple[()], tuple[tuple[()], dict[str, object]]]:
        return (), ((), {})


class Adjacency(StructureSupport):
    """Symmetric 0/1 matrices with an empty diagonal."""

    event_dim = 2

    def __call__(self, x: ArrayLike) -> Bool[Array, "*S"]:
        x = jnp.asarray(x)
        binary = ((x == 0) | (x == 1)).all((-2, -1))
        symmetric = (x == jnp.swapaxes(x, -2, -1)).all((-2, -1))
        return binary & symmetric & (jnp.diagonal(x, axis1=-2, axis2=-1) == 0).all(-1)


adjacency = Adjacency()
"""The support of edge matrices."""


class ActiveSet(StructureSupport):
    """Vectors of zeros and ones."""

    event_dim = 1

    def __call__(self, x: ArrayLike) -> Bool[Array, "*S"]:
        x = jnp.asarray(x)
        return ((x == 0) | (x == 1)).all(-1)


active_set = ActiveSet()
"""The support of active sets."""


class Partition(StructureSupport):
    """Canonical labels: the first is 0, each is at most one above the maximum before it."""

    event_dim = 1

    def __call__(self, x: ArrayLike) -> Bool[Array, "*S"]:
        x = jnp.asarray(x)
        return (x == canonical(x)).all(-1)

    def feasible_like(self, prototype: ArrayLike) -> Array:
        prototype = jnp.asarray(prototype)
        singletons = jnp.arange(prototype.shape[-1], dtype=prototype.dtype)
        return jnp.broadcast_to(singletons, prototype.shape)


partition = Partition()
"""The support of partitions."""


def canonical(labels: ArrayLike) -> Int32[Array, "*S D"]:
    """Renames the labels of a partition in the order of their first appearance.

    Args:
        labels: dimensions with the same label share a block, shape (..., D).

    Returns:
        The restricted growth string of the same partition.

    Example:
        >>> canonical([7, 3, 7, 0]).tolist()
        [0, 1, 0, 2]
    """
    labels = jnp.asarray(labels)
    first = jnp.argmax(labels[..., :, None] == labels[..., None, :], axis=-1)
    is_first = first == jnp.arange(labels.shape[-1])
    rank = jnp.cumsum(is_first, axis=-1, dtype=jnp.int32) - 1
    return jnp.take_along_axis(rank, first, axis=-1)


class SpanningTree(StructureSupport):
    """Edge matrices of trees that connect all dimensions."""

    event_dim = 2

    def __call__(self, x: ArrayLike) -> Bool[Array, "*S"]:
        x = jnp.asarray(x)
        num_dims = x.shape[-1]
        # A connected graph with D - 1 edges is a tree; paths have at most D - 1 of them.
        reach, length = x + jnp.eye(num_dims, dtype=x.dtype) > 0, 1
        while length < num_dims - 1:
            reach, length = (reach.astype(float) @ reach.astype(float)) > 0.0, 2 * length
        has_edges = x.sum((-2, -1)) == 2 * (num_dims - 1)
        return adjacency(x) & has_edges & reach.all((-2, -1))

    def feasible_like(self, prototype: ArrayLike) -> Array:
        prototype = jnp.asarray(prototype)
        path = jnp.eye(prototype.shape[-1], k=1, dtype=prototype.dtype)
        return jnp.broadcast_to(path + path.T, prototype.shape)


spanning_tree = SpanningTree()
"""The support of random trees."""


class Family(constraints.Constraint):
    """Indices of the families of a mixture, 0 to K - 1."""

    is_discrete = True
    event_dim = 0

    def __init__(self, num_families: int) -> None:
        self.num_families = num_families

    def __call__(self, x: ArrayLike) -> Bool[Array, "*S"]:
        x = jnp.asarray(x)
        return (x == jnp.floor(x)) & (x >= 0) & (x < self.num_families)

    def feasible_like(self, prototype: ArrayLike) -> Array:
        return jnp.zeros_like(jnp.asarray(prototype))

    def tree_flatten(self) -> tuple[tuple[()], tuple[tuple[()], dict[str, object]]]:
        return (), ((), {"num_families": self.num_families})


class NearIdentityMatrix(constraints.Constraint):
    """Square matrices around the identity with an `outer_box_ratio` of at most 1 + delta."""

    event_dim = 2

    def __init__(self, delta: ArrayLike) -> None:
        self.delta = delta

    def __call__(self, x: ArrayLike) -> Bool[Array, "*S"]:
        ratio = each_matrix(outer_box_ratio, jnp.asarray(x))
        return ratio <= (1.0 + jnp.asarray(self.delta)) * (1.0 + 1e-9)

    def feasible_like(self, prototype: ArrayLike) -> Array:
        prototype = jnp.asarray(prototype)
        return jnp.broadcast_to(jnp.eye(prototype.shape[-1]), prototype.shape)

    def tree_flatten(self) -> tuple[tuple[ArrayLike], tuple[tuple[str], dict[str, object]]]:
        return (self.delta,), (("delta",), {})


class FiniteSet(constraints.Constraint):
    """Membership of a finite set of numbers."""

    is_discrete = True
    event_dim = 0

    def __init__(self, values: Float[Array, " G"]) -> None:
        self.values = values

    def __call__(self, x: ArrayLike) -> Bool[Array, "*S"]:
        return jnp.isclose(jnp.asarray(x)[..., None], self.values).any(-1)

    def feasible_like(self, prototype: ArrayLike) -> Array:
        return jnp.full_like(jnp.asarray(prototype), self.values[0])

    def tree_flatten(self) -> tuple[tuple[Array], tuple[tuple[str], dict[str, object]]]:
        return (self.values,), (("values",), {})
