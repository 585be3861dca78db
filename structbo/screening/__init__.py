"""First stages of a search that find which parameters matter."""

from structbo.screening.coordinatewise import CoordinatewiseSampling
from structbo.screening.fixed_sample import (
    difference_statistic,
    expected_evaluations,
    is_active,
    least_variance,
    pairs_needed,
    threshold,
)
from structbo.screening.hierarchical import HierarchicalDiagonalSampling
from structbo.screening.screening import Screening

__all__ = [
    "CoordinatewiseSampling",
    "HierarchicalDiagonalSampling",
    "Screening",
    "difference_statistic",
    "expected_evaluations",
    "is_active",
    "least_variance",
    "pairs_needed",
    "threshold",
]
