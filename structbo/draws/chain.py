"""Posterior draws for a growing data set: a Markov chain, compiled once per padded size."""

from collections.abc import Generator

import jax
import numpy as np
from jax import Array

from structbo.data import Data, Warping
from structbo.draws.conditioning import likelihood_of
from structbo.draws.driver import Driver
from structbo.draws.model import Draws
from structbo.draws.power import likeliest_power
from structbo.draws.saved_state import state_from_bytes, state_to_bytes
from structbo.models import Model
from structbo.models.foundation.accelerator import has_accelerator
from structbo.models.foundation.compilation import compiled
from structbo.models.foundation.precision import KeepsPrecision
from structbo.samplers import Arguments, ChainState, SamplerFactory, Stage, search_sampler

ADAPTATION_SWEEPS = 4
RUN_IN_SWEEPS = 50
WARPING_ROUNDS = 7
"""Rounds of a few sweeps, in turns with the power of the transform of values, if there is one."""
RUN_IN_ROWS = 128
"""Observations on which a chain is run in, if there are more than twice this number."""
MIN_SWEEPS_PER_DRAW, MAX_SWEEPS_PER_DRAW = 1, 2
SWEEPS_TIMES_DIMS = 30
"""Sweeps in more dimensions cost more: this number, divided by D, lies between two draws."""
MANY_ROWS = 512
"""With more observations a sweep takes seconds, and each sweep makes a draw."""


