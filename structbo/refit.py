"""Models that are fitted anew every so often, for methods that do not draw from a posterior."""

from collections.abc import Callable, Mapping, Sequence

import jax
import jax.numpy as jnp
import numpy as np
from jax.typing import ArrayLike

from structbo.inference import Data, Draws
from structbo.posterior import FloatArray, Model

Search = Callable[[Model, FloatArray, FloatArray, int], Sequence[Mapping[str, ArrayLike]]]
"""From a model, points (n, D), observations (n,) and a seed to values of all sites, one or more."""


class Refit:
    """Takes the results of a search for draws, and searches again after some more observations.

    Args:
        model: a NumPyro model, ``model(X, y, mask=mask)``.
        seed: of the searches.
        search: what is repeated.
        every: how many new observations it takes to repeat it.

    References:
        The cycles N_cyc of Rolland et al. 2018, section 4, and Li et al. 2016, Algorithm 1.
    """

    def __init__(self, model: Model, seed: int, *, search: Search, every: int = 1) -> None:
        self._model = model
        self._seed = seed
        self._search = search
        self._every = every
        self._num_seen = -every
        self._draws: Draws = {}

    def advance(self, data: Data) -> Draws:
        """Values of all latent sites, the first axis being the models that were found.

        Args:
            data: padded observations.
        """
        rows = np.asarray(data.mask)
        num_observed = int(rows.sum())
        if num_observed - self._num_seen >= self._every:
            x, y = np.asarray(data.x)[rows], np.asarray(data.y)[rows]
            found = self._search(self._model, x, y, self._seed + num_observed)
            self._draws = jax.tree.map(lambda *values: jnp.stack(values), *map(_arrays, found))
            self._num_seen = num_observed
        return self._draws


def _arrays(values: Mapping[str, ArrayLike]) -> Draws:
    return {name: jnp.asarray(value) for name, value in values.items()}
