"""The methods that search real tasks, by name."""

from collections.abc import Callable
from typing import Any

import numpy as np
from jaxtyping import Float
from papers.peers import Default, Method, turbo
from papers.problem import Problem
from papers.tuning_tasks import Task


class OfOptuna:
    """A sampler of Optuna.

    Args:
        sampler: the sampler.
        task: the task to maximize.
    """

    def __init__(self, sampler: Any, task: Task) -> None:
        import optuna

        optuna.logging.set_verbosity(optuna.logging.WARNING)
        self._distributions = task.distributions
        self._asked: Any = None
        self._study: Any = optuna.create_study(direction="maximize", sampler=sampler)

    def ask(self) -> dict[str, Any]:
        """The next parameters."""
        self._asked = self._study.ask(self._distributions)
        return dict(self._asked.params)

    def tell(self, params: dict[str, Any], value: float) -> None:
        """Reports the value of the parameters that were asked for, or of first ones."""
        from optuna.trial import create_trial

        if self._asked is None:
            of = self._distributions
            self._study.add_trial(create_trial(params=params, distributions=of, value=value))
        else:
            self._study.tell(self._asked, value)


class Rounding:
    """A method for the unit cube, whose points are rounded to integers and categories.

    It is told the points that it proposed, as evaluated points would repeat.

    Args:
        make: makes the method.
        task: the task to maximize.
        seed: seed of the method.
    """

    def __init__(self, make: Callable[[Problem, int], Method], task: Task, seed: int) -> None:
        unit = Problem(lambda x: task(task.params(x)), [(0.0, 1.0)] * len(task.kinds))
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


def sampled(name: str, **settings: Any) -> Callable[[Task, int], OfOptuna]:
    """A sampler of Optuna's own."""

    def method(task: Task, seed: int) -> OfOptuna:
        import optuna

        return OfOptuna(getattr(optuna.samplers, name)(seed=seed, **settings), task)

    return method


def structbo(task: Task, seed: int) -> OfOptuna:
    """structbo's default as a sampler of Optuna."""
    from structbo.integrations.optuna import StructboSampler

    return OfOptuna(StructboSampler(seed=seed), task)


METHODS: dict[str, Callable[[Task, int], OfOptuna | Rounding]] = {
    "structbo": structbo,
    "GPSampler": sampled("GPSampler", n_startup_trials=1),
    "TPE": sampled("TPESampler", n_startup_trials=1),
    "random": sampled("RandomSampler"),
    "BoTorch": lambda task, seed: Rounding(Default, task, seed),
    "TuRBO": lambda task, seed: Rounding(turbo, task, seed),
}
