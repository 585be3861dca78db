"""Functions on a graph, drawn from the kernel of Rolland et al. 2018, section 5.1."""

import numpy as np
from jaxtyping import Int
from papers.problems.waves import WaveSum

Pairs = list[tuple[int, int]]
STAR: Pairs = [(0, d) for d in range(1, 10)]
GRID: Pairs = [(d, d + 1) for d in range(9) if d % 3 < 2] + [(d, d + 3) for d in range(6)]
NUM_FEATURES = 500


class GraphGP(WaveSum):
    """A sum of squared exponential samples over the edges of a graph.

    Every edge has the same variance, and the sum has variance one.

    Args:
        num_dims: number of parameters, each in the unit interval.
        pairs: the edges.
        lengthscale: lengthscale of all parameters.
        seed: seed of the draw.
    """

    def __init__(self, num_dims: int, pairs: Pairs, lengthscale: float, seed: int) -> None:
        rng = np.random.default_rng([seed, num_dims])
        size = len(pairs), NUM_FEATURES
        frequencies = rng.normal(size=(*size, 2)) / lengthscale
        phases = rng.uniform(0.0, 2 * np.pi, size)
        weights = rng.normal(size=size) * np.sqrt(2.0 / np.prod(size))
        super().__init__(num_dims, pairs, frequencies, phases, weights)

    @property
    def edges(self) -> Int[np.ndarray, "D D"]:
        """The symmetric edge matrix."""
        matrix = np.zeros((self.num_dims, self.num_dims), int)
        i, j = np.transpose(self.scopes)
        matrix[i, j] = matrix[j, i] = 1
        return matrix
