"""Optimization runs: all methods start from the same random points."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from papers.experiment import Measures, Values
from papers.methods import METHODS
from papers.problems import PROBLEMS


@dataclass(frozen=True)
class Search:
    """A search for the maximum.

    The regret of a point is how much its value without noise is below the maximum.

    Args:
        evaluations: number of evaluations, including the first points.
        num_initial: number of random first points; 0 leaves the design to the method.
        noise: standard deviation of the noise.
    """

    evaluations: int
    num_initial: int = 10
    noise: float = 0.0
    axis = "evaluations"

    def steps(self, count: int) -> np.ndarray:
        """The numbers of evaluations."""
        return np.arange(1, count + 1)

    def settings(self) -> dict[str, Any]:
        """The fields."""
        return asdict(self)

    def quick(self) -> "Search":
        """Two proposals after the first points."""
        return replace(self, evaluations=max(self.num_initial, 10) + 2)

    def run(self, problem: str, method: str, seed: int, data: Path | None) -> Values:
        """The value of every evaluated point without noise, and the maximum if it is known."""
        made = PROBLEMS[problem](seed, data)
        optimizer = METHODS[method](made, seed)
        rng = np.random.default_rng([seed, 1])
        low, high = np.transpose(made.bounds)
        first = rng.uniform(low, high, (self.num_initial, made.num_dims))
        noise = self.noise * rng.normal(size=self.evaluations)
        values: list[float] = []
        for n in range(self.evaluations):
            trial = first[n] if n < self.num_initial else optimizer.ask()
            values.append(made.function(np.asarray(getattr(trial, "params", trial))))
            optimizer.tell(trial, values[-1] + noise[n])
        return {"value": values, "maximum": [] if made.maximum is None else [made.maximum]}

    def measures(self, values: Mapping[str, list[float]]) -> Measures:
        """Regrets, or values if the maximum is unknown."""
        value = np.array(values["value"])
        counts = np.arange(1, len(value) + 1)
        if not values["maximum"]:
            best = np.maximum.accumulate(value)
            return {"best value": best, "average value": np.cumsum(value) / counts}
        regret = values["maximum"][0] - value
        return {
            "simple regret": np.minimum.accumulate(regret),
            "average cumulative regret": np.cumsum(regret) / counts,
        }
