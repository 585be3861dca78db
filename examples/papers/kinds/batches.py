"""Batches from finite sets of candidates (Kathuria, Deshpande and Kohli 2016, section 4).

Kernel parameters maximize the marginal likelihood of 100 of the values. Values are standardized and
observed with deviation 0.01. All methods start from the same random candidate; DPP samples are
within 0.01 of the process, and EST estimates the maximum by ESTa above the best observation.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import jax
import numpy as np
from jaxtyping import Float
from papers.harness.experiment import Kind, Measures, Values
from papers.methods.batch_methods import METHODS, ucb_width
from papers.methods.batch_process import NOISE, fit, posterior
from papers.problems.finite_sets import NAMES, candidates

from structbo.acquisition import published_maximum
from structbo.batches import EstimationWidth, GroundSet, choose_batch
from structbo.data import Data
from structbo.models.foundation.precision import double_precision

_maximum = jax.jit(published_maximum)
PROBLEMS = {f"{name}, B = {size}": (name, size) for name in NAMES for size in (5, 10)}


class Task(NamedTuple):
    """Candidates with standardized values, and the kernel parameters of their process."""

    points: Float[np.ndarray, "m D"]
    values: Float[np.ndarray, " m"]
    scale: float
    logs: Float[np.ndarray, " p"]


@dataclass(frozen=True)
class Batches(Kind):
    """A search in batches.

    Args:
        num_points: number of points of all batches.
        num_candidates: size of the finite set.
    """

    num_points: int = 50
    num_candidates: int = 512
    axis = "batches"

    def quick(self) -> "Batches":
        """One batch."""
        return Batches(5, 128)

    def run(self, problem: str, method: str, seed: int, data: Path | None) -> Values:
        """The immediate regret of the best observed candidate after each batch."""
        name, batch_size = PROBLEMS[problem]
        with double_precision():
            task = _task(name, self.num_candidates, data)
            regrets = self._regrets(task, batch_size, *METHODS[method], seed)
        return {"immediate regret": [task.scale * regret for regret in regrets[1:]]}

    def _regrets(
        self, task: Task, batch_size: int, strategy: Any, kind: str, seed: int
    ) -> list[float]:
        num_batches = self.num_points // batch_size
        rng = np.random.default_rng([seed, 7])
        seen, regrets = [int(rng.integers(len(task.values)))], []
        noise = np.sqrt(NOISE) * rng.normal(size=1 + self.num_points)
        for t in range(1, num_batches + 2):
            told = Data.padded(task.points[seen], task.values[seen] + noise[: len(seen)])
            gp, best = posterior(task.logs, told), told.y[told.mask].argmax()
            regrets.append(float(task.values.max() - task.values[seen[best]]))
            if t <= num_batches:
                now, later = (ucb_width(len(task.values), step) for step in (t, t + 1))
                widths: dict[str, Any] = {"width": now, "next_width": later}
                if kind == "EST":
                    ground = GroundSet.of(gp, task.points)
                    maximum = _maximum(ground.mean, ground.deviation, told.y[best])
                    widths = {"width": EstimationWidth(float(maximum))}
                key = jax.random.key(1000 * seed + t)
                seen += choose_batch(
                    strategy, gp, told, task.points, batch_size, key=key, **widths
                ).tolist()
        return regrets

    def measures(self, values: Mapping[str, list[float]]) -> Measures:
        """The regret."""
        return {name: np.array(series) for name, series in values.items()}


@cache
def _task(name: str, number: int, data: Path | None) -> Task:
    points, values = candidates(name, number, data)
    standardized = (values - values.mean()) / values.std()
    some = np.random.default_rng(1).choice(number, 100, replace=False)
    return Task(points, standardized, float(values.std()), fit(points[some], standardized[some]))
