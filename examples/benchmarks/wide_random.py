"""Random functions with known structures: trees of pairs, main effects alone, or no structure."""

import numpy as np
from papers.problems.problem import Problem
from papers.problems.waves import WaveSum
from wide_functions import Maker, with_optimum

Scopes = list[tuple[int, ...]]
LENGTHSCALES, UNSTRUCTURED = (0.2, 0.4), (0.4, 0.8)
"""Ranges of the lengthscales of components of few variables, and of a component of all."""
PAIR_SHARE = 0.6
"""Share of the variance of all pairs together, where there are main effects."""
NUM_FEATURES, NUM_LEVELS = 500, 81
NUM_POINTS, NUM_STARTS = 4096, 64


def waves(
    scopes: Scopes, shares: np.ndarray, lengthscales: np.ndarray, rng: np.random.Generator
) -> WaveSum:
    """Squared exponential samples of some variables each, with given shares of the variance."""
    sizes = [len(scope) for scope in scopes]
    frequencies = [
        rng.normal(size=(NUM_FEATURES, size)) / lengthscales[list(scope)]
        for size, scope in zip(sizes, scopes, strict=True)
    ]
    phases = [rng.uniform(0.0, 2 * np.pi, NUM_FEATURES) for _ in scopes]
    weights = [rng.normal(size=NUM_FEATURES) * np.sqrt(2 * s / NUM_FEATURES) for s in shares]
    return WaveSum(len(lengthscales), scopes, frequencies, phases, weights)


def tree(num_dims: int, num_active: int, has_main: bool = True) -> Maker:
    """A random tree of pairs, and main effects, of random variables among many."""

    def make(rng: np.random.Generator) -> Problem:
        scopes: Scopes = [(int(rng.integers(k)), k) for k in range(1, num_active)]
        shares = np.full(len(scopes), (PAIR_SHARE if has_main else 1.0) / len(scopes))
        if has_main:
            scopes += [(d,) for d in range(num_active)]
            shares = np.append(shares, np.full(num_active, (1.0 - PAIR_SHARE) / num_active))
        drawn = waves(scopes, shares, rng.uniform(*LENGTHSCALES, num_active), rng)
        active, optimum = rng.permutation(num_dims)[:num_active], rng.random(num_dims)
        optimum[active] = drawn.best_point(NUM_LEVELS)
        return with_optimum(lambda x: drawn(x[active]), optimum)

    return make


def additive(num_dims: int) -> Maker:
    """Main effects alone, with shares of the variance from a uniform Dirichlet distribution."""

    def make(rng: np.random.Generator) -> Problem:
        shares = rng.dirichlet(np.ones(num_dims))
        scopes: Scopes = [(d,) for d in range(num_dims)]
        drawn = waves(scopes, shares, rng.uniform(*LENGTHSCALES, num_dims), rng)
        return with_optimum(drawn, drawn.best_point(NUM_LEVELS))

    return make


def unstructured(num_dims: int) -> Maker:
    """One sample of all variables, whose optimum is the best of many gradient ascents."""

    def make(rng: np.random.Generator) -> Problem:
        lengthscales = rng.uniform(*UNSTRUCTURED, num_dims)
        drawn = waves([tuple(range(num_dims))], np.ones(1), lengthscales, rng)
        points = rng.random((NUM_POINTS, num_dims))
        starts = points[np.argsort(-drawn(points))[:NUM_STARTS]]
        return with_optimum(drawn, max(map(drawn.ascend, starts), key=drawn))

    return make
