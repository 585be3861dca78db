"""The default samplers: one for inference, one for search."""

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
from numpyro.distributions import Distribution
from numpyro.distributions.constraints import Constraint
from numpyro.infer import HMC, Gibbs
from numpyro.infer.mcmc import MCMCKernel

from structbo.models.foundation.sites import is_summed
from structbo.models.foundation.upstream import latent_sample_sites
from structbo.models.likelihood import Model
from structbo.models.prototype import prior_trace
from structbo.samplers.composition import check_priors
from structbo.samplers.conditional import check_sums
from structbo.samplers.family_gibbs import FamilyGibbs, family_sites
from structbo.samplers.grid_gibbs import GridGibbs
from structbo.samplers.hamiltonian import Hamiltonian
from structbo.samplers.informed_edges import NUM_MOVES, InformedEdges
from structbo.samplers.registry import BLOCKS, BlockFactory, Blocks, block_of
from structbo.samplers.structure_block import element_prior, element_support

LEAST_MOVES, MOVES_TIMES_DIMS = 5, 200
"""A search step makes MOVES_TIMES_DIMS / D proposals of `InformedEdges`, at least LEAST_MOVES."""


def default_sampler(
    model: Model,
    *,
    num_dims: int = 2,
    blocks: Blocks | None = None,
    remainder: MCMCKernel | None = None,
) -> Gibbs:
    """Composes a sampler for inference from the supports of a model's sites.

    By default, `BLOCKS` assigns `InformedEdges` to edge matrices, `PartitionMoves` to partitions,
    `ActiveGibbs` to active sets, `PriorDraws` to random trees, and `GridGibbs` to parameters on
    finite sets of numbers. `FamilyGibbs` samples the family of a mixture and the structures inside
    its families. `Hamiltonian` samples all continuous sites jointly; NumPyro's `HMC` replaces it
    if the model has enumerated sites, which it may have if no site needs another block.

    Args:
        model: a NumPyro model of the form ``model(X, y=None)``.
        num_dims: a number of columns of X that the model accepts; the blocks do not depend on it.
        blocks: replacements of entries of `BLOCKS`, by the class of a support or the name of a
            site, for example ``{"Z": EdgeGibbs}``.
        remainder: the kernel for the continuous sites, built on the same model, for example
            ``NUTS(model)``.

    Returns:
        A kernel for `numpyro.infer.MCMC`.

    Raises:
        ValueError: if there is no block for the support of a discrete site, a prior is a point
            mass, or NumPyro sums over a site of a model with structures.

    Example:
        >>> from structbo.models import AdditiveGP
        >>> [type(kernel).__name__ for kernel, _ in default_sampler(AdditiveGP()).blocks]
        ['InformedEdges', 'Hamiltonian']
    """
    known = {**BLOCKS, **(blocks or {})}
    return _composed(model, num_dims, known, Hamiltonian if remainder is None else remainder)


def search_sampler(model: Model, *, num_dims: int = 2, blocks: Blocks | None = None) -> Gibbs:
    """Composes a sampler for a search, whose chain continues when observations are added.

    It uses the blocks of `default_sampler` with cheaper settings: fewer edge proposals in high
    dimensions, and Hamiltonian moves with a diagonal metric, a fixed number of steps, and no
    orbits. The full settings widen the spread of draws, but do not reduce regret.

    Args:
        model: a NumPyro model of the form ``model(X, y=None)``.
        num_dims: the number of columns of X.
        blocks: replacements of entries of `BLOCKS`, see `default_sampler`.

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
    """A Gibbs kernel with one block per factory, and the remainder for continuous sites."""
    trace = prior_trace(model, num_dims)
    in_families = family_sites(trace, known)
    others = [site for site in latent_sample_sites(trace) if site not in in_families]
    check_priors(others, trace)
    chosen = {site: _block_of(site, trace[site], known) for site in others}
    for site in in_families or [s for s in others if chosen[s] is not None]:
        check_sums(site, trace)
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
    """The block of a latent site; None for continuous and enumerated sites."""
    prior = site["fn"]
    factory = block_of(name, prior.support, known)
    if factory is not None and name not in known:
        _check_alone(name, site)
    if factory is not None or is_summed(site) or not prior.support.is_discrete:
        return factory
    _check_finite(name, prior, known)
    return GridGibbs


def _check_alone(name: str, site: dict[str, Any]) -> None:
    """Checks that a site of structures has one structure.

    Raises:
        ValueError: if it has several.
    """
    num_axes, shape = element_support(site["fn"].support).event_dim, np.shape(site["value"])
    if 0 < num_axes < len(shape):
        raise ValueError(
            f"the site {name!r} has several structures, shape {shape}, and its block samples one: "
            "give each of them a site of its own."
        )


def _check_finite(name: str, prior: Distribution, known: Blocks) -> None:
    """Checks that the elements of a discrete site have a finite support.

    Raises:
        ValueError: if the support is infinite.
    """
    try:
        values = np.asarray(element_prior(prior).enumerate_support(expand=False))
        is_finite = values.size == len(values)
    except NotImplementedError:
        is_finite = False
    if not is_finite:
        kinds = [key.__name__ for key in known if isinstance(key, type)]
        raise ValueError(
            f"no block samples the discrete site {name!r}, a {type(prior).__name__} whose support "
            f"is {_class_name(prior.support)}. Blocks exist for {', '.join(kinds)} and finite "
            "sets of numbers: give the site a prior on one of these supports, or pass a block for "
            f"it: default_sampler(model, blocks={{{name!r}: MyBlock}})."
        )


def _class_name(support: Constraint) -> str:
    """Class name of a support; NumPyro's ``repr`` drops the first letter of public classes."""
    return type(element_support(support)).__name__.removeprefix("_")
