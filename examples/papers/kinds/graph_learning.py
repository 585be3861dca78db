"""Correct connections and separations of learned graphs (Rolland et al. 2018, figures 5 and 6).

CC is the share of true edges in a graph, and CS the share of other pairs that are not joined, both
averaged over draws. Zero observations give the prior. The paper's algorithm, "as printed", keeps
the most likely of the graphs that it samples, and the others average over a Markov chain.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import jax
import numpy as np
from jaxtyping import Bool
from numpyro import handlers
from papers.harness.experiment import Kind, Measures, Values
from papers.problems.graph_functions import GRID, STAR, GraphGP, Pairs

import structbo.models as sm
from structbo.data import Data
from structbo.draws import Chain, GibbsSearch
from structbo.models.foundation.precision import double_precision
from structbo.recipes.overlapping_groups import FACTORS, NOISES

GRAPHS = {"star": (10, STAR), "grid": (9, GRID)}
LENGTHSCALE, NOISE, NUM_PRIOR_DRAWS = 0.2, 0.1, 1000
PRINTED = "Overlap, as printed"
METHODS = {
    PRINTED: sm.AdditiveGP(
        sm.edges(0.5, sm.cliques),
        lengthscale=sm.FiniteUniform([LENGTHSCALE * factor for factor in FACTORS]),
        outputscale=sm.FiniteUniform([1.0]),
        noise=sm.FiniteUniform(NOISES),
    ),
    "Overlap": sm.AdditiveGP(sm.edges(0.5, sm.cliques)),
    "Overlap, sparse prior": sm.AdditiveGP(),
    "No Overlap": sm.AdditiveGP(sm.partitions(lambda d: sm.DirichletMultinomialPartition(d, d))),
}


@dataclass(frozen=True)
class GraphLearning(Kind):
    """Graphs learned from random points as they come in.

    Args:
        sizes: numbers of observations.
        num_draws: draws of the chain for each.
        num_likelihoods: likelihoods of the paper's algorithm for each.
    """

    sizes: tuple[int, ...] = (0, 20, 50, 100, 150, 200)
    num_draws: int = 20
    num_likelihoods: int = 200
    axis = "observations"

    def steps(self, count: int) -> np.ndarray:
        """The numbers of observations."""
        return np.array(self.sizes)

    def quick(self) -> "GraphLearning":
        """Few observations."""
        return GraphLearning((0, 10, 12), 3, 10)

    def run(self, problem: str, method: str, seed: int, data: Path | None) -> Values:
        """CC and CS after each number of observations."""
        with double_precision():
            return self._learned(*GRAPHS[problem], method, seed)

    def _learned(self, num_dims: int, pairs: Pairs, method: str, seed: int) -> Values:
        drawn, rng = GraphGP(num_dims, pairs, LENGTHSCALE, seed), np.random.default_rng(seed)
        x = rng.random((max(self.sizes), num_dims))
        y = drawn(x) + NOISE * rng.normal(size=len(x))
        model = METHODS[method]
        # Both go on as data come in.
        source = (
            GibbsSearch(model, seed, self.num_likelihoods)
            if method == PRINTED
            else Chain(model, self.num_draws, seed)
        )
        true, others = np.triu(drawn.edges) == 1, np.triu(drawn.edges == 0, 1)
        values: Values = {"correct connections": [], "correct separations": []}
        for n in self.sizes:
            draws = source.advance(Data.padded(x[:n], y[:n])) if n else _prior(model, num_dims)
            joined = _joined(draws)
            values["correct connections"].append(float(joined[:, true].mean()))
            values["correct separations"].append(float(1 - joined[:, others].mean()))
        return values

    def measures(self, values: Mapping[str, list[float]]) -> Measures:
        """The two shares."""
        return {name: np.array(series) for name, series in values.items()}


def _prior(model: sm.AdditiveGP, num_dims: int) -> dict[str, jax.Array]:
    """Structures from the prior."""

    def one(key: jax.Array) -> dict[str, jax.Array]:
        trace = handlers.trace(handlers.seed(model.structure, key)).get_trace(num_dims)
        return {name: site["value"] for name, site in trace.items()}

    return jax.lax.map(one, jax.random.split(jax.random.key(0), NUM_PRIOR_DRAWS))


def _joined(draws: Mapping[str, jax.Array | np.ndarray]) -> Bool[np.ndarray, "S D D"]:
    """Which pairs of parameters share a component."""
    labels = draws.get("labels")
    return np.array(draws["Z"] == 1 if labels is None else labels[..., None] == labels[:, None])
