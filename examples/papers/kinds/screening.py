"""Which parameters matter: recovery and evaluations (Chen, Castro and Krause 2012)."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from papers.harness.experiment import Kind, Measures, Values
from papers.problems.screening_cases import CASES

import structbo as sb

BANDWIDTH = 0.05
"""The bandwidth of the kernel, 0.1 on [-1, 1], relative to the range."""
PRINTED: dict[str, Any] = {"mean": 0.0, "as_printed": True}
SPACING = 0.15
"""Distance of the pairs of CWS, three bandwidths."""


@dataclass(frozen=True)
class Screening(Kind):
    """A screening until it is decided; coordinate-wise sampling stops once it is right.

    Args:
        budget: maximum number of evaluations.
        max_dims: limit of the number of parameters.
    """

    budget: int = 2000
    max_dims: int = 400
    axis = "evaluations"

    def quick(self) -> "Screening":
        """Eight parameters."""
        return Screening(60, 8)

    def run(self, problem: str, method: str, seed: int, data: Path | None) -> Values:
        """Whether exactly the active parameters were found, and the number of evaluations."""
        case = CASES[problem]
        num_dims, noise = min(case.num_dims, self.max_dims), case.noise
        rng = np.random.default_rng([seed, num_dims, case.num_active])
        active = np.sort(rng.choice(num_dims, case.num_active, replace=False))
        function = case.make(rng, num_dims, active)
        truth = tuple(f"x{i}" for i in active)
        space = sb.Space.box([(-1.0, 1.0)] * num_dims)

        def observe(x: np.ndarray) -> float:
            return function(x) + float(np.sqrt(noise) * rng.normal())

        if method == "CWS":
            rounds = max(1, self.budget // (2 * num_dims))
            screening: Any = sb.CoordinatewiseSampling(
                space, case.num_active, num_differences=rounds, spacing=SPACING, seed=seed
            )
        else:
            screening = sb.HierarchicalDiagonalSampling(
                space,
                "FDT" if method.startswith("FDT") else "GPT",
                budget=self.budget,
                seed=seed,
                noise=noise * case.ratio**2,
                outputscale=1.0,
                bandwidth=BANDWIDTH * case.bandwidth,
                **(PRINTED if method.endswith("as printed") else {}),
            )
        while not screening.is_done:
            trial = screening.ask()
            screening.tell(trial, observe(trial.params))
            is_round = len(screening.trials) % (2 * num_dims) == 0
            if method == "CWS" and is_round and screening.active == truth:
                break
        found = screening.active == truth
        return {"recovered": [float(found)], "evaluations": [float(len(screening.trials))]}

    def measures(self, values: Mapping[str, list[float]]) -> Measures:
        """The two numbers."""
        return {name: np.array(series) for name, series in values.items()}
