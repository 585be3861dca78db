"""Functions with few active parameters on [-1, 1]^D, from Chen, Castro and Krause 2012, section 5.

All take a random generator, the number of parameters and the positions of the active ones. The
paper rescales its functions and does not say how; `rescaled` gives them the mean and the deviation
of a sample of the process.
"""

from collections.abc import Callable
from pathlib import Path

import numpy as np
from jaxtyping import Float, Int
from papers.problems import functions
from papers.problems.problem import Problem

Function = Callable[[Float[np.ndarray, " D"]], float]
Active = Int[np.ndarray, " d"]
Embedded = Callable[[np.random.Generator, int, Active], Function]


def gp_sample(rng: np.random.Generator, num_dims: int, active: Active) -> Function:
    """A squared exponential sample, bandwidth 0.1, by random Fourier features."""
    frequencies = rng.normal(size=(2000, len(active))) * np.sqrt(2) / 0.1
    phases, weights = rng.uniform(0, 2 * np.pi, 2000), rng.normal(size=2000) / np.sqrt(1000)
    return lambda x: float(weights @ np.cos(frequencies @ x[active] + phases))


def quad(rng: np.random.Generator, num_dims: int, active: Active, mix: float = 0.0) -> Function:
    """A parabola in which inactive parameters have a tiny influence."""
    scale, best = np.full(num_dims, 0.01), rng.uniform(-1, 1, num_dims)
    scale[active] = 10.0

    def function(x: Float[np.ndarray, " D"]) -> float:
        scaled = scale * (x - best)
        return float(np.sum(((1 - mix) * scaled + mix * scaled.sum()) ** 2))

    return function


def quad_mix(rng: np.random.Generator, num_dims: int, active: Active) -> Function:
    """A parabola whose inactive parameters interfere with the active ones."""
    return quad(rng, num_dims, active, mix=1 / num_dims)


def branin(rng: np.random.Generator, num_dims: int, active: Active) -> Function:
    """Branin's function, whose maximum is at (-1, -1)."""
    return lambda x: float(functions.branin(7.5 * x[active] + [2.5, 7.5]) - 54) / 51


def beale(rng: np.random.Generator, num_dims: int, active: Active) -> Function:
    """Beale's function, which is flat nearly everywhere."""
    return lambda x: float(functions.beale(4.5 * x[active])) / 17_000


def rescaled(make: Embedded, deviation: float = 1.0) -> Embedded:
    """The function with mean 0 and this deviation over 1,000 random points."""

    def drawn(rng: np.random.Generator, num_dims: int, active: Active) -> Function:
        function = make(rng, num_dims, active)
        values = [function(x) for x in rng.uniform(-1, 1, (1000, num_dims))]
        mean, scale = np.mean(values), np.std(values) / deviation
        return lambda x: float((function(x) - mean) / scale)

    return drawn


QUAD, QUAD_MIX, BRANIN, BEALE = map(rescaled, (quad, quad_mix, branin, beale))


def few_active(make: Embedded, seed: int, data: Path | None) -> Problem:
    """Two of four parameters matter (Chen, Castro and Krause 2012, figure 5).

    The maximum is over a grid of the active parameters, with the others at their best corner.
    """
    rng = np.random.default_rng([seed, 4, 2])
    active = np.sort(rng.choice(4, 2, replace=False))
    function = make(rng, 4, active)
    levels, ends = np.linspace(-1, 1, 201), (-1.0, 1.0)
    corners = np.array([(a, b) for a in ends for b in ends])
    rest = np.setdiff1d(np.arange(4), active)

    def at(z: np.ndarray, corner: np.ndarray) -> float:
        x = np.zeros(4)
        x[active], x[rest] = z, corner
        return function(x)

    plane = np.stack(np.meshgrid(levels, levels), -1).reshape(-1, 2)
    best = max(plane, key=lambda z: at(z, corners[0]))
    maximum = max(at(best, corner) for corner in corners)
    return Problem(function, [(-1.0, 1.0)] * 4, maximum=maximum, truth={"num_active": 2})
