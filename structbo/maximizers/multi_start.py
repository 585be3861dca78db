"""The default maximizer: many starts, moved along coordinates and then by gradient."""

from dataclasses import dataclass

import jax.numpy as jnp
import numpy as np
from jax import Array
from jaxtyping import Float

from structbo.maximizers.additive_maximum import MessagePassing
from structbo.maximizers.ascent import CoordinateAscent, GradientAscent
from structbo.maximizers.maximizer import Function, Maximizer, is_additive
from structbo.maximizers.search_state import Search


@dataclass(frozen=True)
class MultiStart(Maximizer):
    """The best candidates, a few of them moved along coordinates, then all moved by gradient.

    The maxima that message passing finds for an additive acquisition are among the candidates.
    An additive acquisition is maximized by message passing alone.

    Args:
        num_coordinate: number of candidates to move along coordinates.
        num_gradient: number of further candidates for the gradient ascent.
    """

    num_coordinate: int = 3
    num_gradient: int = 8

    def starts(self, function: Function, search: Search) -> Float[Array, "K D"]:
        if is_additive(function):
            return MessagePassing().starts(function, search)
        best = search.candidates[: self.num_gradient]
        moved = CoordinateAscent().moved(function, best[: self.num_coordinate], search)
        return jnp.concatenate([moved, best])

    def prepare(self, function: Function, search: Search) -> None:
        _last_step(function).prepare(function, search)

    def __call__(self, function: Function, search: Search) -> Float[np.ndarray, "K D"]:
        return _last_step(function)(function, search)


def _last_step(function: Function) -> Maximizer:
    return MessagePassing() if is_additive(function) else GradientAscent()
