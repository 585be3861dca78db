"""Sources of draws other than a Markov chain on the posterior.

A *source* maps the observations so far to one or more draws of a model's sites. The default,
`Chain`, samples the posterior. The sources below implement other methods, which keep the best draw,
maximize the hyper-parameters of a structure, or renew draws only after some observations.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

import jax
import jax.numpy as jnp
import numpy as np
from jax.typing import ArrayLike
from jaxtyping import Float

from structbo.data import Data
from structbo.draws.conditioning import log_likelihoods
from structbo.draws.model import Draws
from structbo.models.foundation.precision import KeepsPrecision
from structbo.models.likelihood import Model


class DrawSource(Protocol):
    """A source of draws of a model's sites for growing data."""

    def advance(self, data: Data) -> Draws:
        """Values of all latent sites, with the draws along the first axis."""
        ...


Inference = Callable[[Model, int], DrawSource]
"""A function from a model and a seed to a source of draws."""
Fitter = Callable[
    [Model, Float[np.ndarray, "n D"], Float[np.ndarray, " n"], int],
    Sequence[Mapping[str, ArrayLike]],
]
"""A function from a model, points, observations and a seed to a sequence of draws."""


class Fitted(KeepsPrecision):
    """Values of a model's sites from a function of the data, such as an optimizer.

    Args:
        model: a NumPyro model, ``model(X, y, mask=mask)``.
        seed: seed of the random choices of the function.
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
    """The draw of another source with the highest likelihood.

    Args:
        model: the NumPyro model of the source.
        source: the source of the draws.

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
    """The draws of another source, renewed after a number of new observations.

    Args:
        source: the source of the draws.
        length: number of new observations between renewals.

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
        seed: seed of the run, not negative.
        step: number of the step.
        use: number that distinguishes random choices of the same step.

    Returns:
        A seed of 31 bits.

    Example:
        >>> step_seed(0, 1) == step_seed(1, 0)
        False
    """
    return int(np.random.SeedSequence([seed, step, use]).generate_state(1)[0] >> 1)
