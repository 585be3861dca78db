"""Random functions of graphs, with given shares of variance for main effects and pairs."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from recovery_anova import Shares
from recovery_functions import Function

import structbo as sb

PAIR_SHARE = 0.4
"""Share of all pairs of a random function together."""
SMOOTH, ROUGH = (0.12, 0.4), (0.08, 0.2)
"""Ranges of the lengthscales of real parameters."""
NUM_WAVES = 8
"""Waves of a random function of one real parameter."""


class Basis(NamedTuple):
    """Functions of one parameter with mean zero and variance one, uncorrelated with each other.

    Args:
        at: their values at coordinates, shape (m, K).
        scales: standard deviations of their random coefficients, shape (K,).
    """

    at: Callable[[np.ndarray], np.ndarray]
    scales: np.ndarray

    @classmethod
    def of(
        cls, levels: np.ndarray | None, rng: np.random.Generator, lengthscales: tuple[float, float]
    ) -> "Basis":
        """Contrasts of a category's levels; cosines with a random lengthscale of a real parameter.

        Scales of cosines are the square roots of a squared exponential kernel's spectral density.
        """
        if levels is None:
            frequencies = np.pi * np.arange(1, NUM_WAVES + 1)
            scales = np.exp(-np.square(frequencies * rng.uniform(*lengthscales)) / 4.0)
            return cls(lambda u: np.sqrt(2.0) * np.cos(u[:, None] * frequencies), scales)
        size = len(levels)
        columns = np.column_stack([np.ones(size), rng.normal(size=(size, size - 1))])
        contrasts = np.sqrt(size) * np.linalg.qr(columns)[0][:, 1:]
        return cls(lambda u: contrasts[np.searchsorted(levels, u - 1e-9)], np.ones(size - 1))


def random_function(
    space: sb.Space,
    truth: Shares,
    rng: np.random.Generator,
    lengthscales: tuple[float, float] = SMOOTH,
) -> Function:
    """A random function with given shares: main effects and pairs that average to zero.

    Args:
        space: real and categorical parameters.
        truth: shares that sum to one.
        rng: source of the random numbers.
        lengthscales: range of the lengthscales of real parameters.
    """
    bases = [Basis.of(parameter.levels, rng, lengthscales) for parameter in space.parameters]
    single = [
        scaled(basis.scales, share, rng) for basis, share in zip(bases, truth.main, strict=True)
    ]
    double = {
        (i, j): scaled(np.outer(bases[i].scales, bases[j].scales), truth.pairs[i, j], rng)
        for i, j in np.argwhere(np.triu(truth.pairs))
    }

    def at(x: np.ndarray) -> np.ndarray:
        waves = [basis.at(x[:, d]) for d, basis in enumerate(bases)]
        total = sum(wave @ b for wave, b in zip(waves, single, strict=True))
        for (i, j), b in double.items():
            total = total + ((waves[i] @ b) * waves[j]).sum(1)
        return np.asarray(total)

    return Function(space, at, truth, 1.0)


def scaled(scales: np.ndarray, share: float, rng: np.random.Generator) -> np.ndarray:
    """Random coefficients whose squares sum to a share."""
    drawn = scales * rng.normal(size=scales.shape)
    return np.asarray(np.sqrt(share / np.square(drawn).sum()) * drawn)


def random_shares(
    num_dims: int, num_active: int, num_pairs: int, rng: np.random.Generator
) -> Shares:
    """Unequal shares: of random main effects, and of random pairs if there are any.

    Pairs have `PAIR_SHARE` of the variance in all. Both kinds are divided by a uniform Dirichlet
    distribution, and a pair may join parameters without main effects.
    """
    of_pairs = PAIR_SHARE if num_pairs else 0.0
    main, pairs = np.zeros(num_dims), np.zeros((num_dims, num_dims))
    active = rng.choice(num_dims, num_active, replace=False)
    main[active] = (1.0 - of_pairs) * rng.dirichlet(np.ones(num_active))
    if num_pairs:
        every = np.transpose(np.triu_indices(num_dims, 1))
        rows, columns = every[rng.choice(len(every), num_pairs, replace=False)].T
        pairs[rows, columns] = of_pairs * rng.dirichlet(np.ones(num_pairs))
    return Shares(main, pairs + pairs.T)
