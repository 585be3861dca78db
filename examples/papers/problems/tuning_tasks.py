"""Tuning of models and algorithms on real data, as Optuna sees it, to be maximized."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float
from papers.problems.real_tasks import module_in, real_task


class Task(NamedTuple):
    """A function of D numbers: logarithms to base 10, integers, indices of categories, or others.

    Args:
        kinds: kind of every parameter, "log", "lin", "int" or "cat".
        bounds: ranges of the numbers, shape (D, 2).
        objective: function from the numbers, shape (D,), to the value.
    """

    kinds: list[str]
    bounds: np.ndarray
    objective: Callable[[np.ndarray], float]

    @property
    def distributions(self) -> dict[str, Any]:
        """Optuna's distributions, by name."""
        return {
            f"p{d:02d}": _distribution(kind, low, high)
            for d, (kind, (low, high)) in enumerate(zip(self.kinds, self.bounds, strict=True))
        }

    def params(self, unit: Float[np.ndarray, " D"]) -> dict[str, Any]:
        """The parameters at a point of the unit cube."""
        x = self.bounds[:, 0] + unit * (self.bounds[:, 1] - self.bounds[:, 0])
        values = [_value(kind, number) for kind, number in zip(self.kinds, x, strict=True)]
        return dict(zip(self.distributions, values, strict=True))

    def unit(self, params: dict[str, Any]) -> Float[np.ndarray, " D"]:
        """The point of the unit cube of parameters by name."""
        low, high = self.bounds.T
        return np.asarray((self._numbers(params) - low) / (high - low))

    def value(self, params: dict[str, Any]) -> float:
        """The objective at parameters by name."""
        return float(self.objective(self._numbers(params)))

    def _numbers(self, params: dict[str, Any]) -> Float[np.ndarray, " D"]:
        values = [float(params[name]) for name in self.distributions]
        pairs = zip(self.kinds, values, strict=True)
        return np.array([np.log10(v) if kind == "log" else v for kind, v in pairs])


def _distribution(kind: str, low: float, high: float) -> Any:
    from optuna import distributions as of

    if kind == "cat":
        return of.CategoricalDistribution([str(k) for k in range(int(low), int(high) + 1)])
    if kind == "int":
        return of.IntDistribution(int(low), int(high))
    if kind == "log":
        return of.FloatDistribution(10.0**low, 10.0**high, log=True)
    return of.FloatDistribution(float(low), float(high))


def _value(kind: str, number: float) -> Any:
    if kind == "cat":
        return str(round(number))
    if kind == "int":
        return round(number)
    return 10.0**number if kind == "log" else float(number)


def _model(model: str, rows: str, data: Path | None) -> Task:
    """Parameters of a model, whose error in cross-validation is minimized."""
    made = module_in("hpo", data).Tune(model, rows)
    return Task(made.kinds, np.asarray(made.bounds, float), made.objective)


def _algorithm(name: str, data: Path | None) -> Task:
    """Thresholds or weights of an algorithm."""
    problem = real_task(name, data)
    bounds = np.asarray(problem.bounds)
    return Task(["lin"] * len(bounds), bounds, problem.function)


DEVELOPMENT: dict[str, Callable[[Path | None], Task]] = {
    "support vector machine": partial(_model, "svr_ard", "diabetes"),
    "LightGBM, cancer": partial(_model, "lightgbm", "breast_cancer"),
    "face cascade": partial(_algorithm, "face cascade"),
}
"""The tasks on which settings were chosen."""

REPORTING: dict[str, Callable[[Path | None], Task]] = {
    "neural network, digits": partial(_model, "mlp", "digits"),
    "neural network, cancer": partial(_model, "mlp", "breast_cancer"),
    "boosting, digits": partial(_model, "histgb", "digits"),
    "boosting, cancer": partial(_model, "histgb", "breast_cancer"),
    "LightGBM, digits": partial(_model, "lightgbm", "digits"),
    "kernel ridge": partial(_algorithm, "kernel ridge"),
    "matrix completion": partial(_algorithm, "matrix completion"),
}
"""The tasks that judge it."""
