"""Methods of parameters by name, on points of a box."""

from collections.abc import Callable
from typing import Any

import numpy as np
from jaxtyping import Float
from papers.methods.optuna_samplers import OfOptuna
from papers.methods.smac_hebo import Hebo, Smac
from papers.problems.problem import Problem


class OnBox:
    """A method of parameters by name, on points of a box.

    Args:
        make: makes the method from Optuna's distributions of the parameters.
        problem: the function to maximize.
    """

    def __init__(
        self, make: Callable[[dict[str, Any]], OfOptuna | Hebo | Smac], problem: Problem
    ) -> None:
        from optuna.distributions import FloatDistribution

        ranges = {f"x{d}": FloatDistribution(*bound) for d, bound in enumerate(problem.bounds)}
        self._method, self._names = make(dict(ranges)), tuple(ranges)

    def ask(self) -> Float[np.ndarray, " D"]:
        """The next point."""
        params = self._method.ask()
        return np.array([params[name] for name in self._names])

    def tell(self, point: Float[np.ndarray, " D"], value: float) -> None:
        """Reports the value of the point that was asked for, or of a first point."""
        self._method.tell(dict(zip(self._names, point.tolist(), strict=True)), value)


def sampler(name: str, problem: Problem, seed: int) -> OnBox:
    """One of Optuna's samplers."""
    return OnBox(lambda ranges: OfOptuna.named(name, ranges, seed=seed), problem)


def hebo(problem: Problem, seed: int) -> OnBox:
    """HEBO."""
    return OnBox(lambda ranges: Hebo(ranges, seed), problem)


def smac(problem: Problem, seed: int) -> OnBox:
    """SMAC."""
    return OnBox(lambda ranges: Smac(ranges, seed), problem)
