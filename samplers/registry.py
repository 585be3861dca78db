"""The default block for every support."""

from collections.abc import Callable, Mapping
from functools import partial

from numpyro.distributions.constraints import Constraint
from numpyro.infer.mcmc import MCMCKernel

from structbo.models.likelihood import Model
from structbo.samplers.active_gibbs import ActiveGibbs
from structbo.samplers.grid_gibbs import GridGibbs
from structbo.samplers.informed_edges import InformedEdges
from structbo.samplers.partition_moves import PartitionMoves
from structbo.samplers.prior_draws import PriorDraws
from structbo.samplers.structure_block import StructureBlock, element_support

BlockFactory = Callable[[Model], MCMCKernel]
"""From a model to a block: its class, or ``partial(EdgeGibbs, num_moves=5)``."""
Blocks = Mapping[type[Constraint] | str, BlockFactory]
"""Blocks by the class of the supports that they move, or by the name of a site."""

_SHIPPED: tuple[type[StructureBlock], ...] = (
    InformedEdges,
    PartitionMoves,
    ActiveGibbs,
    GridGibbs,
    PriorDraws,
)
BLOCKS: dict[type[Constraint] | str, BlockFactory] = {block.support: block for block in _SHIPPED}
"""The block of every support; a new one is one more line above, or an entry added at run time."""


def block_of(name: str, support: Constraint, blocks: Blocks) -> BlockFactory | None:
    """The block for the name of a site, else for the nearest class of its support, if any.

    Args:
        name: of the site.
        support: of the site; a site of independent elements has the support of one element.
        blocks: to choose from.

    Example:
        >>> from structbo.models.supports import adjacency
        >>> block_of("Z", adjacency, BLOCKS).__name__
        'InformedEdges'
    """
    if name in blocks:
        return blocks[name]
    kinds = type(element_support(support)).__mro__
    return next((blocks[kind] for kind in kinds if kind in blocks), None)


def is_reversible(factory: BlockFactory) -> bool:
    """Whether the blocks of a factory say that they satisfy detailed balance."""
    made = factory.func if isinstance(factory, partial) else factory
    return bool(getattr(made, "is_reversible", False))
