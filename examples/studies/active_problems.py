"""Functions with few active parameters, from Chen, Castro and Krause (2012).

All take a random generator, the number of parameters, and the positions of the active ones. The
paper rescales all functions to [-1, 1] and does not say how. Here `branin` and `beale` have a
deviation of about one; parabolas are as printed, with values of hundreds, which makes them easy for
all methods. With a deviation of one they are hard: GPT then finds both parameters of d = 2 in 2 of
2 runs, all of d = 6, or of d = 4 with mixing, in none.
"""

from collections.abc import Callable

import numpy as np

Function = Callable[[np.ndarray], float]
Problem = Callable[[np.random.Generator, int, np.ndarray], Function]


def gp_sample(rng: np.random.Generator, num_dims: int, active: np.ndarray) -> Function:
    """A squared exponential sample, bandwidth 0.1 on [-1, 1], by random Fourier features."""
    frequencies = rng.normal(size=(2000, len(active))) * np.sqrt(2) / 0.1
    phases, weights = rng.uniform(0, 2 * np.pi, 2000), rng.normal(size=2000) / np.sqrt(1000)
    return lambda x: float(weights @ np.cos(frequencies @ x[active] + phases))


def quad(rng: np.random.Generator, num_dims: int, active: np.ndarray, mix: float = 0.0) -> Function:
    """A parabola in which inactive parameters have a tiny influence."""
    scale, best = np.full(num_dims, 0.01), rng.uniform(-1, 1, num_dims)
    scale[active] = 10.0

    def function(x: np.ndarray) -> float:
        scaled = scale * (x - best)
        return float(np.sum(((1 - mix) * scaled + mix * scaled.sum()) ** 2))

    return function


def quad_mix(rng: np.random.Generator, num_dims: int, active: np.ndarray) -> Function:
    return quad(rng, num_dims, active, mix=1 / num_dims)


def branin(rng: np.random.Generator, num_dims: int, active: np.ndarray) -> Function:
    def function(x: np.ndarray) -> float:
        a, b = 7.5 * x[active[0]] + 2.5, 7.5 * x[active[1]] + 7.5
        curve = b - 5.1 / (4 * np.pi**2) * a**2 + 5 / np.pi * a - 6
        return float((curve**2 + 10 * (1 - 1 / (8 * np.pi)) * np.cos(a) + 10 - 54) / 51)

    return function


def beale(rng: np.random.Generator, num_dims: int, active: np.ndarray) -> Function:
    def function(x: np.ndarray) -> float:
        a, b = 4.5 * x[active]
        terms = (1.5 - a + a * b, 2.25 - a + a * b**2, 2.625 - a + a * b**3)
        return float(sum(term**2 for term in terms) / 17_000)

    return function
