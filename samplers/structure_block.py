"""Samplers of structure sites."""

from abc import abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
from jax import Array
from jaxtyping import Float, Shaped
from numpyro.distributions import Distribution, Independent
from numpyro.distributions.constraints import Constraint
from numpyro.handlers import condition

from structbo.models.foundation.arrays import RandomKey
from structbo.models.foundation.upstream import latent_sample_sites
from structbo.models.likelihood import Model
from structbo.samplers.conditional import Conditional
from structbo.samplers.sampler import Arguments, Info, Sampler, Stage, State, Values


class Block(Sampler):
    """A sampler of structure sites with an empty memory."""

    @property
    def _statistic(self) -> str:
        return f"acceptance_rate_{type(self).__name__}"

    def initial(self, key: RandomKey, values: Values, stage: Stage, arguments: Arguments) -> State:
        if not values:
            raise ValueError(
                f"{type(self).__name__} needs initial values: use it as a block of "
                "numpyro.infer.Gibbs, for example the one that default_sampler(model) builds."
            )
        return State(values, (), stage)

    def no_info(self, state: State) -> Info:
        return {self._statistic: jnp.array(0.0)}


class StructureBlock(Block):
    """A block that updates structure sites one at a time, given all others.

    Subclasses define the support that they sample, and the update of one site. Most derive from
    `Metropolis`.

    Args:
        model: the NumPyro model.
    """

    support: ClassVar[type[Constraint]]
    """The class of supports that the block can sample."""
    is_reversible: ClassVar[bool] = True
    """Whether an update satisfies detailed balance, which `FamilyGibbs` requires."""

    @abstractmethod
    def update(
        self, key: RandomKey, conditional: Conditional, value: Shaped[Array, "*shape"]
    ) -> tuple[Shaped[Array, "*shape"], Float[Array, ""]]:
        """One Markov transition: the new value of a site, and the mean acceptance probability."""

    def step(self, key: RandomKey, state: State, arguments: Arguments) -> tuple[State, Info]:
        values, accept = dict(state.values), []
        for name, key_site in zip(values, jax.random.split(key, len(values)), strict=True):
            others = {other: values[other] for other in values if other != name}
            model = fixed(self.model, others)
            conditional = Conditional(model, name, values[name], *arguments)
            values[name], prob = self.update(key_site, conditional, values[name])
            accept.append(prob)
        info = {self._statistic: jnp.stack(accept).mean()}
        return State(values, (), state.stage.next()), info


def sites_with_support(support: type[Constraint]) -> Callable[[Any], Sequence[str]]:
    """A selector of latent sites by the class of their support, for the blocks of `Gibbs`.

    For sites of independent elements, the support of one element counts.

    Args:
        support: class of the support.

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


def element_prior(prior: Distribution) -> Distribution:
    """The prior of one of several independent elements."""
    return element_prior(prior.base_dist) if isinstance(prior, Independent) else prior


def fixed(model: Model, values: dict[str, Array]) -> Model:
    """The model given values of some of its sites."""
    return condition(model, data=values) if values else model
