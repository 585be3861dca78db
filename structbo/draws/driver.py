"""The programs that start and continue the Markov chains of a sampler, for search and inference."""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
from jax import Array
from jaxtyping import Key
from numpyro.infer.mcmc import MCMCKernel

from structbo.draws.model import Draw, Draws
from structbo.models import Model
from structbo.models.foundation.accelerator import for_chains
from structbo.models.foundation.compilation import remembered
from structbo.models.foundation.program import Program
from structbo.samplers import (
    BLOCKS,
    Arguments,
    ChainState,
    Info,
    SamplerFactory,
    composed,
    kernel_of,
)
from structbo.samplers.registry import Blocks


class Driver(NamedTuple):
    """The compiled programs of a chain, or of a batch of chains with stacked keys and states.

    Args:
        start: program from a key and the arguments of the model to a state.
        run: program from a state, arguments, the number of draws and the number of steps per draw
            to the last state, the draws, and their statistics.
    """

    start: Program[[Key[Array, "*chains"], Arguments], ChainState]
    run: Program[[ChainState, Arguments, int, int], tuple[ChainState, Draws, Info]]

    @classmethod
    def of(
        cls,
        model: Model,
        sampler: MCMCKernel | SamplerFactory,
        num_dims: int,
        *,
        num_warmup: int | None,
        is_vectorized: bool,
    ) -> "Driver":
        """The programs of a model; equal models and samplers share them.

        Args:
            model: a NumPyro model.
            sampler: a kernel of this model, or a function from the model to a kernel.
            num_dims: the number of dimensions D.
            num_warmup: number of warm-up steps; None for a chain without end, whose data may
                change.
            is_vectorized: whether to run a batch of chains.

        Raises:
            ValueError: if the kernel of a chain without end cannot continue with other data.
        """
        # The programs depend on the registered blocks.
        return _driver(model, sampler, num_dims, num_warmup, is_vectorized, BLOCKS)


@remembered
def _driver(
    model: Model,
    given: MCMCKernel | SamplerFactory,
    num_dims: int,
    num_warmup: int | None,
    is_vectorized: bool,
    blocks: Blocks,
) -> Driver:
    kernel = given if isinstance(given, MCMCKernel) else kernel_of(given, model, num_dims)
    sampler = composed(kernel, model, num_dims, num_warmup)
    if num_warmup is None and not sampler.follows_data:
        raise ValueError(
            f"a search needs a sampler that continues with new data, but {kernel!r} does not "
            "implement NumPyro's refresh: use a kernel that does, such as numpyro.infer.NUTS."
        )

    def start(key: Key[Array, ""], arguments: Arguments) -> ChainState:
        return sampler.init(key, num_warmup or 0, None, *arguments)

    def run(
        state: ChainState, arguments: Arguments, num_draws: int, spacing: int
    ) -> tuple[ChainState, Draws, Info]:
        values_of = sampler.postprocess_fn(*arguments)

        def step(_: Array, state: ChainState) -> ChainState:
            return sampler.sample(state, *arguments)

        def draw(state: ChainState, _: None) -> tuple[ChainState, tuple[Draw, Info]]:
            state = jax.lax.fori_loop(0, spacing, step, state)
            return state, (values_of(state.z), state.info)

        state, (draws, info) = jax.lax.scan(draw, state, length=num_draws)
        return state, draws, info

    def program(function: Callable[..., Any], static: tuple[int, ...] = ()) -> Program[..., Any]:
        made_of = model, given, num_dims, num_warmup, is_vectorized, dict(blocks)
        of_chains = for_chains(function) if is_vectorized else function
        return Program(of_chains, static=static, made_of=made_of)

    return Driver(program(start), program(run, static=(2,)))
