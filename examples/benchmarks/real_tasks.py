"""Real tasks as Optuna sees them: parameters with their kinds, and a function to maximize."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from optuna.distributions import (
    BaseDistribution,
    CategoricalDistribution,
    FloatDistribution,
    IntDistribution,
)
from task_module import task_module

FOLDERS = {
    "cascade": "viola_jones",
    "cosmology": "cosmo_lrg_dr7",
    "completion": "matrix_completion",
    "abalone": "abalone",
    "rover": "rover",
}
TUNING = {
    "svr": ("svr_ard", "diabetes"),
    "lightgbm": ("lightgbm", "breast_cancer"),
    "mlp": ("mlp", "digits"),
    "boosting": ("histgb", "digits"),
}
MINIMIZED = ("completion",)


class Task(NamedTuple):
    """A function of D numbers: logarithms to base 10, integers, indices of categories, or others.

    Args:
        kinds: kind of every parameter, "log", "lin", "int" or "cat".
        bounds: ranges of the numbers, shape (D, 2).
        objective: function from the numbers, shape (D,), to the value to maximize.
    """

    kinds: list[str]
    bounds: np.ndarray
    objective: Callable[[np.ndarray], float]

    @classmethod
    def load(cls, data: Path, name: str) -> "Task":
        """The task with this name, from its folder in the data."""
        if name in TUNING:
            task = task_module(data / "hpo").Tune(*TUNING[name])
            return cls(task.kinds, task.bounds, task.objective)
        module = task_module(data / FOLDERS[name])
        sign = -1.0 if name in MINIMIZED else 1.0
        bounds = np.asarray(module.BOUNDS, float)
        return cls(["lin"] * len(bounds), bounds, lambda x: sign * module.objective(x))

    @property
    def distributions(self) -> dict[str, BaseDistribution]:
        """Optuna's distributions, by name."""
        return {
            f"p{d:02d}": _distribution(kind, low, high)
            for d, (kind, (low, high)) in enumerate(zip(self.kinds, self.bounds, strict=True))
        }

    @property
    def categorical(self) -> tuple[int, ...]:
        """Indices of the categorical parameters."""
        return tuple(d for d, kind in enumerate(self.kinds) if kind == "cat")

    def params(self, unit: np.ndarray) -> dict[str, Any]:
        """The parameters at a point of the unit cube."""
        x = self.bounds[:, 0] + unit * (self.bounds[:, 1] - self.bounds[:, 0])
        values = [_value(kind, number) for kind, number in zip(self.kinds, x, strict=True)]
        return dict(zip(self.distributions, values, strict=True))

    def __call__(self, params: dict[str, Any]) -> float:
        """The objective at parameters by name."""
        values = [float(params[name]) for name in self.distributions]
        pairs = zip(self.kinds, values, strict=True)
        return self.objective(np.array([np.log10(v) if kind == "log" else v for kind, v in pairs]))


def _distribution(kind: str, low: float, high: float) -> BaseDistribution:
    if kind == "cat":
        return CategoricalDistribution([str(k) for k in range(int(low), int(high) + 1)])
    if kind == "int":
        return IntDistribution(int(low), int(high))
    if kind == "log":
        return FloatDistribution(10.0**low, 10.0**high, log=True)
    return FloatDistribution(float(low), float(high))


def _value(kind: str, number: float) -> Any:
    if kind == "cat":
        return str(round(number))
    if kind == "int":
        return round(number)
    return 10.0**number if kind == "log" else float(number)
