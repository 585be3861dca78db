"""One-dimensional correlation functions, the factors of every product kernel."""

from structbo.models.kernels.centered import Centered
from structbo.models.kernels.factors import Distances, correlation_factors, spectral_frequencies
from structbo.models.kernels.kernel import Kernel, KernelGroup
from structbo.models.kernels.level_correlations import LevelCorrelations
from structbo.models.kernels.levels import Exchangeable
from structbo.models.kernels.periodic import Periodic
from structbo.models.kernels.registry import KERNELS
from structbo.models.kernels.stationary import Stationary, matern32, matern52, squared_exponential

__all__ = [
    "KERNELS",
    "Centered",
    "Distances",
    "Exchangeable",
    "Kernel",
    "KernelGroup",
    "LevelCorrelations",
    "Periodic",
    "Stationary",
    "correlation_factors",
    "matern32",
    "matern52",
    "spectral_frequencies",
    "squared_exponential",
]
