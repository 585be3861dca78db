"""A run of wide.py: the same first points and the same noise for all methods of a seed."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from papers.harness.experiment import Kind, Measures, Values
from papers.kinds.search import maximized
from papers.problems.problem import Problem
from scipy.stats import qmc
from wide_methods import METHODS
from wide_problems import problem_of

COUNTS = (50, 100, 200, 500)
"""Numbers of evaluations, one of which is the length of a run."""


@dataclass(frozen=True)
class WideSearch(Kind):
    """A search for the maximum on the unit cube.

    Args:
        evaluations: number of evaluations, including the first points.
        num_initial: number of Sobol points that all methods start from.
        noise: deviation of the noise, relative to the range of a function; tasks have none.
    """

    evaluations: int
    num_initial: int = 20
    noise: float = 0.01
    axis = "evaluations"

    def quick(self) -> "WideSearch":
        """Two proposals after the first points."""
        return WideSearch(self.num_initial + 2, self.num_initial, self.noise)

    def longer(self) -> tuple["WideSearch", ...]:
        """The same search with more evaluations, whose runs serve as well."""
        counts = [count for count in COUNTS if count > self.evaluations]
        return tuple(WideSearch(count, self.num_initial, self.noise) for count in counts)

    def run(self, problem: str, method: str, seed: int, data: Path | None) -> Values:
        """The values, the CPU seconds of suggestions, and the maximum if it is known."""
        made = problem_of(problem, seed, data)
        first = qmc.Sobol(made.num_dims, seed=seed).random_base2(int(self.num_initial).bit_length())
        errors = np.random.default_rng([seed, 1]).normal(size=self.evaluations)
        noise = self.noise * span(made) * errors
        return maximized(made, METHODS[method](made, seed), first[: self.num_initial], noise)

    def measures(self, values: Mapping[str, list[float]]) -> Measures:
        """Regrets, or best values if the maximum is unknown, and seconds of a suggestion."""
        best = np.maximum.accumulate(values["value"])
        if values["maximum"]:
            name, curve = "regret", np.maximum(values["maximum"][0] - best, 0.0)
        else:
            name, curve = "best value", best
        at = {f"{name} at {n}": curve[n - 1 : n] for n in COUNTS if n <= len(curve)}
        return {name: curve, **at, "seconds": np.array([np.mean(values["seconds"])])}


def span(problem: Problem) -> float:
    """How far the maximum of a function is above the median; 0 for a task."""
    if problem.maximum is None or "optimum" not in problem.truth:
        return 0.0
    points = np.random.default_rng(0).random((256, problem.num_dims))
    return problem.maximum - float(np.median([problem.function(x) for x in points]))
