"""NumPyro kernels as pure samplers."""

from typing import Any

import jax
import jax.numpy as jnp
from jax import Array
from numpyro import handlers
from numpyro.infer import HMC
from numpyro.infer.mcmc import MCMCKernel
from numpyro.infer.util import unconstrain_fn

from structbo.models.foundation.arrays import RandomKey
from structbo.models.foundation.program import one_trace
from structbo.samplers.sampler import Arguments, Info, Sampler, Stage, State, Values

LONGEST_WARMUP = 10_000
"""Number of steps of NumPyro's adaptation schedule for a warm-up without end."""
HMC_STATISTICS = {
    "acceptance_rate": "accept_prob",
    "diverging": "diverging",
    "energy": "energy",
    "n_steps": "num_steps",
    "step_size": "adapt_state.step_size",
}
"""ArviZ's names of statistics, and the corresponding fields of `numpyro.infer.HMC`'s state."""


class NumPyroKernel(Sampler):
    """A NumPyro kernel as a sampler, whose memory is the kernel's state with its random key.

    The constructor runs the kernel's ``init`` for its set-up, without computing values.

    Args:
        kernel: a kernel such as `numpyro.infer.NUTS`. A custom kernel may name the statistics to
            report in a property ``statistics``, in the form of `HMC_STATISTICS`.
        num_warmup: number of warm-up steps in NumPyro's schedule; None for a warm-up without end.
        values: values of the kernel's sites, for their shapes.
        arguments: arguments of the model, for their shapes.
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
        with one_trace:
            jax.eval_shape(self.initial, jax.random.key(0), values, stage, arguments)

    @property
    def follows_data(self) -> bool:
        return type(self._kernel).refresh is not MCMCKernel.refresh

    def initial(self, key: RandomKey, values: Values, stage: Stage, arguments: Arguments) -> State:
        """Initializes the kernel; `HMC` and its subclasses ignore the given values."""
        given = None if self._is_hmc else values
        begun = self._kernel.init(key, self._num_warmup, given, *arguments)
        return self._state(begun, values, stage, arguments)

    def step(self, key: RandomKey, state: State, arguments: Arguments) -> tuple[State, Info]:
        now, learns = state.memory, state.stage.learns
        if self.follows_data:
            moved = now._replace(**{self._kernel.sample_field: self._native(state, arguments)})
            now = self._kernel.refresh(moved, *arguments)
        if not self._is_hmc:
            after = self._kernel.sample(now, *arguments)
        else:
            # HMC adapts while ``i`` is below its number of warm-up steps.
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
        """The values in the kernel's parametrization."""
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
    """The field of a state at a path, such as ``adapt_state.step_size``."""
    for part in path.split("."):
        state = state[int(part)] if part.isdigit() else getattr(state, part)
    return jnp.asarray(state)
