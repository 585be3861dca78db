"""Structures: random decompositions, and the priors of what they sample."""

from structbo.models.structures.active_set import (
    ActiveBernoulli,
    active_sets,
    sparse_axis_aligned,
    subset,
)
from structbo.models.structures.edge_matrix import BoundedTreewidth, EdgeBernoulli, edges
from structbo.models.structures.families import FamilyCategorical, mixture
from structbo.models.structures.known import fully_dependent, main_effects
from structbo.models.structures.near_identity import NearIdentity, least_alpha
from structbo.models.structures.partition import (
    CRPPartition,
    DirichletMultinomialPartition,
    UniformPartition,
    blocks,
    partitions,
)
from structbo.models.structures.projection import projected, projections
from structbo.models.structures.tree import UniformTree, random_tree

__all__ = [
    "ActiveBernoulli",
    "BoundedTreewidth",
    "CRPPartition",
    "DirichletMultinomialPartition",
    "EdgeBernoulli",
    "FamilyCategorical",
    "NearIdentity",
    "UniformPartition",
    "UniformTree",
    "active_sets",
    "blocks",
    "edges",
    "fully_dependent",
    "least_alpha",
    "main_effects",
    "mixture",
    "partitions",
    "projected",
    "projections",
    "random_tree",
    "sparse_axis_aligned",
    "subset",
]
