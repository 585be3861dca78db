"""Functions of points with variables that may not exist."""

from dataclasses import dataclass
from functools import partial

import jax
from jax import Array
from jax.tree_util import register_dataclass
from jaxtyping import Float

from structbo.maximizers.maximizer import Function
from structbo.space import Levels


@partial(register_dataclass, data_fields=["function", "levels"], meta_fields=[])
@dataclass(frozen=True)
class Imputed:
    """A function that ignores the coordinates of missing variables.

    Args:
        function: maps legal points to values.
        levels: the legal coordinates, with the conditions on which variables exist.
    """

    function: Function
    levels: Levels

    def __call__(self, x: Float[Array, "m D"]) -> Float[Array, " m"]:
        """The values at the imputed points."""
        return self.function(jax.vmap(self.levels.imputed)(x))
