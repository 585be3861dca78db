"""Data sets with posteriors known from long runs, to compare samplers."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy.stats import qmc

sys.path.insert(0, str(Path(__file__).parents[1]))  # the folder of the package `papers`

from papers.problems.functions import hartmann6, styblinski_tang

NOISE = 0.01
NUM_TEST = 200
NUM_POINTS = 512
SVR = Path(__file__).parent / "results" / "posterior" / "svr.csv"
Function = Callable[[np.ndarray], np.ndarray]


class DataSet(NamedTuple):
    """Points of the unit cube and standardized values, and test points with values."""

    x: np.ndarray
    y: np.ndarray
    test_x: np.ndarray
    test_y: np.ndarray


def waves(num_dims: int, pairs: list[tuple[int, int]], seed: int) -> Function:
    """A sum of one wave per pair, and one of half its height per variable."""
    rng = np.random.default_rng(seed)
    slopes, shifts = rng.uniform(2.0, 6.0, (len(pairs), 2)), rng.uniform(0.0, 6.0, len(pairs))
    own, phases = rng.uniform(2.0, 6.0, num_dims), rng.uniform(0.0, 6.0, num_dims)

    def function(x: np.ndarray) -> np.ndarray:
        total = 0.5 * np.sin(own * x + phases).sum(1)
        for (i, j), (a, b), shift in zip(pairs, slopes, shifts, strict=True):
            total = total + np.sin(a * x[:, i] + b * x[:, j] + shift)
        return np.asarray(total)

    return function


def random_pairs(num_dims: int, seed: int) -> list[tuple[int, int]]:
    """Random pairs, as many as variables."""
    every = np.transpose(np.triu_indices(num_dims, 1))
    chosen = np.random.default_rng(seed).choice(len(every), num_dims, replace=False)
    return [(int(i), int(j)) for i, j in every[chosen]]


def rotated(x: np.ndarray) -> np.ndarray:
    """A sum of waves and a bowl along ten directions that are no axes."""
    directions = np.linalg.qr(np.random.default_rng(5).normal(size=(10, 10)))[0]
    z = 4.0 * (x - 0.5) @ directions
    return np.asarray((np.cos(3.0 * z) - 0.5 * z**2).sum(1))


def svr(x: np.ndarray) -> np.ndarray:
    """Minus the error of a support vector machine at the first Sobol points, by `svr_values.py`."""
    return np.loadtxt(SVR)[: len(x)]


GRID = [(d, d + 1) for d in (0, 1, 3, 4, 6, 7)] + [(d, d + 3) for d in range(6)]
FUNCTIONS: dict[str, tuple[int, Function]] = {
    "star": (10, waves(10, [(0, d) for d in range(1, 10)], 1)),
    "grid": (9, waves(9, GRID, 2)),
    "graph15": (15, waves(15, random_pairs(15, 3), 3)),
    "graph20": (20, waves(20, random_pairs(20, 4), 4)),
    "styblinski": (10, lambda x: -styblinski_tang(10.0 * x - 5.0)),
    "hartmann": (50, lambda x: -hartmann6(x[:, :6])),
    "rotated": (10, rotated),
    "svr": (13, svr),
}
"""The number of variables of each function, and the function on the unit cube."""


def sobol_points(num_dims: int) -> np.ndarray:
    """First points, in the unit cube, of all data sets with this number of variables."""
    return np.asarray(qmc.Sobol(num_dims, seed=0).random(NUM_POINTS))


def data_set(name: str) -> DataSet:
    """The data set of a name such as "star-100": that many Sobol points, with 1 % noise."""
    family, count = name.split("-")
    num_dims, function = FUNCTIONS[family]
    points = sobol_points(num_dims)[: int(count) + NUM_TEST]
    rng = np.random.default_rng(0)
    values = function(points)
    values = (values - values.mean()) / values.std()
    values = values + NOISE * rng.standard_normal(len(values))
    first, rest = slice(int(count)), slice(int(count), None)
    return DataSet(points[first], values[first], points[rest], values[rest])
