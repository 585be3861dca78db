"""Methods of parameters by name, on points of a box."""

from typing import Any

import numpy as np
from jaxtyping import Float
from papers.optuna_samplers import OfOptuna
from papers.problem import Problem
from papers.smac_hebo import Hebo


class OnBox:
    """A method of parameters by name, on points of a box.

    Args:
        method: the method, whose parameters are `names_of` the problem.
        problem: the function to maximize.
    """

    def __init__(self, method: OfOptuna | Hebo, problem: Problem) -> None:
        self._method, self._names = method, names_of(problem)

    def ask(self) -> Float[np.ndarray, " D"]:
        """The next point."""
        params = self._method.ask()
        return np.array([params[name] for name in self._names])

    def tell(self, point: Float[np.ndarray, " D"], value: float) -> None:
        """Reports the value of the point that was asked for, or of a first point."""
        self._method.tell(dict(zip(self._names, point.tolist(), strict=True)), value)


def names_of(problem: Problem) -> list[str]:
    """A name for every parameter of a box."""
    return [f"x{dim}" for dim in range(problem.num_dims)]


def sampler(name: str, problem: Problem, seed: int) -> OnBox:
    """One of Optuna's samplers."""
    from optuna.distributions import FloatDistribution

    ranges = [FloatDistribution(*bound) for bound in problem.bounds]
    space: dict[str, Any] = dict(zip(names_of(problem), ranges, strict=True))
    return OnBox(OfOptuna.named(name, space, seed=seed), problem)


def hebo(problem: Problem, seed: int) -> OnBox:
    """HEBO."""
    ranges = [
        {"name": name, "type": "num", "lb": low, "ub": high}
        for name, (low, high) in zip(names_of(problem), problem.bounds, strict=True)
    ]
    return OnBox(Hebo(ranges, seed), problem)
