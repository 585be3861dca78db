"""The methods of wide.py by name; peers need their own packages."""

from dataclasses import replace
from typing import Any

import numpy as np
from papers.methods.by_name import Method, maximizer
from papers.methods.peers import PEERS
from papers.problems.problem import Problem

import structbo as sb
from structbo import recipes
from structbo.data import Direction
from structbo.models import main_effects

NUM_PENALTIES = 30


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


def without_pairs(space: sb.Space, direction: Direction, **settings: Any) -> sb.Optimizer:
    """structbo with main effects and a residual only, like the default above 200 parameters."""
    model = sb.default_model(num_dims=space.num_dims)
    return sb.Optimizer(
        space, direction, model=replace(model, structure=main_effects()), **settings
    )


METHODS: dict[str, Method] = {
    "structbo": maximizer(sb.Optimizer),
    "log_ei": maximizer(sb.Optimizer, criterion="log_ei"),
    "main_effects": maximizer(without_pairs),
    "vanilla": maximizer(recipes.vanilla),
    "saas": maximizer(recipes.saas),
    "random": maximizer(recipes.random),
    "botorch": PEERS["BoTorch"],
    "turbo": PEERS["TuRBO"],
    "gp_sampler": PEERS["GPSampler"],
    "tpe": PEERS["TPE"],
    "cma_es": PEERS["CMA-ES"],
    "one_penalty": OnePenalty,
}
"""The methods by name."""
