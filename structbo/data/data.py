"""Observations as models take them: padded, standardized, larger is better."""

from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int

from structbo.data.inducing import inducing_first
from structbo.models.foundation.arrays import AnyArray

BUCKETS = (64, 128, 256, 384, 512, 768, 1024)


def padded_size(n: int) -> int:
    """The smallest of a few sizes that holds n rows, to limit the number of compiled shapes.

    Example:
        >>> padded_size(100), padded_size(1025)
        (128, 1536)
    """
    return next((b for b in BUCKETS if b >= n), -(-n // 512) * 512)


def evenly_spaced(num_rows: int, num_kept: int) -> Int[np.ndarray, " {num_kept}"]:
    """Indices of ``num_kept`` rows, evenly spaced from the first to the last.

    Example:
        >>> evenly_spaced(5, 3)
        array([0, 2, 4])
    """
    return np.linspace(0, num_rows - 1, num_kept).astype(int)


class Data(NamedTuple):
    """Observations, padded to limit the number of compiled shapes.

    Args:
        x: points of the unit cube.
        y: standardized observations, larger is better. In proposals, NaN marks a point with unknown
            value; see `MarginalGP.condition`.
        mask: which rows are data.
        known_noise: known noise variances of the observations, or None.
    """

    x: Float[AnyArray, "n D"]
    y: Float[AnyArray, " n"]
    mask: Bool[AnyArray, " n"]
    known_noise: Float[AnyArray, " n"] | None = None

    @classmethod
    def padded(
        cls,
        x: Float[np.ndarray, "n D"],
        y: Float[np.ndarray, " n"],
        known_noise: Float[np.ndarray, " n"] | None = None,
        *,
        size: int | None = None,
    ) -> "Data":
        """Pads with rows of zeros, with the inducing points first.

        Args:
            x: points of the unit cube.
            y: standardized observations.
            known_noise: known noise variances of the observations, or None.
            size: the number of rows with padding, at least n; by default `padded_size`.
        """
        n, num_dims = x.shape
        size, order = size or padded_size(n), inducing_first(x, y)

        def filled(
            given: Float[np.ndarray, " n *row"], *shape: int
        ) -> Float[np.ndarray, " N *row"]:
            rows = np.zeros((size, *shape))
            rows[:n] = given[order]
            return rows

        known = None if known_noise is None else filled(known_noise)
        return cls(filled(x, num_dims), filled(y), np.arange(size) < n, known)

    def thinned(self, num_rows: int) -> "Data":
        """A padded subset of ``num_rows`` rows, evenly spaced.

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
        """Positional and keyword arguments of a model, with known noise if there is any."""
        return (self.x, self.y), {"mask": self.mask, **known_noise_argument(self.known_noise)}


def known_noise_argument(known_noise: Any) -> dict[str, Any]:
    """The keyword argument for a model; empty without known noise, which not every model takes."""
    return {} if known_noise is None else {"known_noise": known_noise}


ROUND_OFF = 1e-14
"""Standard deviations below this, relative to the largest value, count as zero."""


def padded(points: Float[np.ndarray, "n D"]) -> Float[np.ndarray, "N D"]:
    """Points, padded to `padded_size` by repeating the first ones.

    Example:
        >>> padded(np.zeros((65, 3))).shape
        (128, 3)
    """
    return np.resize(points, (padded_size(len(points)), points.shape[1]))


def with_worst(values: Float[np.ndarray, " n"]) -> Float[np.ndarray, " n"]:
    """Values with failures, which are not finite, replaced by the smallest value.

    Example:
        >>> with_worst(np.array([3.0, np.nan, 1.0]))
        array([3., 1., 1.])
    """
    finite = np.isfinite(values)
    return np.where(finite, values, values[finite].min())


class Standardized(NamedTuple):
    """Values with mean 0 and standard deviation 1; the inverse is ``location + scale * values``.

    Args:
        values: standardized values.
        location: mean of the given values.
        scale: their standard deviation; 1 if they are equal up to round-off.
    """

    values: Float[np.ndarray, " n"]
    location: float
    scale: float

    @classmethod
    def of(cls, given: Float[np.ndarray, " n"]) -> "Standardized":
        """Standardizes values; failures, which are not finite, become the smallest value.

        Values that are equal up to round-off become zero.

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

    @classmethod
    def unchanged(cls, given: Float[np.ndarray, " n"]) -> "Standardized":
        """The values as they are; failures, which are not finite, become the smallest value.

        Example:
            >>> Standardized.unchanged(np.array([3.0, 1.0, np.nan]))
            Standardized(values=array([3., 1., 1.]), location=0.0, scale=1.0)
        """
        return cls(with_worst(given), 0.0, 1.0)
