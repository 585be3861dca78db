"""What we believe about a function: kernels, structure priors and Gaussian processes."""

from structbo.models.active_sets import (
    ActiveBernoulli,
    active_set,
    active_sets,
    sparse_axis_aligned,
    subset,
)
from structbo.models.additive import AdditiveGP, Residual
from structbo.models.covariance import AdditiveCovariance
from structbo.models.decomposition import Decomposition, cliques, pairs
from structbo.models.edges import BoundedTreewidth, EdgeBernoulli, adjacency, edges
from structbo.models.gp import ConditionedGP, MarginalGP, SamplePath
from structbo.models.graphs import elimination_width
from structbo.models.kernels import Kernel, matern32, matern52, squared_exponential
from structbo.models.known_structures import fully_dependent, main_effects
from structbo.models.mixtures import FamilyCategorical, mixture
from structbo.models.near_identity import NearIdentity, least_alpha
from structbo.models.partitions import (
    CRPPartition,
    DirichletMultinomialPartition,
    UniformPartition,
    blocks,
    canonical,
    partition,
    partitions,
)
from structbo.models.priors import FiniteUniform, dimension_scaled, moderate
from structbo.models.projections import OuterBox, outer_box_ratio, projected, projections
from structbo.models.trees import UniformTree, random_tree, spanning_tree

__all__ = [
    "ActiveBernoulli",
    "AdditiveCovariance",
    "AdditiveGP",
    "BoundedTreewidth",
    "CRPPartition",
    "ConditionedGP",
    "Decomposition",
    "DirichletMultinomialPartition",
    "EdgeBernoulli",
    "FamilyCategorical",
    "FiniteUniform",
    "Kernel",
    "MarginalGP",
    "NearIdentity",
    "OuterBox",
    "Residual",
    "SamplePath",
    "UniformPartition",
    "UniformTree",
    "active_set",
    "active_sets",
    "adjacency",
    "blocks",
    "canonical",
    "cliques",
    "dimension_scaled",
    "edges",
    "elimination_width",
    "fully_dependent",
    "least_alpha",
    "main_effects",
    "matern32",
    "matern52",
    "mixture",
    "moderate",
    "outer_box_ratio",
    "pairs",
    "partition",
    "partitions",
    "projected",
    "projections",
    "random_tree",
    "spanning_tree",
    "sparse_axis_aligned",
    "squared_exponential",
    "subset",
]
