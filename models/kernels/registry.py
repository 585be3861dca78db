"""The kernels by name."""

from structbo.models.kernels.centered import Centered
from structbo.models.kernels.kernel import Kernel
from structbo.models.kernels.level_correlations import LevelCorrelations
from structbo.models.kernels.levels import Exchangeable
from structbo.models.kernels.periodic import Periodic
from structbo.models.kernels.stationary import matern32, matern52, squared_exponential

KERNELS: dict[str, Kernel] = {
    "squared_exponential": squared_exponential,
    "matern32": matern32,
    "matern52": matern52,
    "periodic": Periodic(),
    "level_correlations": LevelCorrelations(num_levels=3),
    "exchangeable": Exchangeable(num_levels=3),
    "centered": Centered(matern52),
    "centered_levels": Centered(LevelCorrelations(num_levels=3, site="centered_correlations")),
}
"""All shipped kernels, with one setting each; tests of kernels use these rows."""
