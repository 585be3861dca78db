"""The two compositions of blocks: one to infer a posterior, one to search."""

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
from numpyro.distributions import Distribution
from numpyro.distributions.constraints import Constraint
from numpyro.infer import HMC, Gibbs
from numpyro.infer.mcmc import MCMCKernel

from structbo.models.foundation.upstream import latent_sample_sites
from structbo.models.likelihood import Model
from structbo.models.prototype import prior_trace
from structbo.samplers.composition import is_summed
from structbo.samplers.family_gibbs import FamilyGibbs, family_sites
from structbo.samplers.grid_gibbs import GridGibbs
from structbo.samplers.hamiltonian import Hamiltonian
from structbo.samplers.informed_edges import NUM_MOVES, InformedEdges
from structbo.samplers.registry import BLOCKS, BlockFactory, Blocks, block_of
from structbo.samplers.structure_block import element_support

LEAST_MOVES, MOVES_TIMES_DIMS = 5, 200
"""Proposals of `InformedEdges` per step of a search: the second number divided by D, at least the
first."""


def default_sampler(
    model: Model,
    *,
    num_dims: int = 2,
    blocks: Blocks | None = None,
    remainder: MCMCKernel | None = None,
) -> Gibbs:
    """Composes a sampler for inference from the supports of a model's sites.

    Edge matrices get `InformedEdges`, partitions `PartitionMoves`, active sets `ActiveGibbs`,
    random trees `PriorDraws`, and parameters on finite sets of numbers `GridGibbs`, as `BLOCKS`
    says; the family of a mixture together with the structures inside its families `FamilyGibbs`.
    All continuous sites together get `Hamiltonian`; NumPyro's `HMC` where the model has sites that
    are summed over.

    Args:
        model: a NumPyro model of the form ``model(X, y=None)``.
        num_dims: a number of columns of X that the model accepts; the blocks do not depend on it.
        blocks: blocks that replace entries of `BLOCKS`, by the class of a support or by the name of
            a site, for example ``{"Z": EdgeGibbs}``.
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
    known = {**BLOCKS, **(blocks or {})}
    return _composed(model, num_dims, known, Hamiltonian if remainder is None else remainder)


def search_sampler(model: Model, *, num_dims: int = 2, blocks: Blocks | None = None) -> Gibbs:
    """Composes a sampler for a search, whose chain goes on whenever an observation is added.

    It has the blocks of `default_sampler` in cheaper settings: fewer proposals of edges in many
    dimensions, and Hamiltonian moves with a diagonal metric, trajectories of all steps, and no
    orbits. With more of these, draws spread wider, and regret was no smaller.

    Args:
        model: a NumPyro model of the form ``model(X, y=None)``.
        num_dims: the number of columns of X.
        blocks: as in `default_sampler`.

    Returns:
        A kernel for `numpyro.infer.MCMC`.

    Raises:
        ValueError: if there is no block for the support of a discrete site.
    """
    num_moves = min(max(MOVES_TIMES_DIMS // num_dims, LEAST_MOVES), NUM_MOVES)
    cheap: dict[BlockFactory, BlockFactory] = {
        InformedEdges: partial(InformedEdges, num_moves=num_moves)
    }
    known = {kind: cheap.get(block, block) for kind, block in BLOCKS.items()} | dict(blocks or {})
    hamiltonian = partial(Hamiltonian, is_dense=False, varies_length=False, has_orbits=False)
    return _composed(model, num_dims, known, hamiltonian)


def _composed(
    model: Model, num_dims: int, known: Blocks, remainder: MCMCKernel | BlockFactory
) -> Gibbs:
    """One block for all sites that have the same, and the remainder for continuous sites."""
    trace = prior_trace(model, num_dims)
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
        if isinstance(remainder, MCMCKernel):
            kernel = remainder
        elif any(map(is_summed, trace.values())):
            kernel = HMC(model, step_size=0.1, trajectory_length=None, num_steps=20)
        else:
            kernel = remainder(model)
        composed.append((kernel, None))
    return Gibbs(composed)


def _block_of(name: str, site: dict[str, Any], known: Blocks) -> BlockFactory | None:
    """The block of a latent site; None if it is left to the Hamiltonian moves, or summed over."""
    prior = site["fn"]
    factory = block_of(name, prior.support, known)
    if factory is not None or is_summed(site) or not prior.support.is_discrete:
        return factory
    _check_finite(name, prior, known)
    return GridGibbs


def _check_finite(name: str, prior: Distribution, known: Blocks) -> None:
    """Checks that each element of a discrete site is one of a finite set of numbers.

    Raises:
        ValueError: if it is not.
    """
    try:
        values = np.asarray(prior.enumerate_support(expand=False))
        is_finite = values.size == len(values)
    except NotImplementedError:
        is_finite = False
    if not is_finite:
        kinds = [key.__name__ for key in known if isinstance(key, type)]
        raise ValueError(
            f"no block samples the discrete site {name!r}, a {type(prior).__name__} whose support "
            f"is {_class_name(prior.support)}. Blocks are known for {', '.join(kinds)} and finite "
            "sets of numbers: give the site a prior on one of these supports, or compose a sampler "
            f"with a block for it: default_sampler(model, blocks={{{name!r}: MyBlock}})."
        )


def _class_name(support: Constraint) -> str:
    """The class of a support; NumPyro's ``repr`` takes its first letter for an underscore."""
    return type(element_support(support)).__name__.removeprefix("_")
