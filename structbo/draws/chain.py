"""Posterior draws for a growing data set: a Markov chain, compiled once per padded size."""

from collections.abc import Generator
from functools import cache
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from numpyro.infer.mcmc import MCMCKernel

from structbo.data import Data, Warping
from structbo.draws.conditioning import likelihood_of
from structbo.draws.model import Draws
from structbo.draws.power import likeliest_power
from structbo.draws.saved_state import state_from_bytes, state_to_bytes
from structbo.models import Model
from structbo.models.foundation.accelerator import for_chains, has_accelerator
from structbo.models.foundation.compilation import remembered
from structbo.models.foundation.precision import KeepsPrecision
from structbo.models.foundation.program import Program
from structbo.samplers import BLOCKS, Sampler, default_sampler, kernel_of
from structbo.samplers.hamiltonian import NUM_HELD
from structbo.samplers.registry import Blocks
from structbo.samplers.relocation import relocated
from structbo.samplers.structure_block import ENDLESS

ADAPTATION_SWEEPS = 4
RUN_IN_SWEEPS = 50
WARPING_ROUNDS = 7
"""Of a few sweeps, in turns with the power of the values' transform, where that is to be found."""
RUN_IN_ROWS = 128
"""Of more than twice as many observations, a chain is run in on so many."""
MIN_SWEEPS_PER_DRAW, MAX_SWEEPS_PER_DRAW = 1, 2
SWEEPS_TIMES_DIMS = 30
"""Sweeps cost the more, the more dimensions: this many, divided by D, lie between two draws."""
MANY_ROWS = 512
"""Of more observations a sweep takes seconds, and each makes a draw."""


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

    On an accelerator many chains take the time of one. There each draw has a chain of its own,
    unless a spacing is given.

    Args:
        model: a NumPyro model, ``model(X, y, mask=mask)``.
        num_draws: posterior draws per call of `advance`.
        seed: for the chain.
        sampler: from the model to the kernel of the chain, which must implement NumPyro's
            ``refresh``, as `Gibbs`, `HMC`, `NUTS` and `ParallelTempering` do.
        spacing: how many sweeps lie between two draws, by default `sweeps_per_draw`.
    """

    def __init__(
        self,
        model: Model,
        num_draws: int,
        seed: int,
        sampler: Sampler = default_sampler,
        spacing: int | None = None,
    ) -> None:
        self._model = model
        self._num_draws = num_draws
        self._seed = seed
        self._sampler = sampler
        self._spacing = spacing
        self._is_vectorized = spacing is None and has_accelerator()
        self._state: Any = None
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
                self._sweep(self._warped(part)[0], MIN_SWEEPS_PER_DRAW, ADAPTATION_SWEEPS)
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
            self._sweep(part, self._run_in_spacing, ENDLESS - NUM_HELD)
        spacing = self._spacing or sweeps_per_draw(*np.shape(data.x)[::-1])
        return self._sweep(data, spacing, ADAPTATION_SWEEPS)

    def prepared(self, data: Data, *, warp: bool) -> Generator[None, None, Draws]:
        """Compiles what draws need, in the background: one program at every step.

        Args:
            data: as many padded observations as there will be, with any values.
            warp: whether values will be transformed.

        Returns:
            Of the iterator: zeros in the shapes of draws.
        """
        state = self._current(data)
        if state is None:
            part = self._part(data)
            state = self._compiled(data).initialize.prepare(self._key, part)
            yield
            yield from self._prepared_sweep(state, part, warp)
        return (yield from self._prepared_sweep(state, data, warp))

    def _prepared_sweep(self, state: Any, data: Data, warp: bool) -> Generator[None, None, Draws]:
        compiled = self._compiled(data)
        if warp:
            compiled.warp.prepare(state, data)
            yield
        _, draws = compiled.sweep.prepare(state, data, self._num_draws, 1, 0)
        yield
        return draws

    def _current(self, data: Data) -> Any:
        """The state, if need be from what was saved; None before the first draws."""
        if self._state is None and self._saved is not None:
            like = self._compiled(data).initialize.shapes(self._key, data)
            self._state = state_from_bytes(self._saved, like)
        return self._state

    def _run_in(self, data: Data) -> Data:
        """Starts the chain on a part of the observations, evenly spaced, which it returns.

        Sites that `Hamiltonian` holds at first are held. A sweep costs as much as the square of the
        number of observations, or more. The chain finds the rest of the structure in its first
        sweeps on all.
        """
        part = self._part(data)
        self._state = self._compiled(data).initialize(self._key, part)
        self._sweep(part, self._run_in_spacing, ENDLESS)
        return part

    def _part(self, data: Data) -> Data:
        return data.thinned(RUN_IN_ROWS) if np.sum(data.mask) > 2 * RUN_IN_ROWS else data

    @property
    def _run_in_spacing(self) -> int:
        return RUN_IN_SWEEPS if self._is_vectorized else -(-RUN_IN_SWEEPS // self._num_draws)

    def _sweep(self, data: Data, spacing: int, num_adapting: int) -> Draws:
        """Draws, so many sweeps apart, of which the first adapt the sampler."""
        sweep = self._compiled(data).sweep
        self._state, draws = sweep(self._state, data, self._num_draws, spacing, num_adapting)
        self._saved = None
        return draws

    def _warped(self, data: Data) -> tuple[Data, Warping]:
        found = self._compiled(data).warp(self._state, data)
        arrays: tuple[Data, Warping] = jax.tree.map(np.asarray, found)
        return arrays

    def _compiled(self, data: Data) -> "CompiledSampler":
        num_dims = data.x.shape[1]
        return compiled_sampler(self._model, num_dims, self._sampler, self._is_vectorized, BLOCKS)

    @property
    def _key(self) -> Array:
        key = jax.random.key(self._seed)
        return jax.random.split(key, self._num_draws) if self._is_vectorized else key


class CompiledSampler(NamedTuple):
    """The compiled parts of a model's chain, whose state is that of its kernel, or of many chains.

    Args:
        initialize: from a key and data to a state; from many keys to those of many chains.
        sweep: from a state, data, a number of draws, the sweeps between two of them, and how many
            of them adapt the sampler, to the next state and the draws, of many chains one each.
        warp: from a state and data to the data after the transform of their values, and this.
    """

    initialize: Program[[Array, Data], Any]
    sweep: Program[[Any, Data, int, int, int], tuple[Any, Draws]]
    warp: Program[[Any, Data], tuple[Data, Warping]]


@remembered
def compiled_sampler(
    model: Model, num_dims: int, sampler: Sampler, is_vectorized: bool, blocks: Blocks
) -> CompiledSampler:
    """The compiled chain of a model, or many chains; equal ones share their programs.

    Samplers compose the registered blocks, so the registry is among the arguments.
    """
    kernel = kernel_of(sampler, model, num_dims)

    def initialize(key: Array, data: Data) -> Any:
        args, kwargs = data.arguments
        return kernel.init(key, ENDLESS, None, args, kwargs)

    @cache
    def set_up() -> None:
        """Kernels are set up by `init`, which a state from elsewhere has not been through here."""
        data = Data(np.full((2, num_dims), 0.5), np.zeros(2), np.ones(2, bool))
        jax.eval_shape(initialize, jax.random.key(0), data)

    def sweep(
        state: Any, data: Data, num_draws: int, spacing: int, num_adapting: int
    ) -> tuple[Any, Draws]:
        args, kwargs = data.arguments
        set_up()

        def draw(state: Any, _: None) -> tuple[Any, Draws]:
            state = jax.lax.fori_loop(
                0, spacing, lambda _, s: kernel.sample(s, args, kwargs), state
            )
            return state, kernel.get_constrain_fn(args, kwargs)(_values(kernel, state))

        start = _refreshed(kernel, state, args, kwargs, ENDLESS - jnp.asarray(num_adapting))
        return jax.lax.scan(draw, start, length=num_draws)

    def warp(state: Any, data: Data) -> tuple[Data, Warping]:
        args, kwargs = data.arguments
        set_up()
        draw = kernel.get_constrain_fn(args, kwargs)(_values(kernel, state))
        warping = Warping.of(data, likeliest_power(likelihood_of(model, draw, data), data))
        return warping.data(data), warping

    def sweep_one(
        state: Any, data: Data, num_draws: int, spacing: int, num_adapting: int
    ) -> tuple[Any, Draws]:
        state, draws = sweep(state, data, 1, spacing, num_adapting)
        return state, jax.tree.map(lambda values: values[0], draws)

    def warp_first(states: Any, data: Data) -> tuple[Data, Warping]:
        return warp(jax.tree.map(lambda leaf: leaf[0], states), data)

    def program(one: Any, of_many: Any, static: tuple[int, ...] = ()) -> Program[..., Any]:
        made_of = model, num_dims, sampler, is_vectorized, dict(blocks)
        return Program(of_many if is_vectorized else one, static=static, made_of=made_of)

    return CompiledSampler(
        program(initialize, for_chains(initialize)),
        program(sweep, for_chains(sweep_one), static=(2,)),
        program(warp, warp_first),
    )


def _values(kernel: MCMCKernel, state: Any) -> dict[str, Array]:
    values: dict[str, Array] = getattr(state, kernel.sample_field)
    return values


def _refreshed(
    kernel: MCMCKernel, state: Any, args: tuple[Any, ...], kwargs: dict[str, Any], step: Array
) -> Any:
    """The state with everything that depends on the data recomputed, at a step of its warm-up."""
    state = relocated(kernel, state, _values(kernel, state), args, kwargs)
    return jax.tree.map(
        lambda part: part._replace(i=step.astype(part.i.dtype)) if _adapts(part) else part,
        state,
        is_leaf=_adapts,
    )


def _adapts(part: Any) -> bool:
    """Whether it is the state of a kernel that adapts over a counted number of steps."""
    return isinstance(part, tuple) and hasattr(part, "adapt_state") and hasattr(part, "i")
