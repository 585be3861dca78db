"""Samplers of Optuna, which needs its own package: `pip install optuna cmaes`."""

from typing import Any

import numpy as np
from jaxtyping import Float
from papers.problem import Problem


class OfOptuna:
    """A sampler of Optuna, on parameters by name.

    Args:
        sampler: the sampler.
        distributions: Optuna's distributions of the parameters.
    """

    def __init__(self, sampler: Any, distributions: dict[str, Any]) -> None:
        import optuna

        optuna.logging.set_verbosity(optuna.logging.WARNING)
        self._distributions = distributions
        self._asked: Any = None
        self._study: Any = optuna.create_study(direction="maximize", sampler=sampler)

    @classmethod
    def named(cls, name: str, distributions: dict[str, Any], **settings: Any) -> "OfOptuna":
        """One of Optuna's own samplers, with its settings."""
        import optuna

        return cls(getattr(optuna.samplers, name)(**settings), distributions)

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


class Optuna:
    """A sampler of Optuna, on points of a box.

    Args:
        sampler: name of the sampler.
        problem: the function to maximize.
        seed: seed of the sampler.
    """

    def __init__(self, sampler: str, problem: Problem, seed: int) -> None:
        from optuna.distributions import FloatDistribution

        space = {f"x{d}": FloatDistribution(*bound) for d, bound in enumerate(problem.bounds)}
        self._names, self._method = tuple(space), OfOptuna.named(sampler, space, seed=seed)

    def ask(self) -> Float[np.ndarray, " D"]:
        """The next point."""
        params = self._method.ask()
        return np.array([params[name] for name in self._names])

    def tell(self, point: Float[np.ndarray, " D"], value: float) -> None:
        """Reports the value of the point that was asked for, or of a first point."""
        self._method.tell(dict(zip(self._names, point.tolist(), strict=True)), value)
