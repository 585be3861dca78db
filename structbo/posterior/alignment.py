"""Aligns the directions of different draws, whose order and signs are arbitrary."""

import numpy as np
from numpy.typing import ArrayLike, NDArray


def aligned(W: ArrayLike, reference: ArrayLike) -> NDArray[np.float64]:
    """Draws of projections with their columns in the order and with the signs of a reference.

    The order is the one with the largest sum of absolute cosines. Lengths of columns, which go
    with the lengthscales, are left alone.

    Args:
        W: draws, shape (..., D, P).
        reference: for example the truth or one of the draws, shape (D, P).

    Returns:
        Shape (..., D, P).

    Raises:
        ValueError: if the shapes do not match.

    Example:
        >>> aligned([[0.0, -2.0], [1.0, 0.1]], np.eye(2)).tolist()
        [[2.0, 0.0], [-0.1, 1.0]]
    """
    draws, target = np.asarray(W, float), np.asarray(reference, float)
    if target.ndim != 2 or draws.shape[-2:] != target.shape:
        raise ValueError(
            f"reference must have the shape (D, P) of every draw: draws have shape {draws.shape}, "
            f"reference has shape {target.shape}."
        )
    flat = draws.reshape(-1, *target.shape)
    return np.stack([_aligned(draw, target) for draw in flat]).reshape(draws.shape)


def _aligned(draw: NDArray[np.float64], target: NDArray[np.float64]) -> NDArray[np.float64]:
    from scipy.optimize import linear_sum_assignment

    cosines = _directions(target).T @ _directions(draw)
    rows, columns = linear_sum_assignment(np.abs(cosines), maximize=True)
    return draw[:, columns] * np.where(cosines[rows, columns] < 0.0, -1.0, 1.0)


def _directions(W: NDArray[np.float64]) -> NDArray[np.float64]:
    lengths = np.linalg.norm(W, axis=0)
    return W / np.where(lengths > 0.0, lengths, 1.0)
