"""Fixed structures: main effects only, and full dependence."""

from dataclasses import dataclass

import jax.numpy as jnp

from structbo.models.decomposition import Decomposition
from structbo.models.foundation.values import Value


@dataclass(frozen=True, eq=False, repr=False)
class main_effects(Value):
    """The structure with one component per dimension and no interactions, and without sites.

    Example:
        >>> main_effects()(2).members.astype(int).tolist()
        [[1, 0], [0, 1]]
    """

    def __call__(self, num_dims: int) -> Decomposition:
        return Decomposition.of(jnp.eye(num_dims, dtype=bool))


@dataclass(frozen=True, eq=False, repr=False)
class fully_dependent(Value):
    """The structure with one component over all dimensions, without sites.

    Example:
        >>> fully_dependent()(2).members.astype(int).tolist()
        [[1, 1]]
    """

    def __call__(self, num_dims: int) -> Decomposition:
        return Decomposition.of(jnp.ones((1, num_dims), bool))
