"""Finite sets of candidates with values: the problems of Kathuria et al. 2016."""

from pathlib import Path
from typing import NamedTuple

import numpy as np
from jaxtyping import Float
from papers.problems import functions
from scipy.stats import qmc

NAMES = ("Branin", "Hartmann-6", "cosines", "Abalone")


class Candidates(NamedTuple):
    """Points of the unit cube, and their values, to be maximized."""

    points: Float[np.ndarray, "m D"]
    values: Float[np.ndarray, " m"]


def candidates(name: str, number: int, data: Path | None) -> Candidates:
    """Quasi-random points of a function, or a random part of the Abalone data.

    Args:
        name: one of `NAMES`.
        number: number of candidates.
        data: the folder with the Abalone data (UCI), whose values are the rings of snails.

    Raises:
        FileNotFoundError: if the data are needed and not given.
    """
    if name == "Abalone":
        return _abalone(number, data)
    unit = qmc.Sobol(6 if name == "Hartmann-6" else 2, seed=0).random(number)
    if name == "Branin":
        return Candidates(unit, -functions.branin(15 * unit - [5, 0]))
    return Candidates(
        unit, functions.cosines(unit) if name == "cosines" else -functions.hartmann6(unit)
    )


def _abalone(number: int, data: Path | None) -> Candidates:
    if data is None:
        raise FileNotFoundError("Abalone needs abalone/abalone.data in the folder of --data.")
    text = (data / "abalone" / "abalone.data").read_text()
    rows = [line.split(",") for line in text.split()]
    table = np.array([["MFI".index(row[0]), *map(float, row[1:])] for row in rows])
    table = table[np.random.default_rng(0).permutation(len(table))[:number]]
    x = table[:, :-1]
    return Candidates((x - x.min(0)) / np.ptp(x, axis=0), table[:, -1])
