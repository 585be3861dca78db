"""The default sampler: a block for every kind of site."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from numpyro.distributions import Distribution
from numpyro.distributions.constraints import Constraint
from numpyro.infer import HMC, DiscreteGibbs, Gibbs
from numpyro.infer.mcmc import MCMCKernel

from structbo.models.foundation.upstream import latent_sample_sites
from structbo.models.likelihood import Model
from structbo.models.prototype import prior_trace
from structbo.samplers.family_gibbs import FamilyGibbs, family_sites
from structbo.samplers.grid_gibbs import GridGibbs
from structbo.samplers.hamiltonian import Hamiltonian
from structbo.samplers.registry import BLOCKS, BlockFactory, Blocks, block_of
from structbo.samplers.structure_block import element_support


def default_sampler(
    model: Model,
    *,
    num_dims: int = 2,
    blocks: Blocks | None = None,
    remainder: MCMCKernel | None = None,
) -> Gibbs:
    """Composes a Gibbs sampler from the supports of a model's sites.

    Edge matrices get `InformedEdges`, partitions `PartitionMoves`, active sets `ActiveGibbs`,
    parameters on finite sets `GridGibbs`, random trees `PriorDraws`, as `BLOCKS` says; the family
    of a mixture together with the structures inside its families `FamilyGibbs`. Any other discrete
    site gets NumPyro's `DiscreteGibbs` if its elements are whole numbers from 0 to a bound, and
    `GridGibbs` if they are on another finite set of numbers. All continuous sites together get
    `Hamiltonian`; NumPyro's `HMC` where the model has sites that are summed over.

    Args:
        model: a NumPyro model of the form ``model(X, y=None)``.
        num_dims: a number of columns of X that the model accepts; the blocks do not depend on it.
        blocks: other blocks than those of `BLOCKS`, by the class of a support or by the name of a
            site, for example ``{"Z": EdgeGibbs}``.
        remainder: the kernel for the continuous sites, built on the same model, for example
            ``NUTS(model)``.

    Returns:
        A kernel for `numpyro.infer.MCMC`.

    Raises:
        ValueError: if there is no block for the support of a discrete site.

    Example:
        >>> from structbo.models import AdditiveGP
        >>> [type(kernel).__name__ for kernel, _ in default_sampler(AdditiveGP()).blocks]
        ['InformedEdges', 'Hamiltonian']
    """
    trace = prior_trace(model, num_dims)
    known: Blocks = {**BLOCKS, **(blocks or {})}
    in_families = family_sites(trace, known)
    others = [site for site in latent_sample_sites(trace) if site not in in_families]
    chosen = {site: _block_of(site, trace[site], known) for site in others}
    composed: list[tuple[MCMCKernel, Sequence[str] | None]] = []
    for factory in dict.fromkeys((*known.values(), *chosen.values())):
        sites = [site for site in others if chosen[site] is factory]
        if factory is not None and sites:
            composed.append((factory(model), sites))
    if in_families:
        composed.append((FamilyGibbs(model, blocks=known), in_families))
    if None in chosen.values():
        composed.append((remainder or _for_continuous_sites(model, trace), None))
    return Gibbs(composed)


def _for_continuous_sites(model: Model, trace: Any) -> MCMCKernel:
    if any(_is_summed(site) for site in trace.values()):
        return HMC(model, step_size=0.1, trajectory_length=None, num_steps=20)
    return Hamiltonian(model)


def _is_summed(site: dict[str, Any]) -> bool:
    """Whether NumPyro sums the density over all values of a discrete site."""
    return bool(site["type"] == "sample" and site["infer"].get("enumerate") == "parallel")


def _block_of(name: str, site: dict[str, Any], known: Blocks) -> BlockFactory | None:
    """The block of a latent site; None if it is left to the Hamiltonian moves, or summed over."""
    prior = site["fn"]
    factory = block_of(name, prior.support, known)
    if factory is not None or _is_summed(site) or not prior.support.is_discrete:
        return factory
    values = _values(name, prior, known)
    # `DiscreteGibbs` takes whole numbers from 0 on for granted.
    return DiscreteGibbs if np.array_equal(values, np.arange(len(values))) else GridGibbs


def _values(name: str, prior: Distribution, known: Blocks) -> NDArray[Any]:
    """The numbers that each element of a discrete site may be.

    Raises:
        ValueError: if they are not a finite set of numbers.
    """
    try:
        values: NDArray[Any] | None = np.asarray(prior.enumerate_support(expand=False))
    except NotImplementedError:
        values = None
    if values is None or values.size != len(values):
        kinds = [key.__name__ for key in known if isinstance(key, type)]
        raise ValueError(
            f"no block samples the discrete site {name!r}, a {type(prior).__name__} whose support "
            f"is {_class_name(prior.support)}. Blocks are known for {', '.join(kinds)} and finite "
            "sets of numbers: give the site a prior on one of these supports, or compose a sampler "
            f"with a block for it: default_sampler(model, blocks={{{name!r}: MyBlock}})."
        )
    return values.ravel()


def _class_name(support: Constraint) -> str:
    """The class of a support; NumPyro's ``repr`` takes its first letter for an underscore."""
    return type(element_support(support)).__name__.removeprefix("_")
