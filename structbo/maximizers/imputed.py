"""A function of points some of whose variables may not exist."""

from dataclasses import dataclass
from functools import partial

import jax
from jax import Array
from jax.tree_util import register_dataclass

from structbo.maximizers.maximizer import Function
from structbo.space import Levels


@partial(register_dataclass, data_fields=["function", "levels"], meta_fields=[])
@dataclass(frozen=True)
class Imputed:
    """A function that ignores the coordinates of variables that a point does not have.

    Args:
        function: maps legal points (m, D) to values (m,).
        levels: says which variables exist at a point.
    """

    function: Function
    levels: Levels

    def __call__(self, x: Array) -> Array:
        """The values at the legal points that points (m, D) stand for, shape (m,)."""
        return self.function(jax.vmap(self.levels.imputed)(x))
