"""First stages of a search that find which parameters matter."""

from structbo.screening.coordinatewise import CoordinatewiseSampling
from structbo.screening.hierarchical import HierarchicalDiagonalSampling
from structbo.screening.screening import Screening

__all__ = [
    "CoordinatewiseSampling",
    "HierarchicalDiagonalSampling",
    "Screening",
]
