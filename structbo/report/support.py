"""Claims about the whole search space that runs chosen by a search support.

A search leaves most of the space unexplored. There the posterior relies on the assumption that the
function varies as it does where the runs are, and its intervals hold only as far as that is true.
Predictions of the runs that lie far from all others test the assumption. The part of the variation
that they leave unexplained may be due to any parameter, so every interval grows by that part.
"""

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from structbo.models.foundation.arrays import FloatArray
from structbo.posterior import Calibration, Importances, Shares
from structbo.report.digits import parameter_texts
from structbo.report.lists import some
from structbo.space import Space

MAX_UNEXPLAINED = 0.5
"""If predictions leave a larger share unexplained, the report claims nothing about the space."""
MAX_LEVELS = 6
"""Parameters with more levels are divided into quarters of their range."""
MIN_FAR = 5
"""Fewer runs far from the others are no test of predictions."""


@dataclass(frozen=True, eq=False)
class Support:
    """How well the runs predict the function over the whole space.

    Args:
        is_far: which runs were more uncertain, given all other runs, than a quarter of the space
            is; shape (n,).
        unexplained: bound of the share of the function's variation over the space that predictions
            leave unexplained, in [0, 1].

    References:
        Mila et al. 2022, "Nearest neighbour distance matching leave-one-out cross-validation for
        map validation", for tests at the distances at which predictions are made.
    """

    is_far: NDArray[np.bool_]
    unexplained: float

    @classmethod
    def of(cls, calibration: Calibration, mean: FloatArray, variance: FloatArray) -> Self:
        """Compares predictions of runs from all others with predictions over the space.

        Args:
            calibration: of the runs.
            mean: posterior mean of the function at points that are spread over the space, (m,).
            variance: its posterior variance at these points, shape (m,).
        """
        is_far = calibration.deviation >= np.sqrt(np.quantile(variance, 0.25))
        far = calibration.chosen(is_far).explained if is_far.sum() >= MIN_FAR else 0.0
        unknown, total = float(variance.mean()), float(variance.mean() + mean.var())
        by_model = unknown / total if total > 0.0 else 1.0
        return cls(is_far, min(1.0, max(by_model, 1.0 - far)))

    def widened(self, importances: Importances) -> Importances:
        """Shares of the variation if any parameter may cause what is unexplained.

        The function is the sum of a predicted part, whose shares the posterior knows, and an
        unexplained part, whose shares may be anything from 0 to 1. So the probability that a share
        matters is unknown.
        """
        kinds = importances._asdict()
        names = kinds.pop("names")
        return Importances(names, *(self._widened(shares) for shares in kinds.values()))

    def _widened(self, shares: Shares) -> Shares:
        known = 1.0 - self.unexplained
        upper = known * shares.upper + self.unexplained
        matters = np.full_like(shares.matters, np.nan)
        values = known * shares.mean, known * shares.lower, upper, shares.mcse, matters
        return Shares(*map(np.asarray, values))


def outranked(importances: Importances) -> tuple[int, NDArray[np.bool_]]:
    """The parameter whose share is surely largest, and those whose shares are surely smaller.

    Returns:
        The parameter with the largest lower bound of its total share, and which parameters, shape
        (D,), have an upper bound below that.
    """
    total = importances.total
    top = int(np.argmax(total.lower))
    return top, total.upper < total.lower[top]


def most_frequent(space: Space, X: FloatArray) -> list[str]:
    """The value, or the quarter of the range, with the most points, for every parameter.

    Values that no point has are named, too, if the parameter has few or is a category.

    Args:
        space: of the points.
        X: points of the unit cube, shape (n, D).

    Example:
        >>> from structbo.space import Categorical
        >>> space = Space({"x": (0.0, 40.0), "acid": Categorical(["HCl", "HBr", "HI"])})
        >>> most_frequent(space, np.array([[0.1, 0.0], [0.2, 0.0], [0.9, 1.0]]))
        ['0 to 10 in 2 of 3 runs', 'HCl in 2 of 3 runs; never HBr']
    """
    found = []
    for parameter, u in zip(space.parameters, X.T, strict=True):
        levels = parameter.levels
        if levels is not None and (parameter.is_categorical or len(levels) <= MAX_LEVELS):
            nearest = np.abs(u[:, None] - levels).argmin(1)
            counts = np.bincount(nearest, minlength=len(levels))
            values = [str(parameter.from_unit(float(level))) for level in levels]
            place = values[counts.argmax()]
            never = [value for value, count in zip(values, counts, strict=True) if not count]
        else:
            quarters = np.minimum((4.0 * u).astype(int), 3)
            counts = np.bincount(quarters, minlength=4)
            ends = (counts.argmax() + np.arange(2)) / 4.0
            values = [parameter.from_unit(float(end)) for end in ends]
            place = " to ".join(parameter_texts(parameter, values))
            never = []
        unseen = f"; never {some(never)}" if never else ""
        found.append(f"{place} in {counts.max()} of {len(u)} runs{unseen}")
    return found
