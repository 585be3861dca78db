"""Maximization for one posterior draw at a time, as a baseline."""

from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable

import jax.numpy as jnp
import numpy as np
from jax import Array
from jaxtyping import Float, Int

from structbo.maximizers.maximizer import Function, Maximizer, evaluate, ranked
from structbo.maximizers.multi_start import MultiStart
from structbo.maximizers.search_state import Search
from structbo.models.foundation.accelerator import map_draws


@runtime_checkable
class HasDraws(Protocol):
    """A function that is a mean over draws."""

    def __call__(self, x: Float[Array, "m D"]) -> Float[Array, " m"]:
        """The mean over draws at points."""
        ...

    @property
    def num_draws(self) -> int:
        """The number of draws."""
        ...

    def of_draw(self, k: Int[Array, ""] | int) -> Function:
        """The function of one draw alone."""
        ...


@dataclass(frozen=True)
class DrawByDraw(Maximizer):
    """Maximizes the acquisition of every draw alone; the best average decides between the maxima.

    A function without draws is maximized as a whole.

    Args:
        maximizer: maximizes the acquisition of one draw.

    References:
        Gardner et al. 2017, eq. (11), which averages over models only to choose among the maxima of
        single models.
    """

    maximizer: Maximizer = field(default_factory=MultiStart)

    def starts(self, function: Function, search: Search) -> Float[Array, "K D"]:
        if not isinstance(function, HasDraws):
            return self.maximizer.starts(function, search)
        draws = jnp.arange(function.num_draws)
        starts: Float[Array, "S k D"] = map_draws(
            lambda k: self._starts_of(function.of_draw(k), search), draws
        )
        return starts.reshape(-1, starts.shape[2])

    def _starts_of(self, function: Function, search: Search) -> Float[Array, "k D"]:
        own = search._replace(candidates=ranked(function, search.candidates))
        return self.maximizer.starts(function, own)

    def prepare(self, function: Function, search: Search) -> None:
        if not isinstance(function, HasDraws):  # otherwise the first call compiles
            self.maximizer.prepare(function, search)

    def __call__(self, function: Function, search: Search) -> Float[np.ndarray, "K D"]:
        if not isinstance(function, HasDraws):
            return self.maximizer(function, search)
        starts = np.split(np.asarray(search.starts), function.num_draws)
        maxima = np.stack(
            [
                self.maximizer(function.of_draw(k), search._replace(starts=own))[0]
                for k, own in enumerate(starts)
            ]
        )
        candidates = np.concatenate([maxima, search.starts])
        values = np.asarray(evaluate(function, candidates))
        # Starts follow all maxima: they only replace a maximum that was evaluated before.
        order = np.lexsort([-values, np.arange(len(values)) >= len(maxima)])
        return candidates[order]
