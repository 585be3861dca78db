"""Observations as models take them: padded, standardized, to be maximized."""

from typing import Any, NamedTuple

import numpy as np
from jax import Array
from numpy.typing import NDArray

from structbo.data.inducing import inducing_first
from structbo.models.foundation.arrays import FloatArray

BUCKETS = (64, 128, 256, 384, 512, 768, 1024)


def padded_size(n: int) -> int:
    """The least of a few sizes that is enough, so that few shapes are ever compiled.

    Example:
        >>> padded_size(100), padded_size(1025)
        (128, 1536)
    """
    return next((b for b in BUCKETS if b >= n), -(-n // 512) * 512)


def evenly_spaced(num_rows: int, num_kept: int) -> NDArray[np.int_]:
    """Indices of so many of the rows, from the first to the last, evenly spaced.

    Example:
        >>> evenly_spaced(5, 3)
        array([0, 2, 4])
    """
    return np.linspace(0, num_rows - 1, num_kept).astype(int)


class Data(NamedTuple):
    """Observations, padded so that few shapes are ever compiled.

    Args:
        x: points of the unit cube, shape (n, D).
        y: standardized observations, to be maximized, shape (n,). In proposals, NaN marks a point
            whose value is unknown; see `MarginalGP.condition`.
        mask: which rows are data, bool, shape (n,).
        known_noise: variances that are known of single observations, shape (n,); None if none is.
    """

    x: Array | np.ndarray
    y: Array | np.ndarray
    mask: Array | np.ndarray
    known_noise: Array | np.ndarray | None = None

    @classmethod
    def padded(cls, x: np.ndarray, y: np.ndarray, known_noise: np.ndarray | None = None) -> "Data":
        """Pads with rows of zeros up to the next of a few sizes; inducing points come first."""
        n, num_dims = x.shape
        size, order = padded_size(n), inducing_first(x, y)

        def filled(given: np.ndarray, *shape: int) -> np.ndarray:
            rows = np.zeros((size, *shape))
            rows[:n] = given[order]
            return rows

        known = None if known_noise is None else filled(known_noise)
        return cls(filled(x, num_dims), filled(y), np.arange(size) < n, known)

    def thinned(self, num_rows: int) -> "Data":
        """So many of the rows, evenly spaced, padded anew; `num_rows` is at most their number.

        Example:
            >>> data = Data.padded(np.arange(5.0)[:, None], np.arange(5.0))
            >>> data.thinned(3).y[:3]
            array([0., 2., 4.])
        """
        (rows,) = np.nonzero(np.asarray(self.mask))
        kept = rows[evenly_spaced(len(rows), num_rows)]
        known = None if self.known_noise is None else np.asarray(self.known_noise)[kept]
        return Data.padded(np.asarray(self.x)[kept], np.asarray(self.y)[kept], known)

    @property
    def arguments(self) -> tuple[tuple[Any, Any], dict[str, Any]]:
        """Positional and keyword arguments of a model; known noise is one where there is any."""
        return (self.x, self.y), {"mask": self.mask, **known_noise_argument(self.known_noise)}


def known_noise_argument(known_noise: Any) -> dict[str, Any]:
    """The keyword argument of a model; none without known noise, as models need not take it."""
    return {} if known_noise is None else {"known_noise": known_noise}


ROUND_OFF = 1e-14
"""A smaller standard deviation, relative to the largest value, counts as zero."""


def padded(points: FloatArray) -> FloatArray:
    """Points (n, D), the first of which are repeated up to the next of a few sizes.

    Example:
        >>> padded(np.zeros((65, 3))).shape
        (128, 3)
    """
    return np.resize(points, (padded_size(len(points)), points.shape[1]))


def with_worst(values: FloatArray) -> FloatArray:
    """Values to be maximized, (n,), where failures, which are not finite, have the worst one.

    Example:
        >>> with_worst(np.array([3.0, np.nan, 1.0]))
        array([3., 1., 1.])
    """
    finite = np.isfinite(values)
    return np.where(finite, values, values[finite].min())


class Standardized(NamedTuple):
    """Values with mean 0 and deviation 1, and the way back: ``location + scale * values``.

    Args:
        values: shape (n,).
        location: the mean of what was given.
        scale: its standard deviation; 1 if it differs by no more than round-off, as its true scale
            is unknown.
    """

    values: FloatArray
    location: float
    scale: float

    @classmethod
    def of(cls, given: FloatArray) -> "Standardized":
        """Values to be maximized, shape (n,); failures, not finite, become the worst value.

        Values that differ by no more than round-off are all zero.

        Example:
            >>> Standardized.of(np.array([3.0, 1.0, np.nan, 3.0]))
            Standardized(values=array([ 1., -1., -1.,  1.]), location=2.0, scale=1.0)
        """
        filled = with_worst(given)
        largest = float(np.abs(filled).max()) or 1.0
        scaled = filled / largest  # squares of the largest numbers would overflow
        centered = scaled - scaled.mean()
        deviation = float(centered.std())
        location = largest * float(scaled.mean())
        if deviation <= ROUND_OFF:
            return cls(np.zeros_like(centered), location, 1.0)
        return cls(centered / deviation, location, largest * deviation)
