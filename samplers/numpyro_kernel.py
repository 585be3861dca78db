"""Kernels of NumPyro as pure samplers."""

from typing import Any

import jax
import jax.numpy as jnp
from jax import Array
from numpyro import handlers
from numpyro.infer import HMC
from numpyro.infer.mcmc import MCMCKernel
from numpyro.infer.util import unconstrain_fn

from structbo.samplers.sampler import Arguments, Info, Sampler, Stage, State, Values

LONGEST_WARMUP = 10_000
"""The length of NumPyro's schedule of adaptation where a warm-up has no end."""
HMC_STATISTICS = {
    "acceptance_rate": "accept_prob",
    "diverging": "diverging",
    "energy": "energy",
    "n_steps": "num_steps",
    "step_size": "adapt_state.step_size",
}
"""ArviZ's names, and the fields of the state of `numpyro.infer.HMC`."""


class NumPyroKernel(Sampler):
    """A kernel of NumPyro, whose state, with its random key, is the memory.

    A kernel is set up by its ``init``, which runs here for shapes alone.

    Args:
        kernel: such as `numpyro.infer.NUTS`. A property ``statistics`` of your own kernel names
            what to report, as `HMC_STATISTICS` does.
        num_warmup: the length of the warm-up, which NumPyro plans ahead; None if it has no end.
        values: of its sites, for their shapes.
        arguments: of the model, for their shapes.
    """

    def __init__(
        self, kernel: MCMCKernel, num_warmup: int | None, values: Values, arguments: Arguments
    ) -> None:
        model: Any = getattr(kernel, "model", None)
        super().__init__(model)
        self._kernel: Any = kernel
        self._is_hmc = isinstance(kernel, HMC)
        self._num_warmup = LONGEST_WARMUP if num_warmup is None else num_warmup
        stage = Stage.of(self._num_warmup)
        jax.eval_shape(self.initial, jax.random.key(0), values, stage, arguments)

    @property
    def follows_data(self) -> bool:
        return type(self._kernel).refresh is not MCMCKernel.refresh

    def initial(self, key: Array, values: Values, stage: Stage, arguments: Arguments) -> State:
        """`HMC` and its subclasses look for a start of their own."""
        given = None if self._is_hmc else values
        begun = self._kernel.init(key, self._num_warmup, given, *arguments)
        return self._state(begun, values, stage, arguments)

    def step(self, key: Array, state: State, arguments: Arguments) -> tuple[State, Info]:
        now, learns = state.memory, state.stage.learns
        if self.follows_data:
            moved = now._replace(**{self._kernel.sample_field: self._native(state, arguments)})
            now = self._kernel.refresh(moved, *arguments)
        if not self._is_hmc:
            after = self._kernel.sample(now, *arguments)
        else:
            # It adapts while this is below the number of its warm-up.
            place = jnp.asarray(now.i)
            now = now._replace(i=jnp.where(learns, place, self._num_warmup))
            after = self._kernel.sample(now, *arguments)
            after = after._replace(i=place + learns.astype(place.dtype))
        new = self._state(after, state.values, state.stage.next(), arguments)
        return new, self.no_info(new)

    def no_info(self, state: State) -> Info:
        known = HMC_STATISTICS if self._is_hmc else getattr(self._kernel, "statistics", {})
        return {name: _field(state.memory, path) for name, path in known.items()}

    def _native(self, state: State, arguments: Arguments) -> Values:
        """The values as the kernel has them."""
        if not self._is_hmc:
            return state.values
        model = handlers.seed(self.model, 0)
        unconstrained = unconstrain_fn(model, *arguments, state.values)
        return {name: unconstrained[name] for name in state.values}

    def _state(self, memory: Any, like: Values, stage: Stage, arguments: Arguments) -> State:
        native = getattr(memory, self._kernel.sample_field)
        values = self._kernel.get_constrain_fn(*arguments)(native)
        return State({name: values[name] for name in like}, memory, stage)


def _field(state: Any, path: str) -> Array:
    """A part of a state by its path, such as ``adapt_state.step_size``."""
    for part in path.split("."):
        state = state[int(part)] if part.isdigit() else getattr(state, part)
    return jnp.asarray(state)
