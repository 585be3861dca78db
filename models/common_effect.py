"""A main effect that parameters have in common: the sum of one random function over dimensions.

Hundreds of parameters are often of a kind, such as penalties or weights, and act alike. Their joint
direction, from all of them low to all of them high, then matters far more than any single one.

Values at random points hardly tell what happens along this direction, or at the corners of the
cube: the effects of hundreds of coordinates average out there. Independent main effects learn about
each corner by itself. A common one learns from a few points about all.
"""

import math

import jax.numpy as jnp
from jax import Array
from jaxtyping import Bool, Float

from structbo.models.foundation.arrays import AnyArray

NUM_WAVES = 4
"""Number of cosines of which the function consists."""
DECAY = 0.5
"""Ratio of the variances of successive cosines."""
SERIES = [(-1.0) ** k / math.factorial(2 * k + 1) for k in range(12)]
"""Taylor series of the sine in odd powers; between -pi/2 and pi/2 its error is 3e-16."""


def common_features(
    x: Float[AnyArray, "n P"],
    counts: Bool[AnyArray, "#n P"] | Bool[AnyArray, " P"],
    num_common: int,
) -> Float[Array, "n K"]:
    """Features of points whose products are the covariance of a common main effect.

    The function of one coordinate is a sum of cosines with independent normal weights. The cosines
    average zero, so the effect has no constant. Its variance is one on average over the cube, and
    up to twice the number of dimensions where all coordinates are equal.

    Args:
        x: points of the unit cube.
        counts: which dimensions of a point count; averages over the others are zero.
        num_common: number of dimensions with the effect.

    Example:
        >>> low = common_features(jnp.zeros((1, 100)), jnp.ones(100, bool), 100)
        >>> round(float((low @ low.T)[0, 0]), 6)
        200.0
    """
    first = _cosine(jnp.asarray(x))
    waves = [jnp.ones_like(first), first]
    while len(waves) <= NUM_WAVES:  # Chebyshev's recurrence takes one cosine for all
        waves.append(2.0 * first * waves[-1] - waves[-2])
    sums = [jnp.where(counts, wave, 0.0) @ jnp.ones(first.shape[-1]) for wave in waves[1:]]
    variances = DECAY ** jnp.arange(NUM_WAVES)
    variances = variances / variances.sum()
    return jnp.stack(sums, -1) * jnp.sqrt(2.0 * variances / max(num_common, 1))


def _cosine(x: Float[Array, "n P"]) -> Float[Array, "n P"]:
    """``cos(pi x)`` in the unit cube.

    XLA computes its own cosine one number at a time, which takes ten times as long.
    """
    angle = jnp.pi * (0.5 - x)
    square, sum_ = angle * angle, jnp.full_like(angle, SERIES[-1])
    for coefficient in SERIES[-2::-1]:
        sum_ = sum_ * square + coefficient
    return angle * sum_
