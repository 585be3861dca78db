"""Posterior draws for a growing data set: one Markov chain, compiled once per padded size."""

from collections.abc import Callable
from functools import lru_cache, partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from numpyro import handlers
from numpyro.infer import Gibbs
from numpyro.infer.gibbs import GibbsState
from numpyro.infer.hmc import HMCState

from structbo.models.gp import ConditionedGP, MarginalGP
from structbo.samplers import default_sampler
from structbo.samplers.relocation import relocated

Draws = dict[str, Array]
"""Values of all latent sites, with the draws along the first axis."""

BUCKETS = (64, 128, 256, 384, 512, 768, 1024)
ADAPTATION_SWEEPS = 8
RUN_IN_PASSES = 3
MIN_SWEEPS_PER_DRAW, MAX_SWEEPS_PER_DRAW = 2, 6
SWEEPS_TIMES_DIMS = 60
"""Sweeps cost the more, the more dimensions: this many, divided by D, lie between two draws."""


def padded_size(n: int) -> int:
    """The next of a few sizes, so that few shapes are ever compiled.

    Example:
        >>> padded_size(100), padded_size(1025)
        (128, 1536)
    """
    return next((b for b in BUCKETS if b >= n), -(-n // 512) * 512)


def sweeps_per_draw(num_dims: int) -> int:
    """How many sweeps of a chain lie between two of its draws.

    Example:
        >>> sweeps_per_draw(2), sweeps_per_draw(50)
        (6, 2)
    """
    return min(max(SWEEPS_TIMES_DIMS // num_dims, MIN_SWEEPS_PER_DRAW), MAX_SWEEPS_PER_DRAW)


class Data(NamedTuple):
    """Observations, padded so that few shapes are ever compiled.

    Args:
        x: points of the unit cube, shape (n, D).
        y: standardized observations, to be maximized, shape (n,).
        mask: which rows are data, bool, shape (n,).
    """

    x: Array | np.ndarray
    y: Array | np.ndarray
    mask: Array | np.ndarray

    @classmethod
    def padded(cls, x: np.ndarray, y: np.ndarray) -> "Data":
        """Pads with rows of zeros up to the next of a few sizes."""
        n, num_dims = x.shape
        size = padded_size(n)
        rows = np.zeros((size, num_dims))
        rows[:n] = x
        values = np.zeros(size)
        values[:n] = y
        return cls(rows, values, np.arange(size) < n)


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


def condition(model: Callable[..., Any], draws: Draws, data: Data) -> ConditionedGP:
    """The Gaussian process posterior of every draw.

    Args:
        model: a NumPyro model with one `MarginalGP` as observed site.
        draws: values of its latent sites, the first axis being the draws.
        data: padded observations.

    Returns:
        A `ConditionedGP` whose arrays have the draws along the first axis.
    """
    y = jnp.asarray(data.y)
    return jax.lax.map(lambda draw: _likelihood(model, draw, data).condition(y), draws)


def log_likelihoods(model: Callable[..., Any], draws: Draws, data: Data) -> Array:
    """Log likelihood of every draw, shape (S,); arguments are those of `condition`."""
    return _compiled_likelihoods(model)(draws, data)


@lru_cache(maxsize=16)
def _compiled_likelihoods(model: Callable[..., Any]) -> Callable[[Draws, Data], Array]:
    @jax.jit
    def likelihoods(draws: Draws, data: Data) -> Array:
        y = jnp.asarray(data.y)
        return jax.lax.map(lambda draw: _likelihood(model, draw, data).log_prob(y), draws)

    return likelihoods


def _likelihood(model: Callable[..., Any], draw: Draws, data: Data) -> MarginalGP:
    run = handlers.trace(handlers.substitute(handlers.seed(model, 0), data=draw))
    args, kwargs = _arguments(data)
    for site in run.get_trace(*args, **kwargs).values():
        if site["type"] == "sample" and isinstance(site["fn"], MarginalGP):
            return site["fn"]
    raise ValueError("the model has no observed site with a MarginalGP distribution")
