"""Posterior draws for a growing data set, by a Markov chain that compiles once per padded size."""

from collections.abc import Generator
from typing import Self

import jax
import numpy as np
from jax import Array
from jaxtyping import Key

from structbo.data import Data, Warping
from structbo.draws.conditioning import likelihood_of
from structbo.draws.driver import Driver
from structbo.draws.model import Draw, Draws
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
"""Initial rounds that alternate sweeps and warping."""
RUN_IN_ROWS = 128
"""Number of observations for the run-in, if there are more than twice as many."""
MIN_SWEEPS_PER_DRAW, MAX_SWEEPS_PER_DRAW = 1, 2
SWEEPS_TIMES_DIMS = 30
"""Number of sweeps per draw times the number of dimensions, before the limits."""
MANY_ROWS = 512
"""Number of observations above which every sweep gives a draw, since a sweep takes seconds."""


def sweeps_per_draw(num_dims: int, num_rows: int = 1) -> int:
    """Number of sweeps of a chain per draw.

    Args:
        num_dims: the number of dimensions D.
        num_rows: number of observations, including padding.

    Example:
        >>> sweeps_per_draw(2), sweeps_per_draw(50), sweeps_per_draw(2, 1024)
        (2, 1, 1)
    """
    if num_rows > MANY_ROWS:
        return MIN_SWEEPS_PER_DRAW
    return min(max(SWEEPS_TIMES_DIMS // num_dims, MIN_SWEEPS_PER_DRAW), MAX_SWEEPS_PER_DRAW)


class Chain(KeepsPrecision):
    """A Markov chain over a model's sites that continues when observations are added.

    Every call makes new draws. Reusing draws across observations is cheap and nearly exact, but
    gives worse proposals, since consecutive proposals rest on the same few draws.

    On an accelerator, many chains take the time of one, so each draw has a separate chain unless a
    spacing is given.

    Args:
        model: a NumPyro model, ``model(X, y, mask=mask)``.
        num_draws: number of posterior draws per call of `advance`.
        seed: seed of the chain.
        sampler: function from the model to the kernel of the chain. NumPyro kernels must implement
            ``refresh``, like `Gibbs`, `HMC` and `NUTS`.
        spacing: number of sweeps per draw; by default `sweeps_per_draw`.
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

    def __copy__(self) -> Self:
        """A chain that continues by itself, also of a model that cannot be pickled."""
        copied = object.__new__(type(self))
        vars(copied).update(vars(self))  # attributes are replaced, never changed in place
        return copied

    def saved(self) -> bytes | None:
        """The state, for `restore` in another process; None before the first draws."""
        if self._saved is None and self._state is not None:
            self._saved = state_to_bytes(self._state)
        return self._saved

    def restore(self, saved: bytes | None) -> None:
        """Continues from a saved state; restarts from None, or from another model's state."""
        if saved != self.saved():
            self._state, self._saved = None, saved

    def warped(self, data: Data) -> tuple[Data, Warping]:
        """The data after the most probable warping of values given the chain's last draw.

        Before the first draws, the chain is run in and alternates with the warping.

        Args:
            data: padded observations before warping.
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
            Values of all latent sites, with the draws along the first axis.
        """
        if self._current(data) is None:
            part = self._run_in(data)
            self._sweep(part, self._run_in_spacing, Stage.of(RUN_IN_SWEEPS, 0))
        spacing = self._spacing or sweeps_per_draw(*np.shape(data.x)[::-1])
        return self._sweep(data, spacing, Stage.of(ADAPTATION_SWEEPS, 0))

    def prepared(self, data: Data, *, warp: bool) -> Generator[None, None, Draws]:
        """Compiles the programs for draws in the background, one per step of the iterator.

        Args:
            data: arbitrary observations with the padded size of future data.
            warp: whether values will be warped.

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
        """The present state, restored if necessary; None before the first draws."""
        if self._state is None and self._saved is not None:
            like = self._driver(data).start.shapes(self._key, _arguments(data))
            self._state = state_from_bytes(self._saved, like)
        return self._state

    def _run_in(self, data: Data) -> Data:
        """Starts the chain on an evenly spaced part of the observations, and returns this part.

        Held sites are fixed. The cost of a sweep is at least quadratic in the number of
        observations. The first sweeps on all observations find the rest of the structure.
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
        """Draws ``spacing`` sweeps apart, in a stage of the warm-up."""
        assert self._state is not None
        run = self._driver(data).run
        state = self._state._replace(stage=jax.tree.map(np.full_like, self._state.stage, stage))
        self._state, draws, _ = run(state, _arguments(data), self._draws_per_chain, spacing)
        self._saved = None
        return self._latent(self._state, draws)

    def _latent(self, state: ChainState, draws: Draws) -> Draws:
        """Values of the latent sites, with the draws along the first axis."""
        values = {name: draws[name] for name in state.z}
        return {n: v[:, 0] for n, v in values.items()} if self._is_vectorized else values

    def _first(self, state: ChainState) -> Draw:
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
    def _key(self) -> Key[Array, "*chains"]:
        key = jax.random.key(self._seed)
        return jax.random.split(key, self._num_draws) if self._is_vectorized else key


@compiled("model")
def _warp(model: Model, draw: Draw, data: Data) -> tuple[Data, Warping]:
    """The data after the most probable warping of values given a draw, and the warping."""
    warping = Warping.of(data, likeliest_power(likelihood_of(model, draw, data), data))
    return warping.data(data), warping


def _arguments(data: Data) -> Arguments:
    return Arguments(*data.arguments)
