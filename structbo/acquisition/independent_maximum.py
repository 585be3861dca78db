"""The maximum of independent normal variables, as an approximation for function values.

Its expectation is an upper bound for positively correlated values (Slepian's lemma), and so for a
Gaussian process at finitely many points.
"""

import jax
import jax.numpy as jnp
from jax import Array
from jax.scipy.stats import norm
from jaxtyping import Float

LARGEST_SPREAD = 50.0
"""Spread of the bell curve of `published_maximum` where the exceedance hardly falls."""
NUM_NODES = 256
NUM_BISECTIONS = 40
FAR = 9.0
"""Range of every variable around its mean, in standard deviations."""


def exceedance(
    w: Float[Array, " k"], mean: Float[Array, " m"], deviation: Float[Array, " m"]
) -> Float[Array, " k"]:
    """The probability that the maximum of independent normals exceeds a number.

    Args:
        w: the numbers.
        mean: of the variables.
        deviation: of the variables.
    """

    def one(w: Float[Array, ""]) -> Float[Array, ""]:
        return -jnp.expm1(norm.logcdf((w - mean) / deviation).sum())

    return jax.lax.map(one, w)


def expected_maximum(
    mean: Float[Array, " m"], deviation: Float[Array, " m"], least: Float[Array, ""]
) -> Float[Array, ""]:
    """The mean of the maximum of independent normals and a number, by quadrature (ESTn).

    ``E max(m_0, max Y) = m_0 +`` the integral of the exceedance from ``m_0`` upwards.

    Args:
        mean: of the variables.
        deviation: of the variables.
        least: the number ``m_0``.

    Returns:
        A number, greater than ``m_0``.

    References:
        Wang, Zhou and Jegelka 2016, section 2 (ESTn).

    Example:
        >>> zeros, ones = jnp.zeros(2), jnp.ones(2)
        >>> round(float(expected_maximum(zeros, ones, jnp.array(-9.0))), 3)  # 1 / sqrt(pi)
        0.564
    """
    width = _range(mean, deviation, least)
    nodes = least + width * (jnp.arange(NUM_NODES) + 0.5) / NUM_NODES
    return least + width * exceedance(nodes, mean, deviation).mean()


def approximate_maximum(
    mean: Float[Array, " m"], deviation: Float[Array, " m"], least: Float[Array, ""]
) -> Float[Array, ""]:
    """`expected_maximum` with the exceedance replaced by half a bell curve (ESTa).

    The curve matches the exceedance at ``m_0`` and where it has fallen to a half. Its integral has
    a closed form, and scales with the function.

    Args:
        mean: of the variables.
        deviation: of the variables.
        least: the number ``m_0``.

    Returns:
        A number, not less than ``m_0``.

    References:
        Wang, Zhou and Jegelka 2016, section 2 (ESTa).

    Example:
        >>> round(float(approximate_maximum(jnp.zeros(2), jnp.ones(2), jnp.array(0.0))), 3)
        0.645
    """
    start = exceedance(least[None], mean, deviation)[0]
    half = quantile(0.5 * start, mean, deviation, least) - least
    spread = half / jnp.sqrt(2.0 * jnp.log(2.0))
    return least + start * spread * jnp.sqrt(0.5 * jnp.pi)


def published_maximum(
    mean: Float[Array, " m"], deviation: Float[Array, " m"], least: Float[Array, ""]
) -> Float[Array, ""]:
    """`approximate_maximum` as in the public code of the paper, which depends on the units.

    The bell curve, with height one, matches the exceedance one unit above ``m_0``.

    Args:
        mean: of the variables.
        deviation: of the variables.
        least: the number ``m_0``.

    Returns:
        A number, not less than ``m_0``.

    References:
        The function ``gp_est`` of the repository zi-w/GP-EST; Kathuria et al. 2016, section 4.

    Example:
        >>> round(float(published_maximum(jnp.zeros(1), jnp.ones(1), jnp.array(0.0))), 4)
        0.3266
    """
    start, above = exceedance(jnp.stack([least, least + 1.0]), mean, deviation)
    spread = jnp.minimum((-2.0 * jnp.log(above)) ** -0.5, LARGEST_SPREAD)
    return least + start * spread * jnp.sqrt(0.5 * jnp.pi)


def quantile(
    probability: Float[Array, ""],
    mean: Float[Array, " m"],
    deviation: Float[Array, " m"],
    least: Float[Array, ""],
) -> Float[Array, ""]:
    """The number above ``least`` that the maximum exceeds with a probability, by bisection."""

    def halve(_: int, bracket: tuple[Array, Array]) -> tuple[Array, Array]:
        low, high = bracket
        middle = 0.5 * (low + high)
        is_low = exceedance(middle[None], mean, deviation)[0] > probability
        return jnp.where(is_low, middle, low), jnp.where(is_low, high, middle)

    bracket = (least, least + _range(mean, deviation, least))
    low, high = jax.lax.fori_loop(0, NUM_BISECTIONS, halve, bracket)
    return 0.5 * (low + high)


def _range(
    mean: Float[Array, " m"], deviation: Float[Array, " m"], least: Float[Array, ""]
) -> Float[Array, ""]:
    """The largest difference of the maximum to ``least``."""
    return jnp.maximum((mean + FAR * deviation).max() - least, deviation.min())
