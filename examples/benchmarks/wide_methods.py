"""The methods of wide.py by name; peers need their own packages."""

import numpy as np
from methods import BoTorch
from papers.methods import AskTell, Method, maximizer
from papers.peers import PEERS
from papers.problem import Problem

import structbo as sb
from structbo import recipes

NUM_PENALTIES = 30


class Default:
    """BoTorch's default, one point at a time.

    Args:
        problem: the function to maximize, on the unit cube.
        seed: seed of all random choices.
    """

    def __init__(self, problem: Problem, seed: int) -> None:
        self._running = BoTorch(problem.num_dims, seed=seed)

    def ask(self) -> np.ndarray:
        """The next point."""
        (point,) = self._running.ask(1)
        return np.asarray(point)

    def tell(self, point: np.ndarray, value: float) -> None:
        """Reports the value of a point."""
        self._running.tell(point, value)


class OnePenalty:
    """The baseline of the lasso: a common penalty for all features, on a grid.

    Args:
        problem: the lasso.
        seed: unused.
    """

    def __init__(self, problem: Problem, seed: int) -> None:
        self._num_dims, self._num_asked = problem.num_dims, 0
        self._levels = np.linspace(0.0, 1.0, NUM_PENALTIES)

    def ask(self) -> np.ndarray:
        """The next penalty, again and again from the first."""
        level = self._levels[self._num_asked % NUM_PENALTIES]
        self._num_asked += 1
        return np.full(self._num_dims, level)

    def tell(self, point: np.ndarray, value: float) -> None:
        """Ignores the value."""


def turbo(problem: Problem, seed: int) -> AskTell:
    """TuRBO-1, which needs BoTorch."""
    from wide_turbo import Turbo

    return Turbo(problem, seed)


METHODS: dict[str, Method] = {
    "structbo": maximizer(sb.Optimizer),
    "vanilla": maximizer(recipes.vanilla),
    "saas": maximizer(recipes.saas),
    "random": maximizer(recipes.random),
    "botorch": Default,
    "turbo": turbo,
    "gp_sampler": PEERS["GPSampler"],
    "tpe": PEERS["TPE"],
    "cma_es": PEERS["CMA-ES"],
    "one_penalty": OnePenalty,
}
"""The methods by name."""
