"""The order of observations that puts inducing points first."""

import numpy as np
from jaxtyping import Float, Int

from structbo.models.likelihood import inducing_rows

BEST_SHARE = 1 / 8
"""Share of the best points among the inducing points; the maximum is sought around them."""


def inducing_first(
    x: Float[np.ndarray, "n D"], y: Float[np.ndarray, " n"]
) -> Int[np.ndarray, " n"]:
    """The order with inducing points first; unchanged if the likelihood is exact.

    Inducing points are the best points, then repeatedly the point farthest from all taken so far.
    The other points keep their order.

    Args:
        x: points of the unit cube.
        y: values, larger is better.

    Returns:
        Indices of all rows.

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


def _approach(distance: Float[np.ndarray, " n"], x: Float[np.ndarray, "n D"], row: int) -> None:
    """Lowers the squared distances to the taken points by a new one, and excludes that one."""
    np.minimum(distance, np.square(x - x[row]).sum(1), out=distance)
    distance[row] = -1.0
