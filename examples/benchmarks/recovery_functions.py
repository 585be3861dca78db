"""Functions on the unit cube with known shares of variance.

References:
    Ishigami and Homma 1990, "An importance quantification technique in uncertainty analysis for
    computer models"; Saltelli and Sobol 1995, "About the use of rank transformation in sensitivity
    analysis of model output", for the g-function.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from recovery_anova import Shares

import structbo as sb


class Function(NamedTuple):
    """A function with known shares.

    Args:
        space: parameters that are uniform on the unit interval, or on their levels.
        at: values at points of the unit cube.
        truth: its shares of variance.
        variance: its variance.
    """

    space: sb.Space
    at: Callable[[np.ndarray], np.ndarray]
    truth: Shares
    variance: float


def cube(num_dims: int) -> sb.Space:
    """Real parameters in the unit interval."""
    return sb.Space({f"x{d}": (0.0, 1.0) for d in range(num_dims)})


def ishigami(a: float, b: float, num_dims: int = 10) -> Function:
    """Ishigami's function of the first three parameters."""
    main, pairs = np.zeros(num_dims), np.zeros((num_dims, num_dims))
    main[0], main[1] = 0.5 * (1.0 + b * np.pi**4 / 5.0) ** 2, a**2 / 8.0
    pairs[0, 2] = pairs[2, 0] = 8.0 * b**2 * np.pi**8 / 225.0

    def at(x: np.ndarray) -> np.ndarray:
        z = np.pi * (2.0 * x - 1.0)
        return np.asarray(np.sin(z[:, 0]) * (1.0 + b * z[:, 2] ** 4) + a * np.sin(z[:, 1]) ** 2)

    variance = main.sum() + pairs[0, 2]
    shares = Shares(main / variance, pairs / variance)
    return Function(cube(num_dims), at, shares, float(variance))


def g_function(coefficients: tuple[float, ...], num_dims: int = 10) -> Function:
    """Sobol's g-function of the first parameters, with interactions of all orders.

    Args:
        coefficients: one for each parameter that matters; 0 matters most, 99 hardly.
        num_dims: number of parameters.
    """
    a = np.array(coefficients)
    main = np.zeros(num_dims)
    main[: len(a)] = 1.0 / (3.0 * (1.0 + a) ** 2)
    variance = float(np.prod(1.0 + main) - 1.0)
    pairs = np.outer(main, main) * (1.0 - np.eye(num_dims))

    def at(x: np.ndarray) -> np.ndarray:
        return np.asarray(((np.abs(4.0 * x[:, : len(a)] - 2.0) + a) / (1.0 + a)).prod(1))

    return Function(cube(num_dims), at, Shares(main / variance, pairs / variance), variance)
