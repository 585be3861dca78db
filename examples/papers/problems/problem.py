"""What a problem is: a function to maximize over a box, and what is known about it."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float


class Problem(NamedTuple):
    """A function to maximize.

    Args:
        function: from a point, shape (D,), to its value without noise.
        bounds: the range of every parameter.
        maximum: its largest value, or None if it is unknown.
        truth: what the oracle of a paper knows, as arguments of its recipe.
    """

    function: Callable[[Float[np.ndarray, " D"]], float]
    bounds: list[tuple[float, float]]
    maximum: float | None = None
    truth: Mapping[str, Any] = MappingProxyType({})

    @property
    def num_dims(self) -> int:
        """The number of parameters."""
        return len(self.bounds)
