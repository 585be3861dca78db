"""Sums over products of distinct values, which are elementary symmetric polynomials."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import Array
from jaxtyping import Float, Inexact


class OrderSums(NamedTuple):
    """Sums over products of distinct values.

    Args:
        one: the sum of the values.
        two: the sum of the products of two.
        more: the sum of the products of three and more.
    """

    one: Inexact[Array, "*shape"]
    two: Inexact[Array, "*shape"]
    more: Inexact[Array, "*shape"]

    def with_value(self, value: Inexact[Array, "*shape"]) -> "OrderSums":
        """The sums with one more value, without subtractions, which keeps small sums exact."""
        one, two, more = self
        return OrderSums(one + value, two + one * value, more + (more + two) * value)

    def by_value(self, value: Inexact[Array, "*shape"]) -> Inexact[Array, "*shape"]:
        """The derivative of ``more`` by one of the values.

        It is the sum of the products of two and more of the other values. These sums do not
        determine it for the value -1, for which the result is zero.
        """
        one, two, more = self
        ratio = jnp.where(value == -1.0, jnp.inf, 1.0 + value)
        return (two + more - value * (one - value)) / ratio


def elementary_sums(
    values: Inexact[Array, " P *shape"], scales: Float[Array, " P"] | None = None
) -> OrderSums:
    """Sums over all products of one, of two, and of three and more distinct values.

    Args:
        values: the values, along the first axis.
        scales: their scales; by default ones.

    Example:
        >>> [float(total) for total in elementary_sums(jnp.array([1.0, 2.0, 3.0, 4.0]))]
        [10.0, 35.0, 74.0]
    """
    scales = jnp.ones(len(values)) if scales is None else scales

    def add(sums: OrderSums, item: tuple[Array, Array]) -> tuple[OrderSums, None]:
        scale, value = item
        return sums.with_value(scale * value), None

    nothing = jnp.zeros_like(values[0])
    return jax.lax.scan(add, OrderSums(nothing, nothing, nothing), (scales, values))[0]
