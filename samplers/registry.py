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
"""A function from a model to a block: its class, or ``partial(EdgeGibbs, num_moves=5)``."""
Blocks = Mapping[type[Constraint] | str, BlockFactory]
"""Block factories by the class of a support or the name of a site."""

_SHIPPED: tuple[type[StructureBlock], ...] = (
    InformedEdges,
    PartitionMoves,
    ActiveGibbs,
    GridGibbs,
    PriorDraws,
)
BLOCKS: dict[type[Constraint] | str, BlockFactory] = {block.support: block for block in _SHIPPED}
"""The default block of every support. Entries can be added at run time."""


def block_of(name: str, support: Constraint, blocks: Blocks) -> BlockFactory | None:
    """The block for the name of a site, else for the nearest class of its support, if any.

    Args:
        name: name of the site.
        support: support of the site; for independent elements, the support of one element counts.
        blocks: the available blocks.

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
    """Whether the blocks of a factory declare detailed balance."""
    made = factory.func if isinstance(factory, partial) else factory
    return bool(getattr(made, "is_reversible", False))
