"""Finite differences along every coordinate: the baseline of variable selection."""

import numpy as np
from jaxtyping import Float

from structbo.models.foundation.arguments import check_fraction, checked_count
from structbo.screening.screening import Screening
from structbo.space import Space, SpaceLike


class CoordinatewiseSampling(Screening):
    """Coordinate-wise sampling (CWS): the same number of differences along each coordinate.

    The parameters with the largest mean squared differences are active; their number must be given.
    The cost is linear in the number of parameters. The method is the baseline of
    `HierarchicalDiagonalSampling`. If evaluations near the background point fail more often than
    not, another random point takes its place; their differences are not repeated.

    Args:
        space: the search space, or what `Space` accepts.
        num_active: how many parameters matter.
        num_differences: pairs of evaluations along each coordinate, at random places.
        spacing: distance of the two places of a pair, relative to the range; by default random.
        budget: maximum number of evaluations, by default enough for all differences.
        seed: seed of the background point and the differences.

    Warns:
        UserWarning: in `ask`, if several background points failed.

    References:
        Chen, Castro and Krause 2012, section 5.

    Example:
        >>> cws = CoordinatewiseSampling([(0.0, 1.0)] * 5, num_active=1)
        >>> cws.run(lambda params: params["x3"] ** 2)
        >>> cws.active, len(cws.trials)
        (('x3',), 50)
    """

    def __init__(
        self,
        space: SpaceLike,
        num_active: int,
        *,
        num_differences: int = 5,
        spacing: float | None = None,
        budget: int | None = None,
        seed: int = 0,
    ) -> None:
        space = Space(space)
        self._needed = 2 * checked_count("num_differences", num_differences) * space.num_dims
        super().__init__(space, self._needed if budget is None else budget, seed)
        if checked_count("num_active", num_active, least=0) > space.num_dims:
            raise ValueError(
                f"num_active must be between 0 and {space.num_dims}, the number of parameters, "
                f"got {num_active!r}."
            )
        if spacing is not None:
            check_fraction("spacing", spacing)
        self.num_active = num_active
        self._spacing, self._start = spacing, 0.0
        self._num_before = 0

    @property
    def is_decided(self) -> bool:
        return len(self._trials) >= self._needed

    @property
    def variances(self) -> Float[np.ndarray, " D"]:
        """Half the mean squared difference along each coordinate, or NaN."""
        num_dims = self.space.num_dims
        differences: list[list[float]] = [[] for _ in range(num_dims)]
        for number in range(0, len(self._trials) - 1, 2):
            first, second = self._value(number), self._value(number + 1)
            if first is not None and second is not None:
                differences[number // 2 % num_dims].append(first - second)
        return np.array([0.5 * np.mean(np.square(d)) if d else np.nan for d in differences])

    @property
    def active(self) -> tuple[str, ...]:
        variances = np.nan_to_num(self.variances, nan=-1.0)
        largest = np.argsort(-variances, kind="stable")[: self.num_active]
        return tuple(self.space.names[d] for d in sorted(largest))

    def active_probabilities(self) -> Float[np.ndarray, " D"]:
        """0.95 for active parameters, 0.05 for the others."""
        return np.where(np.isin(self.space.names, self.active), 0.95, 0.05)

    def _note(self, number: int) -> None:
        """Does nothing: evidence follows from all differences at the end."""

    def _next(self, rng: np.random.Generator) -> Float[np.ndarray, " D"]:
        if len(self._trials) % 2 == 0:  # both points of a pair have the same background
            self._check_background()
        dim = len(self._trials) // 2 % self.space.num_dims
        return self._along([dim], self._place(rng, is_second=len(self._trials) % 2 == 1))

    def _check_background(self) -> None:
        """Replaces the background point if evaluations with it fail more often than not."""
        states = [trial.state for trial in self._trials[self._num_before :]]
        if states.count("failed") > states.count("complete"):
            self._num_before = len(self._trials)
            self._replace_background()

    def _place(self, rng: np.random.Generator, *, is_second: bool) -> float:
        if self._spacing is None:
            return rng.random()
        if is_second:
            return self._start + self._spacing
        self._start = (1.0 - self._spacing) * rng.random()
        return self._start
