"""Finite sets of candidates with values: the problems of batches.py.

Branin-Hoo (Lizotte 2008), a mixture of cosines (Anderson, Moore and Cohn 2000) and Hartmann-6
(Lizotte 2008) at quasi-random points; and a random part of the Abalone data (UCI), with rings of
snails as values.
"""

from pathlib import Path

import numpy as np
from scipy.stats import qmc

A6 = np.array(
    [
        [10, 3, 17, 3.5, 1.7, 8],
        [0.05, 10, 17, 0.1, 8, 14],
        [3, 3.5, 1.7, 10, 17, 8],
        [17, 8, 0.05, 10, 0.1, 14],
    ]
)
P6 = 1e-4 * np.array(
    [
        [1312, 1696, 5569, 124, 8283, 5886],
        [2329, 4135, 8307, 3736, 1004, 9991],
        [2348, 1451, 3522, 2883, 3047, 6650],
        [4047, 8828, 8732, 5743, 1091, 381],
    ]
)


def branin(x: np.ndarray) -> np.ndarray:
    a, b = 15 * x[:, 0] - 5, 15 * x[:, 1]
    bowl = (b - 5.1 / (4 * np.pi**2) * a**2 + 5 / np.pi * a - 6) ** 2
    return -bowl - 10 * (1 - 1 / (8 * np.pi)) * np.cos(a) - 10


def cosines(x: np.ndarray) -> np.ndarray:
    u = 1.6 * x - 0.5
    return 1 - (u**2 - 0.3 * np.cos(3 * np.pi * u)).sum(1) - 0.7


def hartmann(x: np.ndarray) -> np.ndarray:
    return np.exp(-(A6 * (x[:, None] - P6) ** 2).sum(2)) @ np.array([1.0, 1.2, 3.0, 3.2])


FUNCTIONS = {"Branin": (branin, 2), "cosines": (cosines, 2), "Hartmann-6": (hartmann, 6)}
NAMES = [*FUNCTIONS, "Abalone"]


def problem(name: str, number: int, abalone: Path) -> tuple[np.ndarray, np.ndarray]:
    """Candidates in the unit cube (number, D), and their values, to be maximized."""
    if name == "Abalone":
        rows = [line.split(",") for line in abalone.read_text().split()]
        table = np.array([["MFI".index(row[0]), *map(float, row[1:])] for row in rows])
        table = table[np.random.default_rng(0).permutation(len(table))[:number]]
        x = table[:, :-1]
        return (x - x.min(0)) / np.ptp(x, axis=0), table[:, -1]
    function, num_dims = FUNCTIONS[name]
    x = qmc.Sobol(num_dims, seed=0).random(number)
    return x, function(x)
