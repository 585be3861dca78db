"""Supports of structures, by the class of which samplers find the sites that they can move."""

import jax.numpy as jnp
from jax import Array
from jax.typing import ArrayLike
from numpyro.distributions import constraints


class StructureSupport(constraints.Constraint):
    """A finite set of arrays of integers."""

    is_discrete = True

    def feasible_like(self, prototype: ArrayLike) -> Array:
        """Zeros, which are in the set or else overridden."""
        return jnp.zeros_like(jnp.asarray(prototype))

    def tree_flatten(self) -> tuple[tuple[()], tuple[tuple[()], dict[str, object]]]:
        return (), ((), {})
