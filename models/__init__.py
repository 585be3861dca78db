"""What we believe about a function: kernels, structure priors and Gaussian processes."""

from structbo.models.additive import AdditiveGP, Residual
from structbo.models.covariance import AdditiveCovariance
from structbo.models.decomposition import Decomposition, cliques, pairs
from structbo.models.gp import ConditionedGP, MarginalGP, SamplePath
from structbo.models.graphs import elimination_width
from structbo.models.kernels import Kernel, matern32, matern52, squared_exponential
from structbo.models.outer_box import OuterBox, outer_box_ratio
from structbo.models.priors import FiniteUniform, dimension_scaled, moderate
from structbo.models.structures import (
    ActiveBernoulli,
    BoundedTreewidth,
    CRPPartition,
    DirichletMultinomialPartition,
    EdgeBernoulli,
    FamilyCategorical,
    NearIdentity,
    UniformPartition,
    UniformTree,
    active_sets,
    blocks,
    edges,
    fully_dependent,
    least_alpha,
    main_effects,
    mixture,
    partitions,
    projected,
    projections,
    random_tree,
    sparse_axis_aligned,
    subset,
)
from structbo.models.supports import active_set, adjacency, canonical, partition, spanning_tree

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
