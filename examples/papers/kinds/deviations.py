"""Sums of the components' deviations beside the joint one (Rolland et al. 2018, figure 8)."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from jaxtyping import Float
from papers.harness.experiment import Kind, Measures, Values
from papers.problems.graph_functions import STAR

LENGTHSCALE, NOISE = 0.2, 1e-4
NUM_BINS = 10
RATIO = "summed deviation / true deviation"


@dataclass(frozen=True)
class Deviations(Kind):
    """Posterior deviations at random points, given random observations.

    Args:
        num_observations: number of observations.
        num_points: number of points.
    """

    num_observations: int = 200
    num_points: int = 1000
    axis = "tenth of the true deviation"

    def quick(self) -> "Deviations":
        """Few points."""
        return Deviations(20, 50)

    def run(self, problem: str, method: str, seed: int, data: Path | None) -> Values:
        """The mean ratio of the two deviations by tenths of the true one, and their correlation."""
        rng = np.random.default_rng(seed)
        X, new = rng.random((self.num_observations, 10)), rng.random((self.num_points, 10))
        inverse = np.linalg.inv(sum(_kernel(X, X, pair) for pair in STAR) + NOISE * np.eye(len(X)))
        cross = [_kernel(new, X, pair) for pair in STAR]
        true = _deviation(1.0, np.sum(cross, axis=0), inverse)
        summed = np.sum([_deviation(1 / len(STAR), k, inverse) for k in cross], axis=0)
        order = np.array_split(np.argsort(true), NUM_BINS)
        return {
            "ratio": [float((summed[part] / true[part]).mean()) for part in order],
            "correlation": [float(np.corrcoef(true, summed)[0, 1])],
        }

    def measures(self, values: Mapping[str, list[float]]) -> Measures:
        """The two measures."""
        correlation = np.array(values["correlation"])
        return {RATIO: np.array(values["ratio"]), "correlation": correlation}


def _kernel(
    x: Float[np.ndarray, "n D"], z: Float[np.ndarray, "m D"], pair: tuple[int, int]
) -> Float[np.ndarray, "n m"]:
    """The squared exponential kernel of an edge."""
    x, z = x[:, list(pair)], z[:, list(pair)]
    squares = np.square(x[:, None] - z[None]).sum(-1)
    return np.asarray(np.exp(-squares / (2 * LENGTHSCALE**2)) / len(STAR))


def _deviation(
    prior: float, cross: Float[np.ndarray, "n m"], inverse: Float[np.ndarray, "m m"]
) -> Float[np.ndarray, " n"]:
    return np.asarray(np.sqrt(prior - np.einsum("nm,mk,nk->n", cross, inverse, cross)))
