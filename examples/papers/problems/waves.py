"""Sums of random functions of few variables, and their maximum by elimination of variables."""

from collections.abc import Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np
from jaxtyping import Float
from scipy.optimize import minimize

Arrays = Sequence[np.ndarray] | np.ndarray
NUM_LEVELS = 41


class WaveSum:
    """A sum of random functions of few variables, each with its random Fourier features.

    Args:
        num_dims: number of variables, each in the unit interval.
        scopes: the variables of every function.
        frequencies: frequencies of the F waves of every function, each of shape (F, variables).
        phases: phases of the waves, each of shape (F,).
        weights: heights of the waves, each of shape (F,).
    """

    def __init__(
        self,
        num_dims: int,
        scopes: Sequence[tuple[int, ...]],
        frequencies: Arrays,
        phases: Arrays,
        weights: Arrays,
    ) -> None:
        self.num_dims, self.scopes = num_dims, scopes
        self._frequencies, self._phases, self._weights = frequencies, phases, weights

    def __call__(self, x: Float[np.ndarray, "*n D"]) -> Float[np.ndarray, "*n"]:
        """The values at points of the unit cube."""
        terms = [self._term(k, x[..., list(scope)]) for k, scope in enumerate(self.scopes)]
        return np.asarray(sum(terms))

    def gradient(self, x: Float[np.ndarray, " D"]) -> Float[np.ndarray, " D"]:
        """The gradient at a point."""
        total = np.zeros(self.num_dims)
        for k, scope in enumerate(map(list, self.scopes)):
            slopes = np.sin(self._frequencies[k] @ x[scope] + self._phases[k]) * self._weights[k]
            total[scope] -= slopes @ self._frequencies[k]
        return total

    def ascend(self, start: Float[np.ndarray, " D"]) -> Float[np.ndarray, " D"]:
        """The end of a gradient ascent in the unit cube."""
        found = minimize(
            lambda x: -float(self(x)),
            start,
            jac=lambda x: -self.gradient(x),
            bounds=[(0.0, 1.0)] * self.num_dims,
        )
        return np.asarray(found.x)

    def best_point(self, num_levels: int = NUM_LEVELS) -> Float[np.ndarray, " D"]:
        """The best point of a grid, by elimination of variables, improved by gradient ascent.

        Args:
            num_levels: number of levels of every variable, each of which is in a scope.
        """
        levels = np.linspace(0.0, 1.0, num_levels)
        factors = []
        for k, scope in enumerate(self.scopes):
            grid = np.stack(np.meshgrid(*[levels] * len(scope), indexing="ij"), -1)
            factors.append(Factor(scope, self._term(k, grid)))
        return self.ascend(levels[best_indices(factors, self.num_dims)])

    @cached_property
    def maximum(self) -> float:
        """The value at the best point."""
        return float(self(self.best_point()))

    def _term(self, k: int, z: Float[np.ndarray, "*n d"]) -> Float[np.ndarray, "*n"]:
        return np.asarray(np.cos(z @ self._frequencies[k].T + self._phases[k]) @ self._weights[k])


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
