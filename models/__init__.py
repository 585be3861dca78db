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
from structbo.models.edges import EdgeBernoulli, adjacency, edges
from structbo.models.gp import ConditionedGP, MarginalGP, SamplePath
from structbo.models.kernels import Kernel, matern32, matern52, squared_exponential
from structbo.models.priors import FiniteUniform, dimension_scaled

__all__ = [
    "ActiveBernoulli",
    "AdditiveCovariance",
    "AdditiveGP",
    "ConditionedGP",
    "Decomposition",
    "EdgeBernoulli",
    "FiniteUniform",
    "Kernel",
    "MarginalGP",
    "Residual",
    "SamplePath",
    "active_set",
    "active_sets",
    "adjacency",
    "cliques",
    "dimension_scaled",
    "edges",
    "matern32",
    "matern52",
    "pairs",
    "sparse_axis_aligned",
    "squared_exponential",
    "subset",
]
