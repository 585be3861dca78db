"""Probabilities of pairs of parameters: where they come from, and which of many are shown."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from structbo.models.foundation.arguments import checked_count
from structbo.models.foundation.arrays import FloatArray
from structbo.plots.sources import Learned, as_posterior
from structbo.posterior import Probabilities


def pairs_of(
    source: Learned | Probabilities | ArrayLike, names: Sequence[str] | None
) -> tuple[FloatArray, tuple[str, ...]]:
    """Probabilities of pairs, (D, D), and the names of the D dimensions.

    Args:
        source: a posterior or what has one, for pairs that share a component; or probabilities.
        names: in place of those that the source has.

    Raises:
        ValueError: if it is no symmetric matrix with a row per name, or there are no names.
    """
    if isinstance(source, Learned):
        source = as_posterior(source).together_probabilities()
    if isinstance(source, Probabilities):
        names = source.names if names is None else names
        source = source.mean
    if names is None or len(names) == 0:
        raise ValueError("names must be given, as an array of probabilities has none.")
    return edge_matrix("probabilities", source, len(names)), tuple(names)


def edge_matrix(name: str, matrix: ArrayLike, size: int) -> FloatArray:
    """A checked symmetric matrix of probabilities."""
    array = np.asarray(matrix, float)
    if array.shape != (size, size):
        raise ValueError(
            f"{name} must have shape {(size, size)}, one row per name, got {array.shape}."
        )
    if not ((array >= 0.0) & (array <= 1.0)).all():
        raise ValueError(f"{name} must be in [0, 1], got {array}.")
    if not np.allclose(array, array.T):
        raise ValueError(f"{name} must be symmetric.")
    return array


def strongest(matrix: FloatArray, number: int) -> NDArray[np.intp]:
    """Indices of the dimensions of the most probable pairs, in their order.

    Example:
        >>> strongest(np.array([[0.0, 0.1, 0.9], [0.1, 0.0, 0.0], [0.9, 0.0, 0.0]]), 2).tolist()
        [0, 2]
    """
    off_diagonal = np.where(np.eye(len(matrix), dtype=bool), -1.0, matrix)
    order = np.argsort(-off_diagonal.max(1, initial=-1.0), kind="stable")
    return np.sort(order[: checked_count("max_names", number)])


def hidden(names: Sequence[str], shown: NDArray[np.intp]) -> str:
    """A line that says how many names are not shown; empty if none."""
    number = len(names) - len(shown)
    return f"({number} of {len(names)} parameters, of weaker pairs, not shown)" if number else ""
