"""Short runs of `minimize` and `maximize`, with objectives that are good, or raise."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

import structbo

BOX = np.array([[-1.0, 1.0], [0.0, 10.0]])
MANY = 100
"""More quasi-random points than any test here evaluates: no model, hence fast."""

minimize = partial(structbo.minimize, show_progress_bar=False)
maximize = partial(structbo.maximize, show_progress_bar=False)


def bowl(point: np.ndarray) -> float:
    """At least 0, at (0.3, 6)."""
    return float((point[0] - 0.3) ** 2 + (point[1] / 10.0 - 0.6) ** 2)


def failing_at(
    number: int, error: type[BaseException], objective: Callable[[Any], float] = bowl
) -> Callable[[Any], float]:
    """Raises at one call, counted from 0."""
    calls = iter(range(1000))

    def function(point: Any) -> float:
        if next(calls) == number:
            raise error("out of memory")
        return objective(point)

    return function
