"""The order of observations: those first that are inducing points where there are many."""

import numpy as np
from numpy.typing import NDArray

from structbo.models.foundation.arrays import FloatArray
from structbo.models.likelihood import inducing_rows

BEST_SHARE = 1 / 8
"""Of the inducing points; these are the best points, around which the maximum is sought."""


def inducing_first(x: FloatArray, y: FloatArray) -> NDArray[np.intp]:
    """The order in which inducing points come first; as they are where the likelihood is exact.

    The best points, and then always the one that is farthest from all that were taken. The rest
    stays as it is.

    Args:
        x: points of the unit cube, shape (n, D).
        y: values, to be maximized, shape (n,).

    Returns:
        All rows, shape (n,).

    References:
        Gonzalez 1985, "Clustering to minimize the maximum intercluster distance".

    Example:
        >>> inducing_first(np.array([[0.1], [0.5]]), np.array([0.0, 1.0])).tolist()
        [0, 1]
    """
    number = inducing_rows(len(x))
    if number is None:
        return np.arange(len(x))
    chosen = np.argsort(-y, kind="stable")[: int(BEST_SHARE * number)].tolist()
    distance = np.full(len(x), np.inf)
    for row in chosen:
        _approach(distance, x, row)
    while len(chosen) < number:
        chosen.append(int(distance.argmax()))
        _approach(distance, x, chosen[-1])
    rest = np.setdiff1d(np.arange(len(x)), chosen)
    return np.concatenate([chosen, rest])


def _approach(distance: FloatArray, x: FloatArray, row: int) -> None:
    """Lowers the squared distances from all that were taken by one more, which is out then."""
    np.minimum(distance, np.square(x - x[row]).sum(1), out=distance)
    distance[row] = -1.0
