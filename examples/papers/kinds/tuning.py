"""Searches of real tuning tasks, whose parameters are numbers, integers and categories."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from jaxtyping import Float
from papers.harness.experiment import Kind, Measures, Values
from papers.kinds.search import evaluated
from papers.methods.tuning_methods import METHODS
from papers.problems.tuning_tasks import DEVELOPMENT, REPORTING
from scipy.stats import qmc

AFTER_40 = "best value after 40"


@dataclass(frozen=True)
class Tuning(Kind):
    """A search of a task, without noise.

    Args:
        evaluations: number of evaluations, including the first points.
        num_initial: number of first Sobol points, at most 32, which all methods share.
    """

    evaluations: int = 60
    num_initial: int = 20
    axis = "evaluations"

    def quick(self) -> "Tuning":
        """Two proposals after a few points."""
        return replace(self, evaluations=10, num_initial=8)

    def run(self, problem: str, method: str, seed: int, data: Path | None) -> Values:
        """The value of every evaluation, and the CPU seconds of every suggestion."""
        task = (DEVELOPMENT | REPORTING)[problem](data)
        first = qmc.Sobol(len(task.kinds), seed=seed).random(32)[: self.num_initial]
        params = [task.params(point) for point in first]
        return evaluated(
            task.value, METHODS[method](task, seed), params, np.zeros(self.evaluations)
        )

    def measures(self, values: Mapping[str, list[float]]) -> Measures:
        """The best value from the last shared point on, and after 40 evaluations."""
        best = np.maximum.accumulate(values["value"])
        return {
            AFTER_40: best[:40][-1:],
            "best value": best[self.num_initial - 1 :],
            "CPU seconds per suggestion": np.array([np.mean(values["seconds"])]),
        }

    def steps(self, count: int) -> Float[np.ndarray, " steps"]:
        """The numbers of evaluations, which end with the last one."""
        return np.arange(1, count + 1) + (self.evaluations - count)
