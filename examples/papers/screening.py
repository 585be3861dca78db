"""Which parameters matter: recovery and evaluations (Chen, Castro and Krause 2012)."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from papers import embedded
from papers.experiment import Kind, Measures, Values

import structbo as sb


class Case(NamedTuple):
    """A function of d among D parameters, and the variance of the noise.

    Args:
        make: draws the function.
        num_dims: number of parameters D.
        num_active: number of active parameters d.
        noise: variance of the noise.
        ratio: the noise deviation that the tests assume, as a multiple of the true one.
    """

    make: embedded.Embedded
    num_dims: int = 200
    num_active: int = 2
    noise: float = 0.1
    ratio: float = 1.0


SIZES, FEW_SIZES, NOISES = (10, 20, 40, 80, 200, 400), (10, 40, 400), (0.05, 0.25, 0.36)
RATIOS, DEVIATIONS = (0.5, 2, 5, 10), (2, 4, 8)
QUAD, QUAD_MIX = embedded.rescaled(embedded.quad), embedded.rescaled(embedded.quad_mix)
BRANIN, BEALE = embedded.rescaled(embedded.branin), embedded.rescaled(embedded.beale)
CASES: dict[str, Case] = {
    **{f"D = {D}": Case(embedded.gp_sample, D) for D in SIZES},
    **{f"noise {v}": Case(embedded.gp_sample, noise=v) for v in NOISES},
    **{f"deviation taken {r} times": Case(embedded.gp_sample, ratio=r) for r in RATIOS},
    **{f"variance taken {r} times": Case(embedded.gp_sample, ratio=r**0.5) for r in RATIOS},
    **{f"Quad, D = {D}": Case(QUAD, D) for D in FEW_SIZES},
    **{f"Branin, D = {D}": Case(BRANIN, D) for D in FEW_SIZES},
    **{f"Quad, d = {d}": Case(QUAD, num_active=d) for d in (2, 4, 6)},
    **{f"QuadMix, d = {d}": Case(QUAD_MIX, num_active=d) for d in (2, 4, 6)},
    "Branin": Case(BRANIN),
    "Beale": Case(BEALE),
    **{
        f"Quad, d = {d}, deviation {s}": Case(embedded.rescaled(embedded.quad, s), num_active=d)
        for d in (2, 6)
        for s in DEVIATIONS
    },
    **{f"Branin, deviation {s}": Case(embedded.rescaled(embedded.branin, s)) for s in DEVIATIONS},
}
SCALE: dict[str, Any] = {"outputscale": 1.0, "bandwidth": 0.05}
"""The known kernel: bandwidth 0.1 on [-1, 1] is 0.05 of the range."""
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

    def steps(self, count: int) -> np.ndarray:
        """Unused: each measure is one number."""
        return np.arange(count)

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
                **SCALE,
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
