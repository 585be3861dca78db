"""Other libraries, which need the extra `peers` of the package."""

from collections.abc import Callable
from functools import partial
from typing import Protocol

import numpy as np
from jaxtyping import Float
from papers.methods.on_box import hebo, sampler, smac
from papers.problems.problem import Problem


class Method(Protocol):
    """A method that is asked for one point at a time."""

    def ask(self) -> Float[np.ndarray, " D"]:
        """The next point."""
        ...

    def tell(self, point: Float[np.ndarray, " D"], value: float) -> None:
        """Reports the value of a point."""
        ...


class Default:
    """BoTorch's default: a process with dimension-scaled prior, and its expected improvement.

    Args:
        problem: the function to maximize, on the unit cube.
        seed: seed of all random choices.
    """

    def __init__(self, problem: Problem, seed: int) -> None:
        from benchmarks.methods import BoTorch

        self._running = BoTorch(problem.num_dims, seed=seed)
        self.tell = self._running.tell

    def ask(self) -> Float[np.ndarray, " D"]:
        """The next point."""
        return self._running.ask(1)[0]


def turbo(problem: Problem, seed: int) -> Method:
    """TuRBO-1, on the unit cube."""
    from benchmarks.wide_turbo import Turbo

    return Turbo(problem, seed)


class Rescaled:
    """A method for the unit cube, on another box.

    Args:
        make: makes the method.
        problem: the function to maximize.
        seed: seed of the method.
    """

    def __init__(self, make: Callable[[Problem, int], Method], problem: Problem, seed: int) -> None:
        self._low, high = np.transpose(problem.bounds)
        self._width = high - self._low
        self._method = make(problem, seed)

    def ask(self) -> Float[np.ndarray, " D"]:
        """The next point."""
        return np.asarray(self._low + self._width * self._method.ask())

    def tell(self, point: Float[np.ndarray, " D"], value: float) -> None:
        """Reports the value of a point."""
        self._method.tell((point - self._low) / self._width, value)


PEERS: dict[str, Callable[[Problem, int], Method]] = {
    "TPE": partial(sampler, "TPESampler"),
    "GPSampler": partial(sampler, "GPSampler"),
    "CMA-ES": partial(sampler, "CmaEsSampler"),
    "BoTorch": partial(Rescaled, Default),
    "TuRBO": partial(Rescaled, turbo),
    "SMAC": smac,
    "HEBO": hebo,
}
