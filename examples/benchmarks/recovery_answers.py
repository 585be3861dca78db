"""The interface of the methods that recovery.py compares."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

import structbo as sb


class Intervals(NamedTuple):
    """Estimated shares of variance; ends of 90 % intervals are NaN for methods without."""

    share: np.ndarray
    lower: np.ndarray
    upper: np.ndarray

    @classmethod
    def none(cls, share: np.ndarray) -> "Intervals":
        """Estimates without intervals."""
        return cls(share, np.full(share.shape, np.nan), np.full(share.shape, np.nan))


class Answer(NamedTuple):
    """Predictions, shares and edge probabilities that a method learned from data.

    Args:
        predict: means and variances of new observations at points of the unit cube.
        main: shares of the main effects, shape (D,).
        pairs: shares of the pairs, shape (D, D); NaN for methods without.
        edges: probabilities of edges, shape (D, D); NaN for methods without.
        seconds: CPU seconds until the method could answer, without predictions and shares.
        r_hat: largest R-hat of a Markov chain.
    """

    predict: Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]
    main: Intervals
    pairs: Intervals
    edges: np.ndarray
    seconds: float
    r_hat: float = np.nan


Method = Callable[[sb.Space, np.ndarray, np.ndarray, int], Answer]
"""A function of a space, points of the unit cube, their observations and a seed."""
