"""Test functions on their usual domains, with the points along the last axis.

References:
    Surjanovic and Bingham, "Virtual library of simulation experiments", for the classical ones;
    Anderson, Moore and Cohn 2000 for the cosines; Li et al. 2016, section 5.1, for the mixture.
"""

import numpy as np
from jaxtyping import Float
from scipy.special import logsumexp

A6 = np.array(
    [
        [10, 3, 17, 3.5, 1.7, 8],
        [0.05, 10, 17, 0.1, 8, 14],
        [3, 3.5, 1.7, 10, 17, 8],
        [17, 8, 0.05, 10, 0.1, 14],
    ]
)
P6 = 1e-4 * np.array(
    [
        [1312, 1696, 5569, 124, 8283, 5886],
        [2329, 4135, 8307, 3736, 1004, 9991],
        [2348, 1451, 3522, 2883, 3047, 6650],
        [4047, 8828, 8732, 5743, 1091, 381],
    ]
)

Points = Float[np.ndarray, "*n D"]
Values = Float[np.ndarray, "*n"]


def styblinski_tang(x: Points) -> Values:
    """Minimum -39.16617 D, at -2.903534, on [-4, 4]."""
    return np.asarray(0.5 * (x**4 - 16 * x**2 + 5 * x).sum(-1))


def michalewicz(x: Points, m: int = 10) -> Values:
    """Minimum -9.66015 in ten dimensions, on [0, pi]."""
    i = np.arange(1, x.shape[-1] + 1)
    return np.asarray(-(np.sin(x) * np.sin(i * x**2 / np.pi) ** (2 * m)).sum(-1))


def branin(x: Points) -> Values:
    """Minimum 0.397887, on [-5, 10] x [0, 15]; the maximum 308.129 is at (-5, 0)."""
    a, b = x[..., 0], x[..., 1]
    bowl = (b - 5.1 / (4 * np.pi**2) * a**2 + 5 / np.pi * a - 6) ** 2
    return np.asarray(bowl + 10 * (1 - 1 / (8 * np.pi)) * np.cos(a) + 10)


def beale(x: Points) -> Values:
    """Minimum 0, on [-4.5, 4.5]; the maximum 181853.6 is at (-4.5, -4.5)."""
    a, b = x[..., 0], x[..., 1]
    terms = (1.5 - a + a * b, 2.25 - a + a * b**2, 2.625 - a + a * b**3)
    return np.asarray(sum(term**2 for term in terms))


def hartmann6(x: Points) -> Values:
    """Minimum -3.32237, on the unit cube."""
    squares = (A6 * (x[..., None, :] - P6) ** 2).sum(-1)
    return np.asarray(-np.exp(-squares) @ np.array([1.0, 1.2, 3.0, 3.2]))


def levy(x: Points) -> Values:
    """Minimum 0, at 1, on [-10, 10]."""
    w = 1 + (x - 1) / 4
    first, last = np.sin(np.pi * w[..., 0]) ** 2, w[..., -1]
    middle = (w[..., :-1] - 1) ** 2 * (1 + 10 * np.sin(np.pi * w[..., :-1] + 1) ** 2)
    return np.asarray(
        first + middle.sum(-1) + (last - 1) ** 2 * (1 + np.sin(2 * np.pi * last) ** 2)
    )


def ackley(x: Points) -> Values:
    """Minimum 0, at 0, on [-32.768, 32.768]."""
    length, waves = np.sqrt(np.square(x).mean(-1)), np.cos(2 * np.pi * x).mean(-1)
    return np.asarray(20 - 20 * np.exp(-0.2 * length) + np.e - np.exp(waves))


def rosenbrock(x: Points) -> Values:
    """Minimum 0, at 1, usually on [-2, 2] or [-5, 10]."""
    first, second = x[..., :-1], x[..., 1:]
    return np.asarray((100 * (second - first**2) ** 2 + (1 - first) ** 2).sum(-1))


def cosines(x: Points) -> Values:
    """A mixture of cosines; in two dimensions the maximum 0.9 is at 0.3125, on the unit square."""
    u = 1.6 * x - 0.5
    return np.asarray(1 - (u**2 - 0.3 * np.cos(3 * np.pi * u)).sum(-1) - 0.7)


def log_mixture(
    x: Points, modes: Float[np.ndarray, "3 D"], shares: tuple[float, ...] = (0.1, 0.1, 0.8)
) -> Values:
    """The log density of a mixture of normals, of variance 0.01 D^0.1 in each coordinate."""
    size = modes.shape[-1]
    variance = 0.01 * size**0.1
    squares = np.square(x[..., None, :] - modes).sum(-1)
    constant = 0.5 * size * np.log(2 * np.pi * variance)
    return np.asarray(logsumexp(np.log(shares) - squares / (2 * variance), axis=-1) - constant)
