"""The search for a true partition (Gardner et al. 2017, section 6.1).

Functions are drawn from additive processes of random partitions of ten parameters, and observed at
50 points of a scrambled Halton sequence. The distance is the deficit of the best maximized log
likelihood so far, relative to the true partition's.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Int
from papers.harness.experiment import Kind, Measures, Values
from papers.problems.partition_problem import ADDITIVE, observations

import structbo as sb
from structbo.draws import bag_of_models, maximum_likelihood, model_mcmc
from structbo.models import (
    AdditiveGP,
    BlockGP,
)
from structbo.models.foundation.precision import double_precision

BLOCKS = BlockGP()
MODELS: dict[str, AdditiveGP | BlockGP] = {
    "Model MCMC": BLOCKS,
    "bag of models": BLOCKS,
    "Model MCMC, a lengthscale per parameter": ADDITIVE,
    "joint posterior": ADDITIVE,
}
Labels = Int[np.ndarray, "S D"]


@dataclass(frozen=True)
class PartitionSearch(Kind):
    """A search through partitions.

    Args:
        num_models: number of models that a method visits, warm-up included.
    """

    num_models: int = 200
    axis = "models"

    def steps(self, count: int) -> np.ndarray:
        """Eight numbers of models."""
        return np.linspace(0, self.num_models, count + 1)[1:]

    def quick(self) -> "PartitionSearch":
        """Eight models."""
        return PartitionSearch(8)

    def run(self, problem: str, method: str, seed: int, data: Path | None) -> Values:
        """Distances along the search, and whether it visited the truth."""
        with double_precision():
            X, y, truth = observations(seed)
        model = MODELS[method]
        labels, fits = self._visited(method, model, X, y, seed)
        target = maximum_likelihood(model, X, y, {"labels": truth}).log_likelihood
        best = np.maximum.accumulate([fits(one) for one in labels])
        # The joint chain has no models during its warm-up.
        padded = np.r_[np.full(self.num_models - len(best), np.nan), best]
        steps = self.steps(8).astype(int) - 1
        distance = np.maximum(target - padded[steps], 0.0) / abs(target)
        visits = float((labels == truth).all(1).any())
        return {"distance": distance.tolist(), "truth visited": [visits]}

    def _visited(
        self, method: str, model: Any, X: np.ndarray, y: np.ndarray, seed: int
    ) -> tuple[Labels, Callable[[Int[np.ndarray, " D"]], float]]:
        """The partitions, and their maximized log likelihoods."""
        found: dict[bytes, float] = {}
        if method == "joint posterior":
            posterior = sb.fit(
                model,
                X,
                y,
                num_warmup=self.num_models // 4,
                num_samples=self.num_models - self.num_models // 4,
                num_chains=1,
                seed=seed,
                show_progress_bar=False,
            )
            labels = np.asarray(posterior.draws["labels"][0])
        else:
            search = bag_of_models if method == "bag of models" else model_mcmc
            count = model.num_parameters if isinstance(model, BlockGP) else None
            visited = search(
                model, X, y, num_models=self.num_models, num_parameters=count, seed=seed
            )
            labels = visited.labels
            found = {
                one.tobytes(): fit.log_likelihood
                for one, fit in zip(labels, visited.fits, strict=True)
            }

        def fits(one: Int[np.ndarray, " D"]) -> float:
            if one.tobytes() not in found:
                fit = maximum_likelihood(model, X, y, {"labels": one})
                found[one.tobytes()] = fit.log_likelihood
            return found[one.tobytes()]

        return labels, fits

    def measures(self, values: Mapping[str, list[float]]) -> Measures:
        """The two measures."""
        return {name: np.array(series) for name, series in values.items()}
