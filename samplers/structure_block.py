"""Structure samplers as blocks of `numpyro.infer.Gibbs`."""

import copy
from abc import abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, NamedTuple, Self

import jax
import jax.numpy as jnp
from jax import Array
from numpyro.distributions.constraints import Constraint
from numpyro.handlers import condition
from numpyro.infer.mcmc import MCMCKernel

from structbo.models.foundation.upstream import latent_sample_sites
from structbo.models.likelihood import Model
from structbo.samplers.conditional import Conditional

ENDLESS = 2**30
"""A warm-up of so many steps is that of a search: it does not end, and observations are added on
the way. No other warm-up is as long, and steps that are counted from here stay within 32 bits."""


class BlockState(NamedTuple):
    """State of a structure block.

    Args:
        z: values of the block's sites.
        accept_prob: mean probability that a move of the last step changed the structure.
        rng_key: for the next step.
    """

    z: dict[str, Array]
    accept_prob: Array
    rng_key: Array


class Block(MCMCKernel):
    """A block kernel whose state has the values of structure sites, and nothing else.

    Args:
        model: the NumPyro model.
    """

    num_warmup: int = 0
    """How many steps adapt the sampler, which `init` is told."""

    def __init__(self, model: Model) -> None:
        self._model = model

    @property
    def model(self) -> Model:
        return self._model

    @property
    def is_search(self) -> bool:
        """Whether the chain is that of a search, whose warm-up does not end."""
        return self.num_warmup == ENDLESS

    @property
    def statistics(self) -> dict[str, str]:
        """What to record of every step: names, and the fields of the state."""
        return {f"acceptance_rate_{type(self).__name__}": "accept_prob"}

    @property
    def sample_field(self) -> str:
        return "z"

    @property
    def default_fields(self) -> tuple[str, ...]:
        return ("z",)

    def get_diagnostics_str(self, state: BlockState) -> str:
        return f"{type(self).__name__} acc. prob={state.accept_prob:.2f}"

    def init(
        self,
        rng_key: Array,
        num_warmup: int,
        init_params: dict[str, Array] | None,
        model_args: tuple[Any, ...],
        model_kwargs: dict[str, Any] | None,
    ) -> Any:
        self.num_warmup = num_warmup
        if not init_params:
            raise ValueError(
                f"{type(self).__name__} needs initial values: use it as a block of "
                "numpyro.infer.Gibbs, for example the one that default_sampler(model) builds."
            )
        values = {name: jnp.asarray(value) for name, value in init_params.items()}
        return BlockState(values, jnp.array(0.0), rng_key)

    def refresh(
        self, state: BlockState, model_args: tuple[Any, ...], model_kwargs: dict[str, Any] | None
    ) -> BlockState:
        """Nothing is cached between steps."""
        return state

    def wrap_model(self, wrapper: Callable[[Model], Model]) -> Self:
        kernel = copy.copy(self)
        kernel._model = wrapper(self._model)
        return kernel

    def get_constrain_fn(
        self, model_args: tuple[Any, ...], model_kwargs: dict[str, Any] | None
    ) -> Callable[[Any], Any]:
        """The values are already constrained."""
        return lambda z: z


class StructureBlock(Block):
    """A block kernel that updates structure sites one at a time, given all others.

    Subclasses say which support they sample and how to update one site. Most are `Metropolis`.

    Args:
        model: the NumPyro model.
    """

    support: ClassVar[type[Constraint]]
    """The class of the supports of sites that the block can move."""
    is_reversible: ClassVar[bool] = True
    """Whether an update satisfies detailed balance; `FamilyGibbs` runs it both ways."""

    @abstractmethod
    def update(self, key: Array, conditional: Conditional, value: Array) -> tuple[Array, Array]:
        """One Markov transition of one site: its new value, and the mean acceptance probability."""

    def sample(
        self, state: BlockState, model_args: tuple[Any, ...], model_kwargs: dict[str, Any] | None
    ) -> BlockState:
        rng_key, key_update = jax.random.split(state.rng_key)
        z, accept = dict(state.z), []
        for name, key in zip(z, jax.random.split(key_update, len(z)), strict=True):
            others = {other: z[other] for other in z if other != name}
            model = fixed(self._model, others)
            conditional = Conditional(model, name, z[name], model_args, model_kwargs or {})
            z[name], prob = self.update(key, conditional, z[name])
            accept.append(prob)
        return BlockState(z, jnp.stack(accept).mean(), rng_key)


def sites_with_support(support: type[Constraint]) -> Callable[[Any], Sequence[str]]:
    """A selector of latent sites by the class of their support, for the blocks of `Gibbs`.

    A site of independent elements is found by the support of one element.

    Args:
        support: the class.

    Returns:
        A function from a trace of the model to the names of the sites.

    Example:
        >>> from numpyro.handlers import seed, trace
        >>> from structbo.models import AdditiveGP
        >>> from structbo.models.supports import Adjacency
        >>> run = trace(seed(AdditiveGP(), 0)).get_trace(jnp.zeros((2, 3)))
        >>> sites_with_support(Adjacency)(run)
        ['Z']
    """

    def select(trace: Any) -> Sequence[str]:
        return [
            name
            for name in latent_sample_sites(trace)
            if isinstance(element_support(trace[name]["fn"].support), support)
        ]

    return select


def element_support(support: Constraint) -> Constraint:
    """The support of one of several independent elements."""
    return getattr(support, "base_constraint", support)


def fixed(model: Model, values: dict[str, Array]) -> Model:
    """The model given values of some of its sites."""
    return condition(model, data=values) if values else model
