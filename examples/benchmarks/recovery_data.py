"""Data of recovery.py: random points of a problem, or the points that a search chose."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from recovery_anova import population, random_points
from recovery_functions import Function

import structbo as sb

NUM_TEST = 1000
"""Unseen points of a function; a factorial has all other rows."""


class DataSet(NamedTuple):
    """Points of the unit cube with observations, and unseen ones."""

    x: np.ndarray
    y: np.ndarray
    test_x: np.ndarray
    test_y: np.ndarray


def is_table(problem: Function) -> bool:
    """Whether the problem is a factorial, which is evaluated without further noise."""
    return all(parameter.levels is not None for parameter in problem.space.parameters)


def random_choice(problem: Function, n: int, noise: float, seed: int) -> np.ndarray:
    """Random points of a function, or random rows of a factorial without replacement."""
    rng = np.random.default_rng([seed, 1])
    if is_table(problem):
        points = population(problem.space)
        return points[rng.permutation(len(points))[:n]]
    return random_points(problem.space, rng.random((n, len(problem.space.names))))


def search(problem: Function, n: int, noise: float, seed: int) -> np.ndarray:
    """The points that `Optimizer` evaluates with default settings, in search of the maximum."""
    optimizer = sb.Optimizer(problem.space, "maximize", seed=seed)
    points = np.empty((n, len(problem.space.names)))
    for i in range(n):
        trial = optimizer.ask()
        points[i] = problem.space.to_unit(trial.params)[0]
        optimizer.tell(trial, float(values_at(problem, points[: i + 1], noise, seed)[i]))
    return points


DATA: dict[str, Callable[[Function, int, float, int], np.ndarray]] = {
    "random": random_choice,
    "search": search,
}
"""Ways to choose the points that are evaluated."""


def values_at(problem: Function, x: np.ndarray, noise: float, seed: int) -> np.ndarray:
    """Observations, whose noise depends on the seed and the order of the points."""
    if is_table(problem):
        return problem.at(x)
    errors = np.random.default_rng([seed, 2]).standard_normal(len(x))
    return problem.at(x) + np.sqrt(noise * problem.variance) * errors


def data_set(problem: Function, data: str, n: int, noise: float, seed: int) -> DataSet:
    """Observations of a problem, and unseen ones.

    Args:
        problem: the function.
        data: a name in `DATA`.
        n: number of observations.
        noise: variance of the noise, relative to the variance of the function.
        seed: seed of the points and of the noise.
    """
    x = DATA[data](problem, n, noise, seed)
    if is_table(problem):
        seen = {tuple(point) for point in x}
        unseen = np.array([row for row in population(problem.space) if tuple(row) not in seen])
    else:
        uniforms = np.random.default_rng([seed, 3]).random((NUM_TEST, x.shape[1]))
        unseen = random_points(problem.space, uniforms)
    y = values_at(problem, x, noise, seed)
    return DataSet(x, y, unseen, values_at(problem, unseen, noise, seed + 1000))
