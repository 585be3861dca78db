"""Posterior draws for a growing data set: one Markov chain, compiled once per padded size."""

from collections.abc import Callable
from functools import lru_cache, partial
from typing import Any

import jax
import jax.numpy as jnp
from jax import Array
from numpyro.infer import Gibbs
from numpyro.infer.gibbs import GibbsState
from numpyro.infer.hmc import HMCState

from structbo.data import Data
from structbo.draws.model import Draws
from structbo.samplers import default_sampler
from structbo.samplers.relocation import relocated

ADAPTATION_SWEEPS = 8
RUN_IN_PASSES = 3
MIN_SWEEPS_PER_DRAW, MAX_SWEEPS_PER_DRAW = 2, 6
SWEEPS_TIMES_DIMS = 60
"""Sweeps cost the more, the more dimensions: this many, divided by D, lie between two draws."""


def sweeps_per_draw(num_dims: int) -> int:
    """How many sweeps of a chain lie between two of its draws.

    Example:
        >>> sweeps_per_draw(2), sweeps_per_draw(50)
        (6, 2)
    """
    return min(max(SWEEPS_TIMES_DIMS // num_dims, MIN_SWEEPS_PER_DRAW), MAX_SWEEPS_PER_DRAW)


class Chain:
    """A Markov chain over a model's sites that goes on when observations are added.

    Args:
        model: a NumPyro model, ``model(X, y, mask=mask)``.
        num_draws: posterior draws per call of `advance`.
        seed: of the chain.
    """

    def __init__(self, model: Callable[..., Any], num_draws: int, seed: int) -> None:
        self._model = model
        self._num_draws = num_draws
        self._seed = seed
        self._state: GibbsState | None = None

    def advance(self, data: Data) -> Draws:
        """Continues the chain on the given data; the first call also runs it in.

        Args:
            data: padded observations.

        Returns:
            Values of all latent sites, the first axis being the draws.
        """
        initialize, sweep = compiled_sampler(self._model, data.x.shape[1])
        if self._state is None:
            self._state = initialize(jax.random.key(self._seed), data)
            for _ in range(RUN_IN_PASSES):
                self._state, _ = sweep(self._state, data, self._num_draws)
        self._state, draws = sweep(self._state, data, self._num_draws)
        return draws


@lru_cache(maxsize=16)
def compiled_sampler(
    model: Callable[..., Any], num_dims: int
) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """The compiled start and continuation of a model's default sampler."""
    kernel = default_sampler(model, num_dims=num_dims)

    @jax.jit
    def initialize(key: Array, data: Data) -> GibbsState:
        args, kwargs = _arguments(data)
        return _strongly_typed(kernel.init(key, ADAPTATION_SWEEPS, None, args, kwargs))

    @partial(jax.jit, static_argnums=2)
    def sweep(state: GibbsState, data: Data, num_draws: int) -> tuple[GibbsState, Draws]:
        args, kwargs = _arguments(data)
        spacing = sweeps_per_draw(data.x.shape[1])
        thinning = jnp.full(num_draws, spacing).at[0].add(ADAPTATION_SWEEPS)

        def draw(state: GibbsState, num_sweeps: Array) -> tuple[GibbsState, Draws]:
            state = jax.lax.fori_loop(
                0, num_sweeps, lambda _, s: kernel.sample(s, args, kwargs), state
            )
            return state, kernel.get_constrain_fn(args, kwargs)(state.z)

        state, draws = jax.lax.scan(draw, _refreshed(kernel, state, args, kwargs), thinning)
        return _strongly_typed(state), draws

    return initialize, sweep


def _arguments(data: Data) -> tuple[tuple[Any, ...], dict[str, Any]]:
    return (data.x, data.y), {"mask": data.mask}


def _strongly_typed(state: GibbsState) -> GibbsState:
    """The state in the types that it keeps, so that its first and later sweeps compile once."""

    def strong(leaf: Array) -> Array:
        is_key = jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key)
        return leaf if is_key else jax.lax.convert_element_type(leaf, leaf.dtype)

    return jax.tree.map(strong, state)


def _refreshed(
    kernel: Gibbs, state: GibbsState, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> GibbsState:
    """The state with everything that depends on the data recomputed, and adaptation switched on."""
    state = relocated(kernel, state, state.z, args, kwargs)
    blocks = [
        block._replace(i=jnp.zeros_like(block.i)) if isinstance(block, HMCState) else block
        for block in state.block_states
    ]
    return state._replace(block_states=tuple(blocks))
