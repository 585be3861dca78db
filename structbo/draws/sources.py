"""Sources of draws other than a Markov chain on the posterior.

A *source* takes the observations so far and gives values of a model's sites, one or more of them.
`Chain` draws from the posterior, which is the default. The classes below are what other methods do:
they keep the best draw only, or search for a good structure and maximize its hyper-parameters. They
do so again after a number of observations.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

import jax
import jax.numpy as jnp
import numpy as np
from jax.typing import ArrayLike

from structbo.data import Data
from structbo.draws.conditioning import log_likelihoods
from structbo.draws.model import Draws
from structbo.models.foundation.arrays import FloatArray
from structbo.models.foundation.precision import KeepsPrecision
from structbo.models.likelihood import Model


class DrawSource(Protocol):
    """Gives values of a model's sites for data that grow."""

    def advance(self, data: Data) -> Draws:
        """Values of all latent sites, the first axis being the draws."""
        ...


Inference = Callable[[Model, int], DrawSource]
"""From a model and a seed to a source of draws."""
Fitter = Callable[[Model, FloatArray, FloatArray, int], Sequence[Mapping[str, ArrayLike]]]
"""From a model, points (n, D), observations (n,) and a seed to values of all sites, one or more."""


class Fitted(KeepsPrecision):
    """Values that are found by a function of the data, rather than drawn.

    Args:
        model: a NumPyro model, ``model(X, y, mask=mask)``.
        seed: for the random choices of the function.
        fitter: the function.
    """

    def __init__(self, model: Model, seed: int, fitter: Fitter) -> None:
        self._model = model
        self._seed = seed
        self._fitter = fitter

    def advance(self, data: Data) -> Draws:
        rows = np.asarray(data.mask)
        x, y = np.asarray(data.x)[rows], np.asarray(data.y)[rows]
        found = self._fitter(self._model, x, y, step_seed(self._seed, len(y)))
        return {name: jnp.asarray(np.stack([one[name] for one in found])) for name in found[0]}


class BestDraw(KeepsPrecision):
    """The draw of another source that has the highest likelihood.

    Args:
        model: the NumPyro model of the source.
        source: where the draws come from.

    References:
        Rolland et al. 2018, section 4.
    """

    def __init__(self, model: Model, source: DrawSource) -> None:
        self._model = model
        self._source = source

    def advance(self, data: Data) -> Draws:
        draws = self._source.advance(data)
        best = jnp.argmax(log_likelihoods(self._model, draws, data))
        return jax.tree.map(lambda values: values[best][None], draws)


class Cycle(KeepsPrecision):
    """The draws of another source, renewed after a number of observations.

    Args:
        source: where the draws come from.
        length: how many new observations it takes to renew them.

    References:
        ``N_cyc`` of Rolland et al. 2018, section 4, and of Li et al. 2016, Algorithm 1.
    """

    def __init__(self, source: DrawSource, length: int) -> None:
        self._source = source
        self._length = length
        self._num_learned = -length
        self._draws: Draws = {}

    def advance(self, data: Data) -> Draws:
        num_observed = int(np.sum(data.mask))
        if num_observed - self._num_learned >= self._length:
            self._draws = self._source.advance(data)
            self._num_learned = num_observed
        return self._draws


def step_seed(seed: int, step: int, *, use: int = 0) -> int:
    """A seed for one step of a run that no other run shares, unlike ``seed + step``.

    Args:
        seed: that of the run, not negative.
        step: which step it is.
        use: another number for other random choices of the same step.

    Returns:
        A number of 31 bits.

    Example:
        >>> step_seed(0, 1) == step_seed(1, 0)
        False
    """
    return int(np.random.SeedSequence([seed, step, use]).generate_state(1)[0] >> 1)
