"""Log expected improvement, accurate and differentiable even if it is almost zero."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, Literal

import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.scipy.stats import norm
from jaxtyping import Float
from numpy.typing import ArrayLike

from structbo.acquisition.joint import JointCriterion, best_means, best_values
from structbo.maximizers.search_state import Search
from structbo.models.foundation.arguments import check_name
from structbo.models.foundation.arrays import AnyArray, FloatArray
from structbo.models.gp import ConditionedGP

LOG_SQRT_2PI = 0.5 * math.log(2.0 * math.pi)
NODES, WEIGHTS = np.polynomial.legendre.leggauss(64)
REACH = 10.0
"""Range of integrals over normal variables, in standard deviations from the mean."""
INCUMBENTS = {"mean": best_means, "value": best_values}


@dataclass(frozen=True)
class LogEI(JointCriterion):
    """Log of the expected improvement of the whole function over an incumbent.

    Joint. The expected improvement is averaged over draws.

    Args:
        incumbent: "mean" for each draw's best posterior mean at an observed point, "value" for the
            best observation. Noise inflates the best observation, but not the best mean.

    Raises:
        ValueError: if the incumbent is unknown.

    References:
        Ament et al. 2023, "Unexpected improvements to expected improvement"; Gardner et al. 2017,
        eq. (10), for the mean over structures, and eq. (4), for the best observation.
    """

    incumbent: Literal["mean", "value"] = "mean"
    is_log: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_name("incumbent", self.incumbent, INCUMBENTS)

    def contexts(self, posteriors: ConditionedGP, search: Search) -> Float[Array, " S"]:
        return INCUMBENTS[self.incumbent](posteriors)

    def score(
        self,
        mean: Float[Array, " m"],
        deviation: Float[Array, " m"],
        context: Float[Array, "*context"],
    ) -> Float[Array, " m"]:
        mean, deviation, best = self.normal(mean, deviation, context)
        return jnp.log(deviation) + log_improvement((mean - best) / deviation)

    def normal(
        self,
        mean: Float[Array, "*shape"],
        deviation: Float[Array, "*shape"],
        context: Float[Array, "*context"],
    ) -> tuple[Float[Array, "*shape"], Float[Array, "*shape"], Float[Array, ""]]:
        """Mean and deviation of the improving normal variable, and the incumbent."""
        return mean, deviation, context


@dataclass(frozen=True)
class LogEQI(LogEI):
    """Log of the expected improvement of the posterior mean at a point after its evaluation.

    Joint, with the incumbents of `LogEI`. Expected improvement ignores that a noisy evaluation
    reveals only a part of a gain, so it repeats points whose uncertainty is below the noise. The
    posterior mean after the evaluation has the deviation ``variance / sqrt(variance + noise)``.
    Without noise both criteria are equal. The mean is the median, the quantile of level 1/2.

    References:
        Picheny, Ginsbourger, Richet and Caplin 2013, "Quantile-based optimization of noisy computer
        experiments with tunable precision", section 3, expected quantile improvement at level 1/2.

    Example:
        >>> mean, deviation = jnp.array([1.0, 0.9]), jnp.array([0.02, 0.1])
        >>> best_and_noise = jnp.array([1.0, 0.01])
        >>> gains = LogEI().score(mean, deviation, best_and_noise[0])
        >>> int(gains.argmax())
        1
        >>> bool((LogEQI().score(mean, deviation, best_and_noise) < gains).all())
        True
    """

    def contexts(self, posteriors: ConditionedGP, search: Search) -> Float[Array, "S 2"]:
        return jnp.stack([super().contexts(posteriors, search), posteriors.noise], axis=-1)

    def normal(
        self,
        mean: Float[Array, "*shape"],
        deviation: Float[Array, "*shape"],
        context: Float[Array, " 2"],
    ) -> tuple[Float[Array, "*shape"], Float[Array, "*shape"], Float[Array, ""]]:
        best, noise = context[..., 0], context[..., 1]
        shown = jnp.square(deviation) / jnp.sqrt(jnp.square(deviation) + noise)
        return mean, shown, best


def log_improvement(z: Float[AnyArray, "*shape"]) -> Float[Array, "*shape"]:
    """``log(pdf(z) + z cdf(z))`` for the standard normal, accurate and smooth for all z.

    Args:
        z: standardized gaps.

    Example:
        >>> bool(jnp.isfinite(log_improvement(jnp.array(-1e6))))
        True
    """
    middle = jnp.clip(z, -25.0, 20.0)
    log_pdf = -0.5 * middle * middle - LOG_SQRT_2PI
    ratio = jnp.exp(norm.logcdf(middle) - log_pdf)
    near = log_pdf + jnp.log1p(middle * ratio)
    far = jnp.minimum(z, -25.0)
    series = jnp.log1p((15.0 / (far * far) - 3.0) / (far * far))
    tail = -0.5 * far * far - LOG_SQRT_2PI - 2.0 * jnp.log(-far) + series
    return jnp.where(z < -25.0, tail, jnp.where(z > 20.0, jnp.log(jnp.maximum(z, 20.0)), near))


def mean_improvement(
    mean: ArrayLike, deviation: ArrayLike, best: ArrayLike, value: Callable[[FloatArray], ArrayLike]
) -> float:
    """The expected improvement of an increasing function of a normal variable, averaged over draws.

    Args:
        mean: mean of the normal variable for every draw, shape (S,).
        deviation: standard deviation for every draw, shape (S,).
        best: incumbent for every draw, shape (S,).
        value: the increasing function, elementwise.

    Example:
        >>> round(mean_improvement([0.0, 0.0], [1.0, 1.0], [0.0, 0.0], lambda z: 2.0 * z), 4)
        0.7979
    """
    means, deviations, bests = (np.asarray(v, float)[:, None] for v in (mean, deviation, best))
    low = np.maximum((bests - means) / deviations, -REACH)
    half = 0.5 * (np.maximum(low, 0.0) + REACH - low)
    z = low + half * (1.0 + NODES)
    gains = np.asarray(value(means + deviations * z)) - np.asarray(value(bests))
    density = np.exp(-0.5 * np.square(z) - LOG_SQRT_2PI)
    return float((half * WEIGHTS * gains * density).sum(1).mean())
