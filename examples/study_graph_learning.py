"""How fast is the graph learned? Correct connections and separations against the number of data.

    pip install -e ".[plots]" && python examples/study_graph_learning.py

Functions are drawn from Gaussian processes over the star and the grid of Rolland et al. 2018
(figure 2; lengthscales 0.2) and observed at random points, where the paper's points come from its
optimization. As in figures 5 and 6, CC is the share of the true edges that a learned graph has, CS
that of the others that it lacks, both averaged over posterior draws. "Overlap" has any graph, every
edge with probability 1/2, as in the paper; "no overlap" has partitions (Wang et al. 2017).
"""

import argparse
import csv
from itertools import product
from pathlib import Path

import jax
import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
import numpyro
from numpyro import handlers

from structbo.inference import Chain, Data
from structbo.models import (
    AdditiveGP,
    DirichletMultinomialPartition,
    EdgeBernoulli,
    cliques,
    edges,
    partitions,
)

GRAPHS = {
    "star": (10, [(0, j) for j in range(1, 10)]),
    "grid": (9, [(i, i + 1) for i in range(9) if i % 3 < 2] + [(i, i + 3) for i in range(6)]),
}
NOISE = 0.01
SIZES = (20, 50, 100, 150, 200)
MODELS = {
    "overlap": AdditiveGP(edges(0.5, cliques)),
    "overlap, sparse prior": AdditiveGP(),
    "no overlap": AdditiveGP(partitions(lambda d: DirichletMultinomialPartition(d, d))),
}


def observations(graph: str, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Random points and a sample path of the process over a graph at them, with noise."""
    num_dims, pairs = GRAPHS[graph]
    Z = np.zeros((num_dims, num_dims), int)
    Z[tuple(np.transpose(pairs))] = 1
    known = {"Z": Z + Z.T, "lengthscale": np.full(num_dims, 0.2), "outputscale": 1.0}
    truth = handlers.condition(AdditiveGP(edges(0.5, cliques)), data=known | {"noise": NOISE})
    x = np.random.default_rng(seed).random((max(SIZES), num_dims))
    return x, np.asarray(handlers.seed(truth, seed)(x))


def together(draws: dict[str, jax.Array]) -> np.ndarray:
    """Which pairs of dimensions share a component, shape (draws, D, D)."""
    if "Z" in draws:
        return np.asarray(draws["Z"], bool)
    return np.asarray(draws["labels"][:, :, None] == draws["labels"][:, None, :])


def scores(graph: str, found: np.ndarray) -> tuple[float, float]:
    """CC and CS of graphs, shape (draws, D, D), averaged."""
    num_dims, pairs = GRAPHS[graph]
    true = np.zeros((num_dims, num_dims), bool)
    true[tuple(np.transpose(pairs))] = True
    others = np.triu(~(true | true.T), 1)
    return float(found[:, true].mean()), float(1 - found[:, others].mean())


def panel(axes: plt.Axes, rows: list[tuple], graph: str, score: int) -> None:
    """Means over repetitions and their range, one line per model."""
    for name in [*MODELS, "prior"]:
        lines = [r for r in rows if r[:2] == (graph, name)]
        values = np.array([[r[4 + score] for r in lines if r[2] == n] for n in SIZES])
        style = "k--" if name == "prior" else "o-"
        (line,) = axes.plot(SIZES, values.mean(1), style, ms=3, label=name)
        axes.fill_between(SIZES, values.min(1), values.max(1), alpha=0.15, color=line.get_color())
    axes.set(title=f"{graph}: {('CC', 'CS')[score]}", xlabel="observations", ylim=(0, 1.03))


def write(rows: list[tuple], folder: Path) -> None:
    with open(folder / "graph_learning.csv", "w", newline="") as file:
        table = csv.writer(file)
        table.writerow(["graph", "model", "n", "repetition", "CC", "CS"])
        table.writerows([*row[:4], f"{row[4]:.3f}", f"{row[5]:.3f}"] for row in rows)
    figure, axes = plt.subplots(2, 2, figsize=(8, 6), sharex=True, sharey=True, layout="tight")
    for axis, (graph, score) in zip(axes.flat, product(GRAPHS, (0, 1)), strict=True):
        panel(axis, rows, graph, score)
    axes[0, 0].legend(fontsize=7)
    figure.savefig(folder / "graph_learning.png", dpi=110)
    plt.close(figure)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repetitions", type=int, default=3)
    parser.add_argument("--draws", type=int, default=20)
    parser.add_argument("--folder", type=Path, default=Path(__file__).parent / "results")
    arguments = parser.parse_args()
    numpyro.enable_x64()
    rows: list[tuple] = []
    for seed in range(arguments.repetitions):
        for graph in GRAPHS:
            x, y = observations(graph, seed)
            coins = EdgeBernoulli(x.shape[1]).sample(jax.random.key(seed), (1000,))
            # One chain per model, which goes on as data come in, as in an optimization.
            chains = {name: Chain(model, arguments.draws, seed) for name, model in MODELS.items()}
            for n in SIZES:
                found = {"prior": np.asarray(coins, bool)}
                for name, chain in chains.items():
                    found[name] = together(chain.advance(Data.padded(x[:n], y[:n])))
                rows += [(graph, name, n, seed, *scores(graph, f)) for name, f in found.items()]
        write(rows, arguments.folder)


if __name__ == "__main__":
    main()
