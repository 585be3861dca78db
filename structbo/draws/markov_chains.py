"""Markov chains with warm-up, for inference.

A CPU runs one chain per core in parallel, and an accelerator runs all chains as one batch.
"""

import math
import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import jax
import numpy as np
from jax import Array
from jaxtyping import Key, Shaped
from numpyro.infer.mcmc import MCMCKernel
from tqdm.auto import tqdm

from structbo.draws.driver import Driver
from structbo.models import Model
from structbo.models.foundation.accelerator import has_accelerator
from structbo.models.foundation.device import default_device
from structbo.models.foundation.precision import double_precision
from structbo.samplers import Arguments, ChainState, SamplerFactory

NUM_PARTS = 10
"""Minimum number of parts of the draws, with progress updates between them."""

SHORT = 2.0
"""Duration below which runs show no progress, in seconds."""

Arrays = dict[str, Shaped[np.ndarray, "chains draws ..."]]
"""Arrays by the name of a site or a statistic."""


def run_chains(
    model: Model,
    sampler: MCMCKernel | SamplerFactory,
    arguments: Arguments,
    key: Key[Array, ""],
    *,
    num_warmup: int,
    num_samples: int,
    num_chains: int,
    show_progress_bar: bool,
) -> tuple[Arrays, Arrays]:
    """Draws of a model's sites from new chains.

    Args:
        model: a NumPyro model.
        sampler: a NumPyro kernel, or a function from the model to a kernel.
        arguments: arguments of the model; the first is an array of points, shape (n, D).
        key: a JAX random key.
        num_warmup: number of warm-up steps per chain, which adapt the sampler and are discarded.
        num_samples: number of draws per chain.
        num_chains: number of chains.
        show_progress_bar: whether to show progress.

    Returns:
        Values of all sites, and the statistics of the steps.
    """
    is_vectorized, num_dims = has_accelerator(), arguments.args[0].shape[1]
    driver = Driver.of(model, sampler, num_dims, num_warmup=num_warmup, is_vectorized=is_vectorized)
    size = _part_size(num_warmup, num_samples)
    keys = jax.random.split(key, num_chains)
    starts = [keys] if is_vectorized else list(keys)
    driver.run.prepare(driver.start.prepare(starts[0], arguments), arguments, size, 1)
    device = default_device()

    def drawn(state: ChainState) -> Any:
        # This may be another thread, to which JAX's switches do not apply.
        with jax.default_device(device), double_precision():
            return jax.block_until_ready(driver.run(state, arguments, size, 1))

    total = num_chains * (num_warmup + num_samples)
    parts = []
    with (
        ThreadPoolExecutor(min(num_chains, os.cpu_count() or 1)) as pool,
        tqdm(total=total, desc="fit", disable=not show_progress_bar, delay=SHORT) as progress,
    ):
        states: Sequence[Any] = [driver.start(start, arguments) for start in starts]
        for _ in range((num_warmup + num_samples) // size):
            states, *results = zip(*pool.map(drawn, states), strict=True)
            parts.append(_stacked(results, is_vectorized))
            del parts[: -(num_samples // size)]
            progress.update(size * num_chains)
    draws, info = jax.tree.map(lambda *arrays: np.concatenate(arrays, axis=1), *parts)
    return draws, info


def _stacked(results: list[tuple[Any, ...]], is_vectorized: bool) -> tuple[Any, ...]:
    """Draws and statistics of all chains; an accelerator's chains are already one batch."""
    if is_vectorized:
        return tuple(batch for (batch,) in results)
    return tuple(jax.tree.map(lambda *chains: np.stack(chains), *result) for result in results)


def _part_size(num_warmup: int, num_samples: int) -> int:
    """The largest part size that divides warm-up and draws, for at least `NUM_PARTS` parts."""
    number, most = math.gcd(num_warmup, num_samples), max(num_samples // NUM_PARTS, 1)
    return max(size for size in range(1, most + 1) if number % size == 0)
