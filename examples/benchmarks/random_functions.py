"""Random functions with known structures, one per family and seed."""

from typing import Any

import numpy as np
from posterior_data import GRID, random_pairs


class Rotated:
    """A sum of waves and bowls along random directions, around a random point.

    Args:
        seed: seed of the directions and of the point.
        num_dims: number of variables, each in the unit interval.
        num_directions: number of orthogonal directions, each with a wave and a bowl.
    """

    def __init__(self, seed: int, num_dims: int = 10, num_directions: int = 10) -> None:
        rng = np.random.default_rng([seed, num_dims])
        self.D, self.f_opt = num_dims, float(num_directions)
        self._directions = np.linalg.qr(rng.normal(size=(num_dims, num_directions)))[0]
        self.center = rng.uniform(0.2, 0.8, num_dims)

    def __call__(self, x: np.ndarray) -> np.ndarray:
        z = 4.0 * (x - self.center) @ self._directions
        return np.asarray((np.cos(3.0 * z) - 0.5 * z**2).sum(1))


def problem_of(family: str, seed: int) -> Any:
    """The function of a family with a seed; its value at the optimum is `f_opt`."""
    if family == "rotated10":
        return Rotated(seed)
    from problems import GraphGP

    num_dims, edges = {
        "star10": (10, [(0, d) for d in range(1, 10)]),
        "grid9": (9, GRID),
        "graph15": (15, random_pairs(15, seed)),
    }[family]
    return GraphGP(f"{family}.{seed}", num_dims, edges, seed)