def sweeps_per_draw(num_dims: int, num_rows: int = 1) -> int:
    """How many sweeps of a chain lie between two of its draws.

    Args:
        num_dims: the number of dimensions D.
        num_rows: how many observations there are, padding counted.

    Example:
        >>> sweeps_per_draw(2), sweeps_per_draw(50), sweeps_per_draw(2, 1024)
        (2, 1, 1)
    """
    if num_rows > MANY_ROWS:
        return MIN_SWEEPS_PER_DRAW
    return min(max(SWEEPS_TIMES_DIMS // num_dims, MIN_SWEEPS_PER_DRAW), MAX_SWEEPS_PER_DRAW)


class Chain(KeepsPrecision):
    """A Markov chain over a model's sites that continues when observations are added.

    All draws are new at every call. Draws that are kept while there are more observations are cheap
    and nearly from the posterior, but the points that are proposed by them are worse: one proposal
    after the other rests on the same few guesses.

    On an accelerator many chains take the time of one. There each draw has a separate chain,
    unless a spacing is given.

    Args:
        model: a NumPyro model, ``model(X, y, mask=mask)``.
        num_draws: posterior draws per call of `advance`.
        seed: for the chain.
        sampler: from the model to the kernel of the chain. One of NumPyro must implement
            ``refresh``, as `Gibbs`, `HMC` and `NUTS` do.
        spacing: how many sweeps lie between two draws, by default `sweeps_per_draw`.
    """

    def __init__(
        self,
        model: Model,
        num_draws: int,
        seed: int,
        sampler: SamplerFactory = search_sampler,
        spacing: int | None = None,
    ) -> None:
        self._model = model
        self._num_draws = num_draws
        self._seed = seed
        self._sampler = sampler
        self._spacing = spacing
        self._is_vectorized = spacing is None and has_accelerator()
        self._state: ChainState | None = None
        self._saved: bytes | None = None

    def saved(self) -> bytes | None:
        """The state, for `restore` in another process; None before the first draws."""
        if self._saved is None and self._state is not None:
            self._saved = state_to_bytes(self._state)
        return self._saved

    def restore(self, saved: bytes | None) -> None:
        """Goes on from a state that was saved; afresh from None, or from another model's state."""
        if saved != self.saved():
            self._state, self._saved = None, saved

    def warped(self, data: Data) -> tuple[Data, Warping]:
        """The data after the transform of values that is likeliest given the chain's last draw.

        Before the first draws, the chain is run in, and is moved in turns with the transform.

        Args:
            data: padded observations, before the transform.
        """
        if self._current(data) is None:
            part = self._run_in(data)
            for _ in range(WARPING_ROUNDS):
                stage = Stage.of(ADAPTATION_SWEEPS, 0)
                self._sweep(self._warped(part)[0], MIN_SWEEPS_PER_DRAW, stage)
        return self._warped(data)

    def advance(self, data: Data) -> Draws:
        """Continues the chain on the given data; the first call also runs it in.

        Args:
            data: padded observations.

        Returns:
            Values of all latent sites, the first axis being the draws.
        """
        if self._current(data) is None:
            part = self._run_in(data)
            self._sweep(part, self._run_in_spacing, Stage.of(RUN_IN_SWEEPS, 0))
        spacing = self._spacing or sweeps_per_draw(*np.shape(data.x)[::-1])
        return self._sweep(data, spacing, Stage.of(ADAPTATION_SWEEPS, 0))

    def prepared(self, data: Data, *, warp: bool) -> Generator[None, None, Draws]:
        """Compiles what draws need, in the background: one program at every step.

        Args:
            data: as many padded observations as there will be, with any values.
            warp: whether values will be transformed.

        Returns:
            Zeros in the shapes of draws, when the iterator ends.
        """
        state = self._current(data)
        if state is None:
            part = self._part(data)
            state = self._driver(data).start.prepare(self._key, _arguments(part))
            yield
            yield from self._prepared_sweep(state, part, warp)
        return (yield from self._prepared_sweep(state, data, warp))

    def _prepared_sweep(
        self, state: ChainState, data: Data, warp: bool
    ) -> Generator[None, None, Draws]:
        if warp:
            _warp.prepare(self._model, self._first(state), data)
            yield
        run = self._driver(data).run
        state, draws, _ = run.prepare(state, _arguments(data), self._draws_per_chain, 1)
        yield
        return self._latent(state, draws)

    def _current(self, data: Data) -> ChainState | None:
        """The state, if need be from what was saved; None before the first draws."""
        if self._state is None and self._saved is not None:
            like = self._driver(data).start.shapes(self._key, _arguments(data))
            self._state = state_from_bytes(self._saved, like)
        return self._state

    def _run_in(self, data: Data) -> Data:
        """Starts the chain on a part of the observations, evenly spaced, which it returns.

        Marked sites are held. A sweep costs as much as the square of the number of observations, or
        more. The chain finds the rest of the structure in its first sweeps on all.
        """
        part = self._part(data)
        self._state = self._driver(data).start(self._key, _arguments(part))
        num_sweeps = self._run_in_spacing * self._draws_per_chain
        self._sweep(part, self._run_in_spacing, Stage.of(num_sweeps, num_sweeps))
        return part

    def _part(self, data: Data) -> Data:
        return data.thinned(RUN_IN_ROWS) if np.sum(data.mask) > 2 * RUN_IN_ROWS else data

    @property
    def _run_in_spacing(self) -> int:
        return -(-RUN_IN_SWEEPS // self._draws_per_chain)

    @property
    def _draws_per_chain(self) -> int:
        return 1 if self._is_vectorized else self._num_draws

    def _sweep(self, data: Data, spacing: int, stage: Stage) -> Draws:
        """Draws, some sweeps apart, in a stage of the warm-up."""
        assert self._state is not None
        run = self._driver(data).run
        state = self._state._replace(stage=jax.tree.map(np.full_like, self._state.stage, stage))
        self._state, draws, _ = run(state, _arguments(data), self._draws_per_chain, spacing)
        self._saved = None
        return self._latent(self._state, draws)

    def _latent(self, state: ChainState, draws: Draws) -> Draws:
        """Values of the latent sites; the draws are along the first axis."""
        values = {name: draws[name] for name in state.z}
        return {n: v[:, 0] for n, v in values.items()} if self._is_vectorized else values

    def _first(self, state: ChainState) -> Draws:
        """The values of the first chain."""
        return jax.tree.map(lambda leaf: leaf[0], state.z) if self._is_vectorized else state.z

    def _warped(self, data: Data) -> tuple[Data, Warping]:
        assert self._state is not None
        found = _warp(self._model, self._first(self._state), data)
        arrays: tuple[Data, Warping] = jax.tree.map(np.asarray, found)
        return arrays

    def _driver(self, data: Data) -> Driver:
        return Driver.of(
            self._model,
            self._sampler,
            data.x.shape[1],
            num_warmup=None,
            is_vectorized=self._is_vectorized,
        )

    @property
    def _key(self) -> Array:
        key = jax.random.key(self._seed)
        return jax.random.split(key, self._num_draws) if self._is_vectorized else key


@compiled("model")
def _warp(model: Model, draw: Draws, data: Data) -> tuple[Data, Warping]:
    """The data after the transform of values that is likeliest given a draw, and the transform."""
    warping = Warping.of(data, likeliest_power(likelihood_of(model, draw, data), data))
    return warping.data(data), warping


def _arguments(data: Data) -> Arguments:
    return Arguments(*data.arguments)
