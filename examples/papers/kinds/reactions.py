"""Searches for the best of all combinations of a complete factorial experiment."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.reactions import table
from papers.harness.experiment import Kind, Measures, Values
from papers.kinds.search import evaluated
from papers.methods.by_name import AskTell
from papers.methods.tuning_methods import METHODS as TUNING
from papers.problems.tuning_tasks import Task

import structbo as sb
from structbo import recipes


class OnTable:
    """A method of tuning tasks, for which ordered values are integers and others categories.

    Args:
        make: makes the method.
        space: the parameters, all of which have few values.
        seed: seed of the method.
    """

    def __init__(self, make: Callable[[Task, int], AskTell], space: sb.Space, seed: int) -> None:
        self._space = space
        self._levels = [levels for levels in space.levels if levels is not None]
        self._last = np.array([len(levels) - 1 for levels in self._levels])
        kinds = ["cat" if dim in space.categorical else "int" for dim in range(space.num_dims)]
        bounds = np.column_stack([np.zeros_like(self._last), self._last])
        self._task = Task(kinds, bounds, lambda numbers: 0.0)
        self._method = make(self._task, seed)

    def ask(self) -> dict[str, Any]:
        """The next combination."""
        numbers = np.rint(self._task.unit(self._method.ask()) * self._last).astype(int)
        unit = [levels[k] for levels, k in zip(self._levels, numbers, strict=True)]
        (params,) = self._space.from_unit([unit])
        return dict(params)

    def tell(self, params: dict[str, Any], value: float) -> None:
        """Reports the value of a combination."""
        (unit,) = self._space.to_unit([params])
        pairs = zip(self._levels, unit, strict=True)
        numbers = np.array([np.abs(levels - u).argmin() for levels, u in pairs])
        self._method.tell(self._task.params(numbers / self._last), value)


METHODS: dict[str, Callable[[sb.Space, int], AskTell]] = {
    "structbo": lambda space, seed: sb.Optimizer(space, "maximize", seed=seed),
    "anova_model": lambda space, seed: sb.Optimizer(
        space, "maximize", seed=seed, model=sb.anova_model(space)
    ),
    "random": lambda space, seed: recipes.random(space, "maximize", seed=seed),
    **{
        name: partial(OnTable, TUNING[name])
        for name in ("GPSampler", "TPE", "CMA-ES", "BoTorch", "TuRBO", "HEBO", "SMAC")
    },
}
"""The methods by name."""


AFTER_20, AFTER_40 = (f"missing yield after {number} runs" for number in (20, 40))


@dataclass(frozen=True)
class Reactions(Kind):
    """A search for the highest yield in a table, without noise.

    Args:
        evaluations: number of combinations to run, including the first ones.
        num_initial: number of first quasi-random combinations, which all methods share.
    """

    evaluations: int = 60
    num_initial: int = 10
    axis = "runs"

    def quick(self) -> "Reactions":
        """Two proposals after the first combinations."""
        return Reactions(evaluations=12)

    def run(self, problem: str, method: str, seed: int, data: Path | None) -> Values:
        """The yield of every run, and the highest one of the table."""
        if data is None:
            raise FileNotFoundError(f"{problem} needs --data, with factorials/{problem}.csv.")
        reaction = table(data / "factorials" / f"{problem}.csv")
        design = recipes.random(reaction.space, "maximize", seed=seed)
        first = [trial.params for trial in design.ask(self.num_initial)]
        optimizer = METHODS[method](reaction.space, seed)
        found = evaluated(reaction.value, optimizer, first, np.zeros(self.evaluations))
        return found | {"maximum": [reaction.best]}

    def measures(self, values: Mapping[str, list[float]]) -> Measures:
        """How far the best yield so far is below the highest one, in percentage points."""
        missing = values["maximum"][0] - np.maximum.accumulate(values["value"])
        ends = {AFTER_20: missing[:20][-1:], AFTER_40: missing[:40][-1:]}
        return {**ends, "missing yield": missing}
