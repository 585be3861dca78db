"""Functions with and without structure, on which other libraries are compared.

Values have a deviation of about one, so that the noise is alike.
"""

from pathlib import Path

import numpy as np
from papers.problems import functions
from papers.problems.graph_functions import GraphGP
from papers.problems.problem import Problem
from papers.problems.waves import WaveSum

NUM_DIMS, NUM_FEATURES, LENGTHSCALE = 10, 200, 0.3
STYBLINSKI_TANG_DEVIATION, ROTATED_DEVIATION, HARTMANN_DEVIATION = 40.0, 4.0, 0.4
CUBE = [(0.0, 1.0)] * NUM_DIMS


def random_graph(seed: int, data: Path | None) -> Problem:
    """A random tree of ten parameters and three more edges."""
    rng = np.random.default_rng([seed, 5])
    pairs = {(int(rng.integers(d)), d) for d in range(1, NUM_DIMS)}
    others = [(i, j) for j in range(NUM_DIMS) for i in range(j) if (i, j) not in pairs]
    more = [others[k] for k in rng.choice(len(others), 3, replace=False)]
    return of_waves(GraphGP(NUM_DIMS, [*sorted(pairs), *more], LENGTHSCALE, seed))


def additive(seed: int, data: Path | None) -> Problem:
    """A sum of random functions of one parameter each."""
    rng = np.random.default_rng([seed, 6])
    size = NUM_DIMS, NUM_FEATURES
    scopes = [(d,) for d in range(NUM_DIMS)]
    frequencies = rng.normal(size=(*size, 1)) / LENGTHSCALE
    weights = rng.normal(size=size) * np.sqrt(2.0 / np.prod(size))
    phases = rng.uniform(0.0, 2 * np.pi, size)
    return of_waves(WaveSum(NUM_DIMS, scopes, frequencies, phases, weights))


def of_waves(drawn: WaveSum) -> Problem:
    """The problem of a sum of waves."""
    return Problem(lambda x: float(drawn(x)), CUBE, maximum=drawn.maximum)


def styblinski_tang(seed: int, data: Path | None) -> Problem:
    """A sum of functions of one parameter, which a seed does not change."""
    return Problem(
        lambda x: -float(functions.styblinski_tang(x)) / STYBLINSKI_TANG_DEVIATION,
        [(-4.0, 4.0)] * NUM_DIMS,
        maximum=39.16616570377142 * NUM_DIMS / STYBLINSKI_TANG_DEVIATION,
    )


def hartmann(seed: int, data: Path | None) -> Problem:
    """Hartmann's function of six parameters, all of which interact."""
    return Problem(
        lambda x: -float(functions.hartmann6(x)) / HARTMANN_DEVIATION,
        [(0.0, 1.0)] * 6,
        maximum=3.32237 / HARTMANN_DEVIATION,
    )


def rotated(seed: int, data: Path | None) -> Problem:
    """Waves and bowls along ten random directions: along the axes there is no structure."""
    rng = np.random.default_rng([seed, 7])
    directions = np.linalg.qr(rng.normal(size=(NUM_DIMS, NUM_DIMS)))[0]
    center = rng.uniform(0.2, 0.8, NUM_DIMS)

    def function(x: np.ndarray) -> float:
        z = 4.0 * (x - center) @ directions
        return float((np.cos(3.0 * z) - 0.5 * z**2).sum()) / ROTATED_DEVIATION

    return Problem(function, CUBE, maximum=NUM_DIMS / ROTATED_DEVIATION)
