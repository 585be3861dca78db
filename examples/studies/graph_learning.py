"""The speed of graph learning: correct connections and separations over observations.

    pip install -e ".[plots]" && python examples/studies/graph_learning.py

Functions are drawn from Gaussian processes over the star and the grid of Rolland et al. 2018,
observed at random points (in the paper, at points of an optimization). Their figures 5 and 6 show
CC, the share of true edges in a graph, and CS, the share of other pairs that are not joined,
averaged over draws. "Overlap" allows any graph, with edge probability 1/2 as in the paper; "no
overlap" allows partitions (Wang et al. 2017). Zero observations give the prior. Like in the paper,
overlap tends to the truth (CC 0.99 and 0.94 after 200), no overlap saturates (CC 0.46 and 0.47).
"""

import argparse
import csv
from itertools import product
from pathlib import Path

import jax
import jax.numpy as jnp
import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
import numpyro
from numpyro import handlers

import structbo.models as sm
from structbo.data import Data
from structbo.draws import Chain

GRAPHS = {
    "star": (10, [(0, j) for j in range(1, 10)]),
    "grid": (9, [(i, i + 1) for i in range(9) if i % 3 < 2] + [(i, i + 3) for i in range(6)]),
}
TRUTH, NUM_DRAWS = {"outputscale": 1.0, "noise": 0.01}, 20
SIZES = (20, 50, 100, 150, 200)
MODELS = {
    "overlap": sm.AdditiveGP(sm.edges(0.5, sm.cliques)),
    "overlap, sparse prior": sm.AdditiveGP(),
    "no overlap": sm.AdditiveGP(sm.partitions(lambda d: sm.DirichletMultinomialPartition(d, d))),
}


def true_edges(graph: str) -> np.ndarray:
    num_dims, pairs = GRAPHS[graph]
    i, j = np.transpose(pairs)
    Z = np.zeros((num_dims, num_dims), bool)
    Z[i, j] = Z[j, i] = True
    return Z


def observations(graph: str, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Random points and a sample path at them, with noise."""
    Z = true_edges(graph)
    known = TRUTH | {"Z": jnp.array(Z, int), "lengthscale": jnp.full(len(Z), 0.2)}
    truth = handlers.condition(MODELS["overlap"], data=known)
    x = np.random.default_rng(seed).random((max(SIZES), len(Z)))
    return x, np.asarray(handlers.seed(truth, seed)(x))


def prior(model: sm.AdditiveGP, num_dims: int) -> dict[str, jax.Array]:
    """A thousand structures from the prior."""

    def one(key: jax.Array) -> dict[str, jax.Array]:
        trace = handlers.trace(handlers.seed(model.structure, key)).get_trace(num_dims)
        return {name: site["value"] for name, site in trace.items()}

    return jax.lax.map(one, jax.random.split(jax.random.key(0), 1000))


def together(draws: dict[str, jax.Array]) -> np.ndarray:
    """Which pairs of dimensions share a component, shape (draws, D, D)."""
    labels = draws.get("labels")
    return np.array(draws["Z"] == 1 if labels is None else labels[..., None] == labels[:, None])


def scores(graph: str, found: np.ndarray) -> tuple[float, float]:
    """CC and CS of graphs, shape (draws, D, D), averaged."""
    true, others = np.triu(true_edges(graph)), np.triu(~true_edges(graph), 1)
    return round(found[:, true].mean(), 3), round(1 - found[:, others].mean(), 3)


def write(rows: list[tuple], folder: Path) -> None:
    with open(folder / "graph_learning.csv", "w", newline="") as file:
        csv.writer(file).writerows([("graph", "model", "n", "repetition", "CC", "CS"), *rows])
    figure, axes = plt.subplots(2, 2, figsize=(8, 6), layout="tight")
    for axis, (graph, column) in zip(axes.flat, product(GRAPHS, (4, 5)), strict=True):
        for name in MODELS:
            lines = [r for r in rows if r[:2] == (graph, name)]
            values = np.array([[r[column] for r in lines if r[2] == n] for n in (0, *SIZES)])
            axis.plot((0, *SIZES), values.mean(1), "o-", ms=3, label=name)
            axis.fill_between((0, *SIZES), values.min(1), values.max(1), alpha=0.15)
        axis.set(title=graph, xlabel="n", ylabel="CC" if column == 4 else "CS", ylim=(0, 1.03))
    axes[0, 0].legend(fontsize=7)
    figure.savefig(folder / "graph_learning.png", dpi=110)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repetitions", type=int, default=3)
    parser.add_argument("--folder", type=Path, default=Path(__file__).parent / "results")
    arguments = parser.parse_args()
    numpyro.enable_x64()
    rows: list[tuple] = []
    for seed in range(arguments.repetitions):
        for graph in GRAPHS:
            x, y = observations(graph, seed)
            for name, model in MODELS.items():
                chain = Chain(model, NUM_DRAWS, seed)  # goes on as data come in
                for n in (0, *SIZES):
                    data = Data.padded(x[:n], y[:n])
                    draws = chain.advance(data) if n else prior(model, x.shape[1])
                    rows.append((graph, name, n, seed, *scores(graph, together(draws))))
                    print(*rows[-1], flush=True)
    write(rows, arguments.folder)


if __name__ == "__main__":
    main()
