"""Three draws of a posterior with different graphs, and acquisitions on them."""

from typing import NamedTuple

import jax
import numpy as np

from structbo.acquisition import Acquisition, AdditiveAcquisition, Search
from structbo.data import Data
from structbo.models import ConditionedGP

NUM_DIMS, NUM_GRID, NUM_DRAWS = 4, 5, 3
CATEGORICAL = 3
LEVELS = [None, None, None, np.array([0.0, 0.5, 1.0])]
EDGES = [[(0, 1), (1, 2)], [(0, 1), (0, 3)], []]
"""Edges of the three draws: one edge is shared, and one draw has only main effects."""
GRID = np.linspace(0.0, 1.0, NUM_GRID)
NUM_MEMBERS = NUM_DIMS + NUM_DIMS * (NUM_DIMS - 1) // 2
Values = dict[tuple[int, ...], np.ndarray]


class Case(NamedTuple):
    """Three draws of the posterior, and the acquisitions on them by component."""

    posteriors: ConditionedGP
    search: Search
    acquisitions: dict[str, AdditiveAcquisition]
    points: np.ndarray
    values: dict[str, list[Values]]
    """Components by acquisition, draw and scope, at all points of the grid."""


def edge_matrix(pairs: list[tuple[int, int]]) -> np.ndarray:
    matrix = np.zeros((NUM_DIMS, NUM_DIMS), int)
    for i, j in pairs:
        matrix[i, j] = matrix[j, i] = 1
    return matrix


def observations() -> Data:
    rng = np.random.default_rng(0)
    x = rng.random((9, NUM_DIMS))
    x[:, CATEGORICAL] = rng.choice(LEVELS[CATEGORICAL], 9)
    return Data(x, rng.normal(size=9), np.arange(9) < 7)


def one(case: Case, draw: int) -> ConditionedGP:
    return jax.tree.map(lambda leaf: np.asarray(leaf)[draw], case.posteriors)


evaluate = jax.jit(Acquisition.__call__)
