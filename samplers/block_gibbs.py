"""Blocked Gibbs sampling: each block moves its sites given all others."""

from collections.abc import Callable, Sequence
from typing import Any

import jax
from numpyro import handlers

from structbo.models.foundation.arrays import RandomKey
from structbo.models.foundation.upstream import conditioned, prototype_trace
from structbo.models.likelihood import Model
from structbo.samplers.sampler import Arguments, Info, Sampler, Stage, State, Values

Blocks = Sequence[tuple[Sampler, Sequence[str]]]
"""Samplers with the names of their sites."""


class BlockGibbs(Sampler):
    """Runs blocks in turn, like `numpyro.infer.Gibbs` but as pure functions.

    Args:
        model: a NumPyro model.
        blocks: samplers with the names of the sites that they move. Their models read the values
            of all other sites from NumPyro's keyword argument, see ``numpyro.infer.gibbs``.
        has_deterministic: whether to add the model's deterministic sites to the draws.
    """

    def __init__(self, model: Model, blocks: Blocks, has_deterministic: bool = False) -> None:
        super().__init__(model)
        self.blocks = blocks
        self._has_deterministic = has_deterministic

    @property
    def follows_data(self) -> bool:
        return all(block.follows_data for block, _ in self.blocks)

    def initial(self, key: RandomKey, values: Values, stage: Stage, arguments: Arguments) -> State:
        """Draws the initial values of sites without a given value from the prior."""
        key_trace, *keys = jax.random.split(key, len(self.blocks) + 1)
        trace = prototype_trace(conditioned(self.model), key_trace, *arguments)
        owned = [name for _, sites in self.blocks for name in sites]
        values = {name: trace[name]["value"] for name in owned} | values
        memory = []
        for (block, sites), key_block in zip(self.blocks, keys, strict=True):
            own = {name: values[name] for name in sites}
            part = block.initial(key_block, own, stage, arguments.given(without(values, sites)))
            values |= part.values
            memory.append(part.memory)
        return State(values, tuple(memory), stage)

    def step(self, key: RandomKey, state: State, arguments: Arguments) -> tuple[State, Info]:
        values, memory = dict(state.values), []
        info: Info = {}
        keys = jax.random.split(key, len(self.blocks))
        for (block, sites), own, key_block in zip(self.blocks, state.memory, keys, strict=True):
            part = State({name: values[name] for name in sites}, own, state.stage)
            part, told = block.step(key_block, part, arguments.given(without(values, sites)))
            values |= part.values
            memory.append(part.memory)
            info |= told
        return State(values, tuple(memory), state.stage.next()), info

    def no_info(self, state: State) -> Info:
        info: Info = {}
        for (block, sites), own in zip(self.blocks, state.memory, strict=True):
            part = State({name: state.values[name] for name in sites}, own, state.stage)
            info |= block.no_info(part)
        return info

    def postprocess_fn(
        self, model_args: tuple[Any, ...], model_kwargs: dict[str, Any] | None
    ) -> Callable[[Values], Values]:
        """Adds the deterministic sites of the model."""
        if not self._has_deterministic:
            return lambda z: z

        def with_deterministic(z: Values) -> Values:
            run = handlers.trace(handlers.substitute(handlers.seed(self.model, 0), data=z))
            trace = run.get_trace(*model_args, **(model_kwargs or {}))
            found = {n: s["value"] for n, s in trace.items() if s["type"] == "deterministic"}
            return z | found

        return with_deterministic


def without(values: Values, sites: Sequence[str]) -> Values:
    """The values of all other sites."""
    return {name: value for name, value in values.items() if name not in sites}
