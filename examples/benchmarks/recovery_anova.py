"""Shares of variance by the functional ANOVA, and the points of a space that it averages over.

Parameters are independent and uniform on their nodes: all levels of a discrete parameter, or the
midpoints of equal intervals for a real one.

References:
    Hoeffding 1948, "A class of statistics with asymptotically normal distribution".
"""

from itertools import combinations, product
from typing import NamedTuple

import numpy as np
from scipy.stats import qmc

import structbo as sb

NUM_NODES = 32
"""Nodes of a real parameter."""
LARGEST_TABLE, NUM_POINTS = 5000, 4096
"""Spaces with more points than the first are represented by quasi-random points."""


class Shares(NamedTuple):
    """Shares of the variance of a function, main effects (D,) and pairs (D, D)."""

    main: np.ndarray
    pairs: np.ndarray


def nodes_of(space: sb.Space) -> list[np.ndarray]:
    """Equally probable coordinates of every parameter in the unit interval."""
    midpoints = (np.arange(NUM_NODES) + 0.5) / NUM_NODES
    levels = [parameter.levels for parameter in space.parameters]
    return [midpoints if values is None else values for values in levels]


def random_points(space: sb.Space, uniforms: np.ndarray) -> np.ndarray:
    """Points of the space from uniform numbers: their levels, for discrete parameters."""
    points = uniforms.copy()
    for d, parameter in enumerate(space.parameters):
        if parameter.levels is not None:
            points[:, d] = parameter.levels[(uniforms[:, d] * len(parameter.levels)).astype(int)]
    return points


def population(space: sb.Space) -> np.ndarray:
    """All points of a small discrete space, or quasi-random points of another one."""
    levels = [parameter.levels for parameter in space.parameters]
    known = [values for values in levels if values is not None]
    if len(known) == len(levels) and np.prod([len(values) for values in known]) <= LARGEST_TABLE:
        return np.array(list(product(*known)))
    return random_points(space, qmc.Sobol(len(levels), seed=0).random(NUM_POINTS))


def table_shares(values: np.ndarray) -> Shares:
    """Exact shares of a function that is given at all points of a grid.

    Args:
        values: values on the grid, one axis per parameter.
    """
    dims = range(values.ndim)

    def average(*kept: int) -> np.ndarray:
        return np.asarray(values.mean(axis=tuple(d for d in dims if d not in kept)))

    pairs = {(i, j): average(i, j) for i, j in combinations(dims, 2)}
    return shares_of([average(d) for d in dims], pairs, float(values.var()))


def shares_of(
    main: list[np.ndarray], joint: dict[tuple[int, int], np.ndarray], variance: float
) -> Shares:
    """Shares from averages of the function over all parameters but one or two.

    Args:
        main: averages over all parameters but one, at its nodes.
        joint: averages over all parameters but two, at pairs of nodes.
        variance: variance of the function.
    """
    scale = variance or 1.0
    first = np.array([average.var() for average in main])
    pairs = np.zeros((len(main), len(main)))
    for (i, j), average in joint.items():
        pairs[i, j] = pairs[j, i] = max(average.var() - first[i] - first[j], 0.0)
    return Shares(first / scale, pairs / scale)
