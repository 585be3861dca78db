"""Learn which of ten parameters interact, and compare with the truth.

    pip install -e ".[plots]" && python examples/interactions.py

The function is a sum of bumps over the edges of a graph, observed with noise.
"""

import argparse
from collections.abc import Callable
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

import structbo as sb

NUM_DIMS = 10
GRAPH = [(0, 1), (1, 2), (2, 3), (3, 0), (4, 5), (5, 6), (6, 7), (1, 8)]


def make_function(seed: int) -> Callable[[np.ndarray], float]:
    rng = np.random.default_rng(seed)
    waves = rng.normal(scale=5.0, size=(len(GRAPH), 200, 2))
    phases = rng.uniform(0, 2 * np.pi, (len(GRAPH), 200))
    heights = rng.normal(size=(len(GRAPH), 200)) / 10

    def function(x: np.ndarray) -> float:
        total = 0.0
        for edge, wave, phase, height in zip(GRAPH, waves, phases, heights, strict=True):
            total += np.cos(wave @ x[list(edge)] + phase) @ height
        return float(total + 0.02 * rng.standard_normal())

    return function


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--n-trials", type=int, default=100)
    parser.add_argument("--picture", type=Path, default=Path("interactions.png"))
    arguments = parser.parse_args()

    box = sb.Space.box([[0.0, 1.0]] * NUM_DIMS)
    result = sb.maximize(make_function(seed=0), box, arguments.n_trials)
    truth = np.zeros((NUM_DIMS, NUM_DIMS))
    truth[tuple(np.transpose(GRAPH))] = 1
    sb.plot_interactions(result, truth=truth + truth.T)
    plt.gcf().savefig(arguments.picture, dpi=110, bbox_inches="tight")
    print(f"Best value {result.best_value:.3f}; the graphs are in {arguments.picture}.")


if __name__ == "__main__":
    main()
