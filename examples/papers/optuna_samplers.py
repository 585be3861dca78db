"""Samplers of Optuna, which needs its own package: `pip install optuna cmaes`."""

from typing import Any

import numpy as np
from jaxtyping import Float
from papers.problem import Problem


class Optuna:
    """A sampler of Optuna.

    Args:
        sampler: name of the sampler.
        problem: the function to maximize.
        seed: seed of the sampler.
    """

    def __init__(self, sampler: str, problem: Problem, seed: int) -> None:
        import optuna

        optuna.logging.set_verbosity(optuna.logging.WARNING)
        self._trial: Any = None
        self._space: dict[str, Any] = {
            f"x{d}": optuna.distributions.FloatDistribution(low, high)
            for d, (low, high) in enumerate(problem.bounds)
        }
        self._study = optuna.create_study(
            direction="maximize", sampler=getattr(optuna.samplers, sampler)(seed=seed)
        )

    def ask(self) -> Float[np.ndarray, " D"]:
        """The next point."""
        self._trial = self._study.ask(self._space)
        return np.array([self._trial.params[name] for name in self._space])

    def tell(self, point: Float[np.ndarray, " D"], value: float) -> None:
        """Reports the value of the point that was asked for, or of a first point."""
        from optuna.trial import create_trial

        if self._trial is None:
            params = dict(zip(self._space, point.tolist(), strict=True))
            trial = create_trial(params=params, distributions=self._space, value=value)
            self._study.add_trial(trial)
        else:
            self._study.tell(self._trial, value)
