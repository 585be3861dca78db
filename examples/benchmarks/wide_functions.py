"""Functions of many variables on the unit cube, whose maxima are known.

A random generator draws the instance: which variables are active, and where the optimum is.
"""

from collections.abc import Callable, Sequence

import numpy as np
from papers.problems.functions import Points, Values
from papers.problems.problem import Problem
from random_functions import Rotated

Maker = Callable[[np.random.Generator], Problem]
"""Draws an instance of a problem."""


def with_optimum(function: Callable[[np.ndarray], object], optimum: np.ndarray) -> Problem:
    """The problem of a function on the unit cube whose best point is known."""

    def value(x: np.ndarray) -> float:
        return float(np.asarray(function(x)))

    bounds = [(0.0, 1.0)] * len(optimum)
    return Problem(value, bounds, maximum=value(optimum), truth={"optimum": optimum})


def embedded(
    function: Callable[[Points], Values],
    domain: tuple[float, float],
    best: Sequence[float],
    num_dims: int,
) -> Maker:
    """A function to minimize of few variables, at random positions among many."""
    low, width = domain[0], domain[1] - domain[0]

    def make(rng: np.random.Generator) -> Problem:
        active = rng.choice(num_dims, len(best), replace=False)
        optimum = rng.random(num_dims)
        optimum[active] = (np.array(best) - low) / width
        return with_optimum(lambda x: -function(low + width * x[active]), optimum)

    return make


def shifted(function: Callable[[Points], Values], width: float, num_dims: int) -> Maker:
    """A function to minimize with the best point 0, which moves to a random point of the cube."""

    def make(rng: np.random.Generator) -> Problem:
        center = rng.uniform(0.2, 0.8, num_dims)
        return with_optimum(lambda x: -function(width * (x - center)), center)

    return make


def linear(num_dims: int) -> Maker:
    """Normal slopes: the optimum is a corner."""

    def make(rng: np.random.Generator) -> Problem:
        slopes = rng.normal(size=num_dims)
        return with_optimum(lambda x: slopes @ x, (slopes > 0).astype(float))

    return make


def quadratic(num_dims: int) -> Maker:
    """Exponential curvatures around a random point."""

    def make(rng: np.random.Generator) -> Problem:
        curvatures, center = rng.exponential(size=num_dims), rng.uniform(0.2, 0.8, num_dims)
        return with_optimum(lambda x: -curvatures @ (x - center) ** 2, center)

    return make


def rotated(num_dims: int, num_directions: int) -> Maker:
    """Waves and bowls along a few random directions."""

    def make(rng: np.random.Generator) -> Problem:
        drawn = Rotated(int(rng.integers(2**31)), num_dims, num_directions)
        return with_optimum(lambda x: drawn(x[None])[0], drawn.center)

    return make
