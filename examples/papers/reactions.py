"""Searches for the best of all combinations of a complete factorial experiment."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.reactions import table
from papers.experiment import Kind, Measures, Values
from papers.methods import AskTell
from papers.optuna_samplers import OfOptuna
from papers.search import evaluated

import structbo as sb
from structbo import recipes


class OptunaChoices:
    """A sampler of Optuna, for which ordered values are integers and others are categories.

    Args:
        sampler: name of the sampler.
        space: the parameters, all of which have few values.
        seed: seed of the sampler.
    """

    def __init__(self, sampler: str, space: sb.Space, seed: int) -> None:
        from optuna import distributions as of

        self._space, self._levels = space, space.levels
        made: dict[str, Any] = {}
        for dim, (name, levels) in enumerate(zip(space.names, self._levels, strict=True)):
            assert levels is not None
            if dim in space.categorical:
                made[name] = of.CategoricalDistribution([*range(len(levels))])
            else:
                made[name] = of.IntDistribution(0, len(levels) - 1)
        self._method = OfOptuna.named(sampler, made, seed=seed)

    def ask(self) -> Any:
        """The next trial, whose `params` are values of the space."""
        asked = self._method.ask()
        pairs = zip(self._space.names, self._levels, strict=True)
        unit = [levels[asked[name]] for name, levels in pairs if levels is not None]
        (choices,) = self._space.from_unit(np.array([unit]))
        return Asked(asked, choices)

    def tell(self, trial: Any, value: float) -> None:
        """Reports the value of a trial."""
        self._method.tell(trial.asked, value)


@dataclass(frozen=True)
class Asked:
    """A trial: the numbers of levels that Optuna asked for, and the values by name."""

    asked: dict[str, Any]
    params: dict[str, Any]


METHODS: dict[str, Callable[[sb.Space, int], AskTell]] = {
    "structbo": lambda space, seed: sb.Optimizer(space, "maximize", seed=seed),
    "anova_model": lambda space, seed: sb.Optimizer(
        space, "maximize", seed=seed, model=sb.anova_model(space)
    ),
    "GPSampler": partial(OptunaChoices, "GPSampler"),
    "TPE": partial(OptunaChoices, "TPESampler"),
    "random": lambda space, seed: recipes.random(space, "maximize", seed=seed),
}
"""The methods by name; each has its own first points."""


AFTER_20, AFTER_40 = (f"missing yield after {number} runs" for number in (20, 40))


@dataclass(frozen=True)
class Reactions(Kind):
    """A search for the highest yield in a table, without noise.

    Args:
        evaluations: number of combinations to run.
    """

    evaluations: int = 60
    axis = "runs"

    def quick(self) -> "Reactions":
        """A few runs, of which two or three are proposed by a model."""
        return Reactions(evaluations=12)

    def run(self, problem: str, method: str, seed: int, data: Path | None) -> Values:
        """The yield of every run, and the highest one of the table."""
        if data is None:
            raise FileNotFoundError(f"{problem} needs --data, with factorials/{problem}.csv.")
        reaction = table(data / "factorials" / f"{problem}.csv")
        optimizer = METHODS[method](reaction.space, seed)
        found = evaluated(reaction.value, optimizer, (), np.zeros(self.evaluations))
        return found | {"maximum": [reaction.best]}

    def measures(self, values: Mapping[str, list[float]]) -> Measures:
        """How far the best yield so far is below the highest one, in percentage points."""
        missing = values["maximum"][0] - np.maximum.accumulate(values["value"])
        ends = {AFTER_20: missing[:20][-1:], AFTER_40: missing[:40][-1:]}
        return {**ends, "missing yield": missing}
