"""Aligns the directions of different draws, whose order and signs are arbitrary."""

import numpy as np
from jaxtyping import Float
from numpy.typing import ArrayLike


def aligned(W: ArrayLike, reference: ArrayLike) -> Float[np.ndarray, "*draws D P"]:
    """Projections with columns permuted and signs flipped to match a reference.

    The permutation maximizes the sum of absolute cosines. Lengths of columns do not change: they
    belong to the lengthscales.

    Args:
        W: draws of a projection, shape (..., D, P).
        reference: the projection to match, for example the truth or one draw, shape (D, P).

    Raises:
        ValueError: if the shapes do not match.

    Example:
        >>> aligned([[0.0, -2.0], [1.0, 0.1]], np.eye(2)).tolist()
        [[2.0, 0.0], [-0.1, 1.0]]
    """
    draws, target = np.asarray(W, float), np.asarray(reference, float)
    if target.ndim != 2 or draws.shape[-2:] != target.shape:
        raise ValueError(
            f"reference must have the shape (D, P) of one draw, got shape {target.shape} and draws "
            f"of shape {draws.shape}."
        )
    flat = draws.reshape(-1, *target.shape)
    return np.stack([_aligned(draw, target) for draw in flat]).reshape(draws.shape)


def _aligned(
    draw: Float[np.ndarray, "D P"], target: Float[np.ndarray, "D P"]
) -> Float[np.ndarray, "D P"]:
    from scipy.optimize import linear_sum_assignment

    cosines = _directions(target).T @ _directions(draw)
    rows, columns = linear_sum_assignment(np.abs(cosines), maximize=True)
    return draw[:, columns] * np.where(cosines[rows, columns] < 0.0, -1.0, 1.0)


def _directions(W: Float[np.ndarray, "D P"]) -> Float[np.ndarray, "D P"]:
    lengths = np.linalg.norm(W, axis=0)
    return W / np.where(lengths > 0.0, lengths, 1.0)
