"""Components in the form in which sums over them are computed: a table, and their products."""

from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import Array
from jaxtyping import Bool, Float, Inexact, Int


class ComponentTable(NamedTuple):
    """A padded table of components, with main effects separate from the others.

    Members are not counted, because XLA would convert the booleans to a table of numbers, eight
    times as large. It also copies the members for every tile of a matrix, so they are left out
    where no component has more than two.

    Args:
        members: which dimensions are members of each row; None if no row has more than two.
        first: the first member of each row.
        second: the second member of each row.
        is_main: which rows have this member only.
        is_constant: whether the first row is a constant.
        joint: all rows, pairs first, then larger components.
        num_pairs: the number of pairs.
        num_joint: the number of rows with several members.
    """

    members: Bool[Array, "C D"] | None
    first: Int[Array, " C"]
    second: Int[Array, " C"]
    is_main: Bool[Array, " C"]
    is_constant: Bool[Array, ""]
    joint: Int[Array, " C"]
    num_pairs: Int[Array, ""]
    num_joint: Int[Array, ""]

    @classmethod
    def of(cls, members: Bool[Array, "C D"], max_size: int | None = None) -> "ComponentTable":
        """The table of components with these members, at most ``max_size`` of each."""
        dims = jnp.arange(members.shape[1])
        first = jnp.argmax(members, 1)
        others = members & (dims != first[:, None])
        second = jnp.argmax(others, 1)
        has_two = others.any(1)
        has_any, are_pairs = members.any(1), max_size is not None and max_size <= 2
        is_pair = has_two if are_pairs else has_two & ~(others & (dims != second[:, None])).any(1)
        order = jnp.argsort(jnp.where(is_pair, 0, jnp.where(has_two, 1, 2)))
        return cls(
            None if are_pairs else members,
            first,
            second,
            has_any & ~has_two,
            ~has_any.any(),
            order,
            is_pair.sum(),
            has_two.sum(),
        )

    def by_dim(self, weights: Float[Array, " C"], num_dims: int) -> Float[Array, " D"]:
        """The weights of the main effects by dimension, zero for dimensions without one."""
        nothing = jnp.zeros(num_dims, weights.dtype)
        return nothing.at[self.first].add(jnp.where(self.is_main, weights, 0.0))

    def constant(self, weights: Float[Array, " C"]) -> Float[Array, ""]:
        """The weight of the constant, zero if there is none."""
        return jnp.where(self.is_constant, weights[0], 0.0)


def component_product(
    factors: Inexact[Array, "D n m"] | Callable[[Int[Array, ""]], Inexact[Array, "n m"]],
    members: Bool[Array, " D"],
) -> Inexact[Array, "n m"]:
    """Product of the factors of one component.

    Args:
        factors: real or complex, such as one-dimensional correlations; or a function from a
            dimension to its factor.
        members: the component; without members the product is one.
    """
    factor = factors if callable(factors) else factors.__getitem__
    first = jnp.argmax(members)
    others = members.at[first].set(False)
    second = jnp.argmax(others)

    def step(state: tuple[Array, Array]) -> tuple[Array, Array]:
        rest, product = state
        dim = jnp.argmax(rest)
        return rest.at[dim].set(False), product * factor(dim)

    # Most components are pairs, which take one pass over the matrices.
    product = jnp.where(members[first], factor(first), 1.0)
    product = product * jnp.where(others[second], factor(second), 1.0)
    init = (others.at[second].set(False), product)
    return jax.lax.while_loop(lambda s: s[0].any(), step, init)[1]
