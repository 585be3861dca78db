"""Problems of recovery.py: functions and complete factorials with known shares of variance."""

import zlib
from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np
from reactions import table
from recovery_anova import nodes_of, population, table_shares
from recovery_functions import Function, cube, g_function, ishigami
from recovery_random import ROUGH, SMOOTH, random_function, random_shares

import structbo as sb

MIXED = (None, None, None, None, 3, 4, 6, 8)
"""Numbers of levels of the categories among mixed parameters; None for a real parameter."""

Maker = Callable[[np.random.Generator], Function]


def graph(
    num_dims: int, num_active: int, num_pairs: int, lengthscales: tuple[float, float] = SMOOTH
) -> Maker:
    """Random functions of real parameters."""
    return lambda rng: random_function(
        cube(num_dims), random_shares(num_dims, num_active, num_pairs, rng), rng, lengthscales
    )


def mixed(sizes: tuple[int | None, ...], num_active: int, num_pairs: int) -> Maker:
    """Random functions of real and categorical parameters."""
    spec = {
        f"x{d}": (0.0, 1.0) if size is None else sb.Categorical([*"abcdefghijkl"[:size]])
        for d, size in enumerate(sizes)
    }
    return lambda rng: random_function(
        sb.Space(spec), random_shares(len(sizes), num_active, num_pairs, rng), rng
    )


FACTORIALS = {
    "development": ("arylation", "suzuki"),
    "report": ("buchwald_a", "buchwald_b"),
}
FUNCTIONS: dict[str, dict[str, Maker]] = {
    "development": {
        "ishigami": lambda rng: ishigami(7.0, 0.1),
        "g_steep": lambda rng: g_function((0.0, 1.0, 4.5, 9.0, 99.0, 99.0)),
        "additive8": graph(8, 5, 0),
        "graph10": graph(10, 7, 8),
        "rough12": graph(12, 8, 12, ROUGH),
        "mixed8": mixed(MIXED, 6, 6),
    },
    "report": {
        "ishigami_weak": lambda rng: ishigami(7.0, 0.05),
        "g_flat": lambda rng: g_function((1.0, 1.0, 1.0, 1.0, 3.0, 3.0)),
        "additive12": graph(12, 7, 0),
        "graph15": graph(15, 10, 14),
        "rough15": graph(15, 10, 14, ROUGH),
        "mixed12": mixed((*MIXED, None, None, 3, 5), 9, 9),
    },
}
"""Settings are chosen on the development half; the reporting half evaluates them."""
HALVES = {half: (*FACTORIALS[half], *FUNCTIONS[half]) for half in FACTORIALS}
"""Names of the problems of each half."""


def problem_of(name: str, seed: int, folder: Path) -> Function:
    """The problem with a name: a new one for each seed, if the function is random.

    Args:
        name: a name in `HALVES`.
        seed: seed of a random function.
        folder: folder of the factorials, CSV files with a column "yield".
    """
    if name in FACTORIALS["development"] + FACTORIALS["report"]:
        return factorial(folder / f"{name}.csv")
    maker = {**FUNCTIONS["development"], **FUNCTIONS["report"]}[name]
    return maker(np.random.default_rng([zlib.crc32(name.encode()), seed]))


@cache
def factorial(path: Path) -> Function:
    """A complete factorial experiment; the truth is the exact analysis of all its rows."""
    problem = table(path)
    points = population(problem.space)
    rows = [problem.value(point) for point in problem.space.from_unit(points)]
    values = np.array(rows).reshape([len(nodes) for nodes in nodes_of(problem.space)])
    lookup = {tuple(point): value for point, value in zip(points, values.flat, strict=True)}
    at = lambda x: np.array([lookup[tuple(point)] for point in x])  # noqa: E731
    return Function(problem.space, at, table_shares(values), float(values.var()))
