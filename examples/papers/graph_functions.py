"""Functions on a graph, drawn from the kernel of Rolland et al. 2018, section 5.1."""

from functools import cached_property
from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int
from scipy.optimize import minimize

Pairs = list[tuple[int, int]]
STAR: Pairs = [(0, d) for d in range(1, 10)]
GRID: Pairs = [(d, d + 1) for d in range(9) if d % 3 < 2] + [(d, d + 3) for d in range(6)]
NUM_FEATURES, NUM_LEVELS = 500, 41


class GraphGP:
    """A sum of squared exponential samples over the edges of a graph, by random Fourier features.

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
        self.num_dims, self.pairs = num_dims, pairs
        self._frequencies = rng.normal(size=(*size, 2)) / lengthscale
        self._phases = rng.uniform(0.0, 2 * np.pi, size)
        self._weights = rng.normal(size=size) * np.sqrt(2.0 / np.prod(size))

    def __call__(self, x: Float[np.ndarray, "*n D"]) -> Float[np.ndarray, "*n"]:
        """The values at points of the unit cube."""
        terms = [self._term(k, x[..., list(pair)]) for k, pair in enumerate(self.pairs)]
        return np.asarray(sum(terms))

    def _term(self, k: int, z: Float[np.ndarray, "*n 2"]) -> Float[np.ndarray, "*n"]:
        return np.asarray(np.cos(z @ self._frequencies[k].T + self._phases[k]) @ self._weights[k])

    @property
    def edges(self) -> Int[np.ndarray, "D D"]:
        """The symmetric edge matrix."""
        matrix = np.zeros((self.num_dims, self.num_dims), int)
        i, j = np.transpose(self.pairs)
        matrix[i, j] = matrix[j, i] = 1
        return matrix

    @cached_property
    def maximum(self) -> float:
        """The best point of a grid, by elimination of variables, improved by gradient ascent."""
        levels = np.linspace(0.0, 1.0, NUM_LEVELS)
        square = np.stack(np.meshgrid(levels, levels, indexing="ij"), -1)
        factors = [Factor(pair, self._term(k, square)) for k, pair in enumerate(self.pairs)]
        start = levels[best_indices(factors, self.num_dims)]
        found = minimize(lambda x: -float(self(x)), start, bounds=[(0.0, 1.0)] * self.num_dims)
        return -float(found.fun)


class Factor(NamedTuple):
    """A table over the levels of some variables, in ascending order."""

    scope: tuple[int, ...]
    table: np.ndarray

    def aligned(self, scope: tuple[int, ...]) -> np.ndarray:
        """The table with one axis for each variable of a larger scope."""
        order = sorted(self.scope, key=scope.index)
        axes = [self.scope.index(d) for d in order]
        shape = [self.table.shape[self.scope.index(d)] if d in self.scope else 1 for d in scope]
        return self.table.transpose(axes).reshape(shape)


def best_indices(factors: list[Factor], num_dims: int) -> list[int]:
    """The levels that maximize the sum of factors, eliminating the variable with fewest neighbors.

    Args:
        factors: the terms of the sum.
        num_dims: number of variables, each in at least one factor.
    """
    choices: list[tuple[int, Factor]] = []
    left = set(range(num_dims))
    while left:
        scopes = {v: {d for f in factors if v in f.scope for d in f.scope} for v in left}
        v = min(left, key=lambda v: len(scopes[v]))
        scope = tuple(sorted(scopes[v] - {v}))
        total = sum(f.aligned((*scope, v)) for f in factors if v in f.scope)
        choices.append((v, Factor(scope, np.argmax(total, -1))))
        factors = [f for f in factors if v not in f.scope] + [Factor(scope, np.max(total, -1))]
        left.remove(v)
    best: dict[int, int] = {}
    for v, choice in reversed(choices):
        best[v] = int(choice.table[tuple(best[d] for d in choice.scope)])
    return [best[v] for v in range(num_dims)]
