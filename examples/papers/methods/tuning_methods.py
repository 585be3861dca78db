"""The methods that search real tasks, by name."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from jaxtyping import Float
from papers.methods.optuna_samplers import OfOptuna
from papers.methods.peers import Default, Method, turbo
from papers.methods.smac_hebo import Hebo, Smac
from papers.problems.problem import Problem
from papers.problems.tuning_tasks import Task


class Rounding:
    """A method for the unit cube, whose points are rounded to integers and categories.

    It is told the points that it proposed, as evaluated points would repeat.

    Args:
        make: makes the method.
        task: the task to maximize.
        seed: seed of the method.
    """

    def __init__(self, make: Callable[[Problem, int], Method], task: Task, seed: int) -> None:
        unit = Problem(lambda x: task.value(task.params(x)), [(0.0, 1.0)] * len(task.kinds))
        self._method, self._task = make(unit, seed), task
        self._asked: Float[np.ndarray, " D"] | None = None

    def ask(self) -> dict[str, Any]:
        """The next parameters."""
        self._asked = self._method.ask()
        return self._task.params(self._asked)

    def tell(self, params: dict[str, Any], value: float) -> None:
        """Reports the value of the parameters that were asked for, or of first ones."""
        point = self._task.unit(params) if self._asked is None else self._asked
        self._method.tell(point, value)


def structbo(task: Task, seed: int) -> OfOptuna:
    """structbo's default as a sampler of Optuna."""
    from structbo.integrations.optuna import StructboSampler

    return OfOptuna(StructboSampler(seed=seed), task.distributions)


def sampler(name: str, task: Task, seed: int, **settings: Any) -> OfOptuna:
    """One of Optuna's own samplers."""
    return OfOptuna.named(name, task.distributions, seed=seed, **settings)


METHODS: dict[str, Callable[[Task, int], OfOptuna | Hebo | Smac | Rounding]] = {
    "structbo": structbo,
    # Their own random points would come after the first ones.
    "GPSampler": partial(sampler, "GPSampler", n_startup_trials=1),
    "TPE": partial(sampler, "TPESampler", n_startup_trials=1),
    "BoTorch": lambda task, seed: Rounding(Default, task, seed),
    "HEBO": lambda task, seed: Hebo(task.distributions, seed),
    "SMAC": lambda task, seed: Smac(task.distributions, seed),
    "TuRBO": lambda task, seed: Rounding(turbo, task, seed),
    # It draws categories at random.
    "CMA-ES": partial(sampler, "CmaEsSampler", warn_independent_sampling=False),
    "random": partial(sampler, "RandomSampler"),
}
