"""Max-value entropy search: the information gain about the maximum of the function."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, get_args

import jax
import jax.numpy as jnp
from jax import Array
from jax.scipy.stats import norm
from jaxtyping import Float, Int

from structbo.acquisition.additive_criterion import AdditiveAcquisition, ComponentCriterion
from structbo.acquisition.criterion import Acquisition, count_draws
from structbo.acquisition.expected_improvement import LOG_SQRT_2PI
from structbo.acquisition.independent_maximum import FAR, quantile
from structbo.acquisition.joint import TINY_VARIANCE, JointCriterion, best_means
from structbo.acquisition.thompson import Thompson
from structbo.maximizers import Layout, coarse_to_fine
from structbo.maximizers.ascent import coordinate_ascent
from structbo.maximizers.search_state import Search
from structbo.models.foundation.accelerator import map_draws
from structbo.models.foundation.arguments import check_name, checked_count
from structbo.models.foundation.arrays import AnyArray
from structbo.models.gp import ConditionedGP, SamplePath

Maxima = Literal["sampled", "gumbel"]
Read = Callable[[SamplePath, AdditiveAcquisition, Layout, Search], Float[Array, "*shape"]]
NUM_FEATURES = 256
NUM_ROUNDS = 2
NUM_GRID = 25
QUARTILES = (0.25, 0.5, 0.75)


@dataclass(frozen=True)
class MES(JointCriterion):
    """The information of the function's value at a point about its maximum.

    Joint. The information is the loss of entropy of a normal truncated at the maximum, averaged
    over draws and over several maxima per draw.

    "sampled" maxima belong to functions drawn from the posterior. Message passing finds them
    exactly on its grids if its components make up the whole function and its junction tree fits the
    search. Otherwise, and for projections, they are lower bounds: the best of message passing and
    of the search's candidates, improved by coordinate ascent. "gumbel" maxima come from a Gumbel
    distribution with the quartiles of the maximum of independent normals at the candidates.

    Args:
        num_maxima: maxima per draw.
        maxima: source of the maxima, "sampled" or "gumbel".

    References:
        Wang and Jegelka 2017, "Max-value entropy search", eq. (6) and section 3.1.
    """

    num_maxima: int = 2
    maxima: Maxima = "sampled"

    def __post_init__(self) -> None:
        checked_count("num_maxima", self.num_maxima)
        check_name("maxima", self.maxima, get_args(Maxima))

    def contexts(
        self, posteriors: ConditionedGP, search: Search
    ) -> Float[Array, "S {self.num_maxima}"]:
        if self.maxima == "gumbel":
            return gumbel_maxima(posteriors, search, self.num_maxima)
        return _by_path(posteriors, search, self.num_maxima, _maximum)

    def pooled(self, contexts: Float[Array, "S M"]) -> Float[Array, " S*M"]:
        return contexts.ravel()

    def score(
        self,
        mean: Float[Array, " m"],
        deviation: Float[Array, " m"],
        context: Float[Array, " M"],
    ) -> Float[Array, " m"]:
        gaps = (context - mean[:, None]) / deviation[:, None]
        return entropy_lost(gaps).mean(-1)


@dataclass(frozen=True)
class AdditiveMES(ComponentCriterion):
    """Sum over components of the information of a component's value about its own maximum.

    Additive. Components are treated as if they were observed separately. Their maxima are of
    functions drawn from the posterior, on a fine grid per component; wide components, the residual
    and projections use the candidates of the search. The sum is averaged over draws and over
    several maxima per draw.

    Args:
        num_maxima: maxima per draw and component.

    References:
        Wang and Jegelka 2017, section 3.3 (add-MES), for components that do not overlap.
    """

    num_maxima: int = 2

    def __post_init__(self) -> None:
        checked_count("num_maxima", self.num_maxima)

    def of(self, posteriors: ConditionedGP, search: Search) -> Acquisition:
        maxima = _by_path(posteriors, search, self.num_maxima, _component_maxima)
        return Acquisition(posteriors, maxima, jnp.arange(count_draws(posteriors)), self)

    def score(
        self,
        mean: Float[Array, " m"],
        deviation: Float[Array, " m"],
        context: Float[Array, "M rows"],
        row: Int[Array, ""] | int,
    ) -> Float[Array, " m"]:
        gaps = (context[:, row] - mean[:, None]) / deviation[:, None]
        return entropy_lost(gaps).mean(-1)


def entropy_lost(gap: Float[AnyArray, "*shape"]) -> Float[Array, "*shape"]:
    """The loss of entropy of a standard normal that is truncated above at a number.

    ``z pdf(z) / (2 cdf(z)) - log cdf(z)``, in a form that loses no digits far below zero.

    Args:
        gap: the numbers.

    Returns:
        The entropies, positive and decreasing.

    References:
        Wang and Jegelka 2017, eq. (6).

    Example:
        >>> round(float(entropy_lost(jnp.array(0.0))), 6) == round(float(jnp.log(2.0)), 6)
        True
    """
    near = jnp.maximum(gap, -25.0)
    log_cdf = norm.logcdf(near)
    hazard = jnp.exp(-0.5 * near * near - LOG_SQRT_2PI - log_cdf)
    far = jnp.minimum(gap, -25.0)
    a = 1.0 / (far * far)
    slope = -1.0 + a * (3.0 - a * (15.0 - 105.0 * a))
    series = 1.0 + a * slope
    tail = 0.5 * slope / series + LOG_SQRT_2PI + jnp.log(-far) - jnp.log(series)
    return jnp.where(gap < -25.0, tail, 0.5 * near * hazard - log_cdf)


def gumbel_maxima(
    posteriors: ConditionedGP, search: Search, number: int
) -> Float[Array, "S {number}"]:
    """Maxima under the posteriors of S draws, treating values as independent.

    They come from a Gumbel distribution with the right quartiles, cut at the best posterior mean at
    an observed point.

    Args:
        posteriors: of S draws, stacked along the first axis.
        search: the search, whose candidates are the points of the values.
        number: number of maxima per draw.

    References:
        Wang and Jegelka 2017, section 3.1 and appendix B.
    """
    # Evenly spread and equal for all draws, with less noise than independent numbers.
    levels = (jnp.arange(number) + jax.random.uniform(search.key)) / number
    gumbel = -jnp.log(-jnp.log(jnp.clip(levels, 1e-6, 1.0 - 1e-6)))

    def of_draw(item: tuple[ConditionedGP, Array]) -> Array:
        posterior, best = item
        mean, variance = posterior.predict(search.candidates)
        deviation = jnp.sqrt(variance + TINY_VARIANCE)
        low = (mean - FAR * deviation).min()
        first, median, last = (quantile(jnp.array(1 - p), mean, deviation, low) for p in QUARTILES)
        own_first, own_median, own_last = (-math.log(-math.log(p)) for p in QUARTILES)
        scale = (last - first) / (own_last - own_first)
        return jnp.maximum(median + scale * (gumbel - own_median), best)

    return map_draws(of_draw, (posteriors, best_means(posteriors)))


def _by_path(
    posteriors: ConditionedGP, search: Search, number: int, read: Read
) -> Float[Array, "S {number} *shape"]:
    """Maxima of functions drawn from S posteriors, by ``read``."""
    count = count_draws(posteriors)
    keys = jax.random.split(search.key, (count, number))

    def of_draw(item: tuple[Array, Array]) -> Array:
        index, keys = item
        posterior, layout = (
            jax.tree.map(lambda leaf: jnp.asarray(leaf)[index], stacked)
            for stacked in (posteriors, search.layouts)
        )

        def of_key(key: Array) -> Array:
            key_path, key_ascent = jax.random.split(key)
            path = posterior.sample_path(key_path, NUM_FEATURES)
            draws = jax.tree.map(lambda leaf: jnp.asarray(leaf)[None], path)
            sample = Acquisition(draws, None, index[None], Thompson())
            additive = AdditiveAcquisition.of(sample, search.components)
            return read(path, additive, layout, search._replace(key=key_ascent))

        return map_draws(of_key, keys)

    return map_draws(of_draw, (jnp.arange(count), keys))


def _maximum(
    path: SamplePath, function: AdditiveAcquisition, layout: Layout, search: Search
) -> Float[Array, ""]:
    """The maximum of a function."""
    points = search.candidates
    if path.posterior.covariance.decomposition.projection is None:
        x, _ = coarse_to_fine(function, layout, search.levels, search.best, NUM_ROUNDS)
        points = jnp.concatenate([points, search.levels.nearest(x)[None]])
    best = points[jnp.argmax(path(points))][None]
    return path(coordinate_ascent(path.__call__, best, search.levels, search.key, NUM_GRID))[0]


def _component_maxima(
    path: SamplePath, function: AdditiveAcquisition, layout: Layout, search: Search
) -> Float[Array, " rows"]:
    """The maximum of every component of a function and, last, of its residual."""
    rows = jnp.arange(path.posterior.covariance.decomposition.members.shape[0])
    among = jax.lax.map(lambda row: path.component(row, search.candidates).max(), rows)
    maxima = jnp.append(among, path.residual(search.candidates).max())
    if path.posterior.covariance.decomposition.projection is not None:
        return maxima
    tables = function.tables(search.levels.regular_grid(NUM_GRID))
    for own, table in zip(function.components.rows, tables, strict=True):
        present = jnp.where(own[0] >= 0, own[0], len(maxima))
        best = table.reshape(len(table), -1).max(1)
        maxima = maxima.at[present].max(best, mode="drop")
    return maxima
