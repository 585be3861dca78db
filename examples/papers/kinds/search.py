"""Optimization runs: all methods start from the same random points."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float
from papers.harness.experiment import Kind, Measures, Values
from papers.methods.by_name import METHODS, AskTell
from papers.problems.by_name import PROBLEMS
from papers.problems.problem import Problem


def maximized(
    problem: Problem,
    optimizer: AskTell,
    first: Float[np.ndarray, "m D"],
    noise: Float[np.ndarray, " n"],
) -> Values:
    """Runs an optimizer for n evaluations.

    Args:
        problem: the function to maximize.
        optimizer: the method.
        first: the first points.
        noise: what is added to the values that the optimizer is told.

    Returns:
        The value of every evaluated point without noise, the CPU seconds of every suggestion, and
        the maximum if it is known.
    """
    maximum = [] if problem.maximum is None else [problem.maximum]
    found = evaluated(lambda x: problem.function(np.asarray(x)), optimizer, first, noise)
    return found | {"maximum": maximum}


def evaluated(
    function: Callable[[Any], float],
    optimizer: AskTell,
    first: Sequence[Any] | np.ndarray,
    noise: Float[np.ndarray, " n"],
) -> Values:
    """Runs an optimizer for n evaluations of a function of the parameters of trials.

    Args:
        function: the function, without noise.
        optimizer: the method.
        first: the first parameters.
        noise: what is added to the values that the optimizer is told.

    Returns:
        The value of every evaluation without noise, and the CPU seconds of every suggestion.
    """
    values: list[float] = []
    seconds: list[float] = []
    for n, error in enumerate(noise):
        start = time.process_time()
        trial = first[n] if n < len(first) else optimizer.ask()
        seconds.append(time.process_time() - start)
        values.append(function(getattr(trial, "params", trial)))
        optimizer.tell(trial, values[-1] + float(error))
    return {"value": values, "seconds": seconds[len(first) :]}


@dataclass(frozen=True)
class Search(Kind):
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

    def quick(self) -> "Search":
        """Two proposals after the first points."""
        return replace(self, evaluations=max(self.num_initial, 10) + 2)

    def run(self, problem: str, method: str, seed: int, data: Path | None) -> Values:
        """The values, the CPU seconds of suggestions, and the maximum if it is known."""
        made = PROBLEMS[problem](seed, data)
        optimizer = METHODS[method](made, seed)
        rng = np.random.default_rng([seed, 1])
        low, high = np.transpose(made.bounds)
        first = rng.uniform(low, high, (self.num_initial, made.num_dims))
        noise = self.noise * rng.normal(size=self.evaluations)
        return maximized(made, optimizer, first, noise)

    def measures(self, values: Mapping[str, list[float]]) -> Measures:
        """Regrets, or values if the maximum is unknown, and the mean time of a suggestion."""
        value = np.array(values["value"])
        counts = np.arange(1, len(value) + 1)
        seconds = values.get("seconds", [])
        duration = {"CPU seconds per suggestion": np.array([np.mean(seconds)])} if seconds else {}
        if not values["maximum"]:
            best = np.maximum.accumulate(value)
            return {"best value": best, "average value": np.cumsum(value) / counts, **duration}
        regret = values["maximum"][0] - value
        return {
            **duration,
            "simple regret": np.minimum.accumulate(regret),
            "average cumulative regret": np.cumsum(regret) / counts,
        }
