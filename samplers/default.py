"""The sampler that fits a model's sites."""

from collections.abc import Callable, Sequence
from typing import Any

import jax
import numpy as np
from numpy.typing import NDArray
from numpyro.distributions import Distribution
from numpyro.distributions.constraints import Constraint
from numpyro.infer import HMC, DiscreteGibbs, Gibbs
from numpyro.infer.gibbs import SitesSpec, latent_sample_sites, prototype_trace
from numpyro.infer.mcmc import MCMCKernel

from structbo.models.precision import double_precision
from structbo.models.supports import (
    ActiveSet,
    Adjacency,
    Family,
    FiniteSet,
    Partition,
    SpanningTree,
)
from structbo.samplers.active_gibbs import ActiveGibbs
from structbo.samplers.family_gibbs import FamilyGibbs, family_sites
from structbo.samplers.grid_gibbs import GridGibbs
from structbo.samplers.informed_edges import InformedEdges
from structbo.samplers.partition_moves import PartitionMoves
from structbo.samplers.prior_draws import PriorDraws
from structbo.samplers.structure_block import Block, Model, sites_with_support

BLOCKS: dict[type[Constraint], Callable[[Model], Block]] = {
    Adjacency: InformedEdges,
    Partition: PartitionMoves,
    ActiveSet: ActiveGibbs,
    FiniteSet: GridGibbs,
    Family: FamilyGibbs,
    SpanningTree: PriorDraws,
}
"""Which block samples the sites of which support."""


def default_sampler(
    model: Model, *, num_dims: int = 2, remainder: MCMCKernel | None = None
) -> Gibbs:
    """Composes a Gibbs sampler from the supports of a model's sites.

    Edge matrices get `InformedEdges`, partitions `PartitionMoves`, active sets `ActiveGibbs`,
    parameters on finite sets `GridGibbs`, random trees `PriorDraws`, the family of a mixture
    together with the structures inside its families `FamilyGibbs`. Any other discrete site gets
    NumPyro's `DiscreteGibbs` if its elements are whole numbers from 0 to a bound, and `GridGibbs`
    if they are on another finite set of numbers. All continuous sites together get a short
    Hamiltonian trajectory.

    Args:
        model: a NumPyro model of the form ``model(X, y=None)``.
        num_dims: a number of columns of X that the model accepts; the blocks do not depend on it.
        remainder: the kernel for the continuous sites, built on the same model; by default
            ``HMC(model, num_steps=5)`` with an adapted step size. ``NUTS(model)`` is the thorough
            and more expensive choice.

    Returns:
        A kernel for `numpyro.infer.MCMC`.

    Raises:
        ValueError: if there is no block for the support of a discrete site.

    Example:
        >>> from structbo.models import AdditiveGP
        >>> [type(kernel).__name__ for kernel, _ in default_sampler(AdditiveGP()).blocks]
        ['InformedEdges', 'HMC']
    """
    with double_precision():
        points, y = np.full((2, num_dims), 0.5), np.zeros(2)
        trace = prototype_trace(model, jax.random.key(0), (points, y), None)
    known = [
        (block(model), select)
        for support, block in BLOCKS.items()
        if (select := _sites_of_block(support))(trace)
    ]
    owned = [name for _, select in known for name in select(trace)]
    others = [name for name in _discrete_sites(trace) if name not in owned]
    numbered = [name for name in others if _is_numbered(_values(name, trace[name]["fn"]))]
    listed = [name for name in others if name not in numbered]
    blocks: list[tuple[MCMCKernel, SitesSpec]] = [*known]
    blocks += [(DiscreteGibbs(model), numbered)] if numbered else []
    blocks += [(GridGibbs(model), listed)] if listed else []
    is_continuous = [not trace[s]["fn"].support.is_discrete for s in latent_sample_sites(trace)]
    if any(is_continuous):
        if remainder is None:
            remainder = HMC(
                model,
                num_steps=5,
                trajectory_length=None,
                step_size=0.1,
                adapt_mass_matrix=False,
            )
        blocks.append((remainder, None))
    return Gibbs(blocks)


def _sites_of_block(support: type[Constraint]) -> Callable[[Any], Sequence[str]]:
    """A selector of sites by their support, with those inside a mixture left to its block."""

    def select(trace: Any) -> Sequence[str]:
        inside = family_sites(trace)
        if support is Family:
            return inside
        return [name for name in sites_with_support(support)(trace) if name not in inside]

    return select


def _discrete_sites(trace: Any) -> Sequence[str]:
    """The latent sites to be sampled, without those that NumPyro sums over."""
    return [
        name
        for name in latent_sample_sites(trace)
        if trace[name]["fn"].support.is_discrete
        and trace[name]["infer"].get("enumerate") != "parallel"
    ]


def _values(name: str, prior: Distribution) -> NDArray[Any]:
    """The numbers that each element of a discrete site may be.

    Raises:
        ValueError: if they are no finite set of numbers.
    """
    try:
        values: NDArray[Any] | None = np.asarray(prior.enumerate_support(expand=False))
    except NotImplementedError:
        values = None
    if values is None or values.size != len(values):
        raise ValueError(
            f"no block samples the discrete site {name!r}, a {type(prior).__name__} with support "
            f"{prior.support}. Blocks are known for {', '.join(kind.__name__ for kind in BLOCKS)} "
            "and finite sets of numbers: give the site a prior on one of these supports, or "
            "compose numpyro.infer.Gibbs of the blocks yourself, with one for this site."
        )
    return values.ravel()


def _is_numbered(values: NDArray[Any]) -> bool:
    """Whether these are the whole numbers from 0 on, as `DiscreteGibbs` takes for granted."""
    return np.array_equal(values, np.arange(len(values)))
