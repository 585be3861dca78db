"""Pure Markov kernels that are also NumPyro kernels."""

import copy
from abc import abstractmethod
from collections.abc import Callable
from typing import Any, NamedTuple, Self

import jax
import jax.numpy as jnp
from jax import Array
from jaxtyping import Bool, Int, Key, UInt32
from numpyro.infer.mcmc import MCMCKernel

from structbo.models.foundation.arrays import RandomKey
from structbo.models.foundation.upstream import with_conditioning
from structbo.models.likelihood import Model

Values = dict[str, Array]
"""Constrained values of sites."""
Info = dict[str, Array]
"""Statistics of a step, under ArviZ's names."""

RandomKeys = Key[Array, "*chains"] | UInt32[Array, "*chains 2"]
"""The random key of one chain, or the keys of a batch of chains."""

MAX_HELD = 100
"""Maximum length of the early warm-up, in steps; otherwise, it is a quarter of the warm-up."""


class Arguments(NamedTuple):
    """The arguments of a model.

    Args:
        args: positional arguments.
        kwargs: keyword arguments.
    """

    args: tuple[Any, ...]
    kwargs: dict[str, Any]

    def given(self, values: Values) -> "Arguments":
        """The arguments with values of some sites, in the form of `numpyro.infer.Gibbs`."""
        kwargs = with_conditioning(self.kwargs, values) if values else self.kwargs
        return Arguments(self.args, kwargs)


class Stage(NamedTuple):
    """The remainder of a warm-up.

    Args:
        num_learning: number of remaining steps that adapt the sampler.
        num_held: number of remaining steps with held sites fixed.
    """

    num_learning: Int[Array, ""]
    num_held: Int[Array, ""]

    @classmethod
    def of(cls, num_learning: int, num_held: int | None = None) -> "Stage":
        """A warm-up of ``num_learning`` steps, which by default holds sites in its early part.

        Example:
            >>> [int(number) for number in Stage.of(200)]
            [200, 50]
        """
        early = min(MAX_HELD, num_learning // 4) if num_held is None else num_held
        return cls(jnp.array(num_learning), jnp.array(early))

    @property
    def learns(self) -> Bool[Array, ""]:
        """Whether the next step adapts the sampler."""
        return self.num_learning > 0

    @property
    def holds(self) -> Bool[Array, ""]:
        """Whether held sites are fixed during the next step."""
        return self.num_held > 0

    def next(self) -> "Stage":
        """The stage after one more step."""
        return Stage(*(jnp.maximum(number - 1, 0) for number in self))


class State(NamedTuple):
    """The state of a sampler.

    Args:
        values: values of the sampler's sites.
        memory: the adapted quantities, a pytree; empty for samplers without adaptation.
        stage: stage of the warm-up.
    """

    values: Values
    memory: Any
    stage: Stage


class ChainState(NamedTuple):
    """The state of a Markov chain for NumPyro's `MCMC` and `Gibbs`.

    Args:
        z: values of the sampler's sites.
        memory: memory of the sampler, see `State`.
        stage: stage of the warm-up.
        info: statistics of the last step.
        rng_key: random key for the next step, or the keys of a batch of chains.
    """

    z: Values
    memory: Any
    stage: Stage
    info: Info
    rng_key: RandomKeys


class Sampler(MCMCKernel):
    """A Markov kernel of the sites of a model.

    A subclass holds settings only: everything that changes along a chain is in its state. It
    implements the pure functions `initial` and `step`. The methods `init` and `sample` wrap them
    for NumPyro's `MCMC` and `Gibbs`.

    Args:
        model: a NumPyro model.
    """

    sample_field = "z"
    default_fields = ("z",)

    def __init__(self, model: Model) -> None:
        self._model = model

    @property
    def model(self) -> Model:
        return self._model

    @property
    def follows_data(self) -> bool:
        """Whether a chain can continue with other data."""
        return True

    @abstractmethod
    def initial(self, key: RandomKey, values: Values, stage: Stage, arguments: Arguments) -> State:
        """The initial state of a chain.

        Args:
            key: a JAX random key.
            values: initial values of the sites, which the sampler may change.
            stage: stage of the warm-up.
            arguments: arguments of the model.
        """

    @abstractmethod
    def step(self, key: RandomKey, state: State, arguments: Arguments) -> tuple[State, Info]:
        """One transition, which leaves the posterior invariant after the warm-up.

        Args:
            key: a JAX random key.
            state: state before the step; values and memory may come from a chain on other data.
            arguments: arguments of the model.
        """

    @abstractmethod
    def no_info(self, state: State) -> Info:
        """The info of a chain before its first step, given its initial state."""

    def init(
        self,
        rng_key: RandomKeys,
        num_warmup: int,
        init_params: Values | None,
        model_args: tuple[Any, ...],
        model_kwargs: dict[str, Any] | None,
    ) -> ChainState:
        if jax.random.key_data(rng_key).ndim > 1:
            raise ValueError(
                f"rng_key of {type(self).__name__} must be the key of one chain, got keys of shape "
                f'{rng_key.shape}: for several chains at once, replace chain_method="vectorized" '
                "of MCMC by chain_method=jax.vmap."
            )
        key, rng_key = jax.random.split(rng_key)
        given = {name: jnp.asarray(value) for name, value in (init_params or {}).items()}
        stage = Stage.of(num_warmup)
        state = self.initial(key, given, stage, Arguments(model_args, model_kwargs or {}))
        return ChainState(*state, self.no_info(state), rng_key)

    def sample(
        self,
        state: ChainState,
        model_args: tuple[Any, ...],
        model_kwargs: dict[str, Any] | None,
    ) -> ChainState:
        key, rng_key = jax.random.split(state.rng_key)
        before = State(state.z, state.memory, state.stage)
        after, info = self.step(key, before, Arguments(model_args, model_kwargs or {}))
        return ChainState(*after, info, rng_key)

    def refresh(
        self, state: ChainState, model_args: tuple[Any, ...], model_kwargs: dict[str, Any] | None
    ) -> ChainState:
        """The unchanged state, which does not depend on data or other sites."""
        return state

    def wrap_model(self, wrapper: Callable[[Model], Model]) -> Self:
        kernel = copy.copy(self)
        kernel._model = wrapper(self._model)
        return kernel

    def get_constrain_fn(
        self, model_args: tuple[Any, ...], model_kwargs: dict[str, Any] | None
    ) -> Callable[[Values], Values]:
        """The identity, since values are already constrained."""
        return lambda z: z

    def get_diagnostics_str(self, state: ChainState) -> str:
        numbers = {name: value for name, value in state.info.items() if jnp.ndim(value) == 0}
        return " | ".join(f"{name} {float(value):.2f}" for name, value in numbers.items())
