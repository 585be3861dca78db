"""Several Markov chains with warm-up, for inference: compiled once per model value and shape.

Processors run as many of them at once as there are cores, and accelerators all, as one batch.
"""

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from numpy.typing import NDArray
from numpyro.infer.mcmc import MCMCKernel
from tqdm.auto import tqdm

from structbo.models import Model
from structbo.models.foundation.accelerator import for_chains, has_accelerator
from structbo.models.foundation.compilation import remembered
from structbo.models.foundation.precision import double_precision
from structbo.models.foundation.program import Program
from structbo.samplers import BLOCKS, Sampler, kernel_of
from structbo.samplers.registry import Blocks
from structbo.samplers.statistics import statistics_of

NUM_REPORTS = 10
"""In how many parts warm-up and draws of a chain are run, with progress between them."""

SHORT = 2.0
"""Runs of fewer seconds show no progress."""

Chains = dict[str, NDArray[Any]]
"""Values of each site, shape (chains, draws, ...)."""


def run_chains(
    model: Model,
    sampler: MCMCKernel | Sampler,
    x: NDArray[np.float64],
    y: NDArray[np.float64],
    key: Array,
    *,
    options: dict[str, Any],
    num_warmup: int,
    num_samples: int,
    num_chains: int,
    show_progress_bar: bool,
) -> tuple[Chains, Chains]:
    """Draws of a model's sites by chains that start anew.

    Args:
        model: a NumPyro model, ``model(X, y, **options)``.
        sampler: a NumPyro kernel, or a function from the model to one.
        x: points of the unit cube, shape (n, D).
        y: observations, shape (n,).
        key: a JAX random key.
        options: keyword arguments of the model.
        num_warmup: steps of each chain that adapt the sampler and are thrown away.
        num_samples: draws of each chain.
        num_chains: how many chains to run.
        show_progress_bar: whether to show progress.

    Returns:
        Values of all sites, and the statistics that the kernel names.
    """
    is_vectorized = has_accelerator()
    chain = _compiled_chain(model, sampler, x.shape[1], num_warmup, is_vectorized, BLOCKS)
    chunk = _chunk(num_samples)
    args = jnp.asarray(x), jnp.asarray(y), options
    keys = jax.random.split(key, num_chains)
    starts = [keys] if is_vectorized else list(keys)
    start = chain.start.prepare(starts[0], *args)
    chain.advance.prepare(start, *args, 1)
    chain.collect.prepare(start, *args, chunk)
    total = num_chains * (num_warmup + num_samples)
    is_hidden = not show_progress_bar
    with (
        ThreadPoolExecutor(min(num_chains, os.cpu_count() or 1)) as pool,
        tqdm(total=total, desc="fit", disable=is_hidden, delay=SHORT) as progress,
    ):

        def run(program: Program[..., Any], states: list[Any], num_steps: int) -> list[Any]:
            """A program's results for the states of all chains, or of their batch."""
            results = list(pool.map(lambda s: _result(program, s, *args, num_steps), states))
            progress.update(num_steps * num_chains)
            return results

        states = [chain.start(key_or_keys, *args) for key_or_keys in starts]
        for num_steps in _parts(num_warmup):
            states = run(chain.advance, states, num_steps)
        parts = []
        for _ in range(num_samples // chunk):
            results = run(chain.collect, states, chunk)
            states = [state for state, _ in results]
            draws = [draws for _, draws in results]
            stacked = (
                draws[0] if is_vectorized else jax.tree.map(lambda *each: np.stack(each), *draws)
            )
            parts.append(stacked)
    values, fields = jax.tree.map(lambda *leaves: np.concatenate(leaves, axis=1), *parts)
    return values, dict(zip(chain.statistics, fields, strict=True))


def _result(program: Program[..., Any], *args: Any) -> Any:
    """The result of a program, when it is there; in any thread."""
    with double_precision():
        return jax.block_until_ready(program(*args))


class _CompiledChain(NamedTuple):
    """The programs of one chain, or of a batch, whose keys, states and draws are stacked.

    Args:
        statistics: names of what is kept of every step.
        start: from a key and data to a state.
        advance: a state after a number of steps.
        collect: the state after a number of steps, and the values and statistics of each.
    """

    statistics: tuple[str, ...]
    start: Program[..., Any]
    advance: Program[..., Any]
    collect: Program[..., Any]


@remembered
def _compiled_chain(
    model: Model,
    sampler: MCMCKernel | Sampler,
    num_dims: int,
    num_warmup: int,
    is_vectorized: bool,
    blocks: Blocks,
) -> _CompiledChain:
    is_kernel = isinstance(sampler, MCMCKernel)
    kernel: Any = sampler if is_kernel else kernel_of(sampler, model, num_dims)
    statistics = statistics_of(kernel)

    def start(key: Array, x: Array, y: Array, options: Any) -> Any:
        return kernel.init(key, num_warmup, None, (x, y), options)

    def advance(state: Any, x: Array, y: Array, options: Any, num_steps: Array) -> Any:
        def step(_: Array, state: Any) -> Any:
            return kernel.sample(state, (x, y), options)

        return jax.lax.fori_loop(0, num_steps, step, state)

    def collect(state: Any, x: Array, y: Array, options: Any, num_steps: int) -> tuple[Any, Any]:
        constrained = kernel.postprocess_fn((x, y), options)

        def step(state: Any, _: None) -> tuple[Any, Any]:
            state = kernel.sample(state, (x, y), options)
            values = constrained(getattr(state, kernel.sample_field))
            return state, (values, [_field(state, path) for path in statistics.values()])

        return jax.lax.scan(step, state, length=num_steps)

    def program(function: Callable[..., Any], static: tuple[int, ...] = ()) -> Program[..., Any]:
        made_of = model, sampler, num_dims, num_warmup, is_vectorized, dict(blocks)
        of_chains = for_chains(function) if is_vectorized else function
        return Program(of_chains, static=static, made_of=made_of)

    return _CompiledChain(
        tuple(statistics), program(start), program(advance), program(collect, static=(4,))
    )


def _field(state: Any, path: str) -> Any:
    """A part of a state by its path, such as ``block_states.0.accept_prob``."""
    for part in path.split("."):
        state = state[int(part)] if part.isdigit() else getattr(state, part)
    return state


def _chunk(number: int) -> int:
    """The largest divisor that leaves at least so many parts, for parts of equal size."""
    return max(size for size in range(1, max(number // NUM_REPORTS, 1) + 1) if number % size == 0)


def _parts(number: int) -> list[int]:
    """A number in parts of about the same size."""
    ends = [number * k // NUM_REPORTS for k in range(NUM_REPORTS + 1)]
    return [end - start for start, end in pairwise(ends) if end > start]
