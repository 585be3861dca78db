"""How many more runs it takes to decide whether two parameters interact."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jaxtyping import Float, Int

from structbo.data import Data, evenly_spaced
from structbo.draws import Draws, likelihood_of
from structbo.models import ConditionedGP, Model
from structbo.models.foundation.accelerator import map_draws
from structbo.models.foundation.arguments import checked_count, checked_seed
from structbo.models.foundation.compilation import compiled
from structbo.models.foundation.precision import double_precision
from structbo.posterior.draws import PosteriorDraws
from structbo.posterior.importances import checked_share
from structbo.space.long_lists import first_names

MAX_RUNS = 512
"""Number of simulated runs; longer experiments are extrapolated from the second half of these."""


class Runs(NamedTuple):
    """How many more runs decide about an interaction.

    Args:
        median: over the draws of the posterior.
        lower: 5 % quantile over the draws.
        upper: 95 % quantile over the draws.
    """

    median: float
    lower: float
    upper: float


def posterior_runs(
    posterior: PosteriorDraws,
    pair: tuple[str, str],
    probability: float,
    least_share: float,
    max_draws: int,
    seed: int,
) -> Runs:
    """The runs until an edge or its absence is expected to be probable; see `Posterior`."""
    if not 0.5 < probability < 1.0:
        raise ValueError(f"probability must be in (0.5, 1), got {probability}.")
    a, b = _dims(posterior, pair)
    edges, pairs = posterior.edges()
    if posterior.ends_of(*posterior.edge_sites) != posterior.names:
        raise ValueError("the edges of the model are not between the parameters.")
    is_edge = edges[..., np.flatnonzero((pairs[0] == a) & (pairs[1] == b))[0]].ravel() > 0
    kept = evenly_spaced(len(is_edge), min(checked_count("max_draws", max_draws), len(is_edge)))
    evidence, share = _evidence(posterior, (a, b), kept, checked_seed(seed))
    matters = share >= checked_share(least_share)
    if not matters.any():
        return Runs(0.0, 0.0, 0.0)
    evidence, is_edge = evidence[matters], is_edge[kept][matters]
    odds = np.log((is_edge.sum() + 0.5) / ((~is_edge).sum() + 0.5))
    needed = np.log(probability / (1.0 - probability)) - np.where(is_edge, odds, -odds)
    runs = [_first(curve, target) for curve, target in zip(evidence, needed, strict=True)]
    return Runs(*(float(q) for q in np.quantile(runs, [0.5, 0.05, 0.95], method="inverted_cdf")))


def _dims(posterior: PosteriorDraws, pair: tuple[str, str]) -> tuple[int, int]:
    names = posterior.names
    if len(pair) != 2 or pair[0] == pair[1] or not {*pair} <= {*names}:
        raise ValueError(f"pair must be two different names of {first_names(names)}, got {pair!r}.")
    first, second = sorted(names.index(name) for name in pair)
    return first, second


def _evidence(
    posterior: PosteriorDraws, dims: tuple[int, int], kept: np.ndarray, seed: int
) -> tuple[Float[np.ndarray, "S M"], Float[np.ndarray, " S"]]:
    """Expected evidence of each draw against the same draw with the edge switched.

    Returns:
        The evidence of the first 1, ..., M runs, and the pair's share of the variance with the
        edge.
    """
    from scipy.stats import qmc

    space = posterior.units.space
    cube = qmc.Sobol(space.num_dims, seed=seed).random(MAX_RUNS)
    points = space.legal_coordinates().even(cube)
    (site,) = posterior.edge_sites
    draws = {name: v.reshape(-1, *v.shape[2:])[kept] for name, v in posterior.draws.items()}
    switched = np.array(draws[site])
    for a, b in (dims, dims[::-1]):
        switched[:, a, b] = 1 - switched[:, a, b]
    with double_precision():
        others = draws | {site: switched}
        known = 0.0 if posterior.sem is None else np.median(posterior.sem) ** 2
        numbers = points, jnp.asarray(known, float), jnp.array(dims)
        found = _curves(posterior.model, draws, others, posterior.data, *numbers)
        return jax.tree.map(np.asarray, found)


@compiled("model")
def _curves(
    model: Model,
    draws: Draws,
    others: Draws,
    data: Data,
    points: Float[Array, "M D"],
    known_noise: Float[Array, ""],
    dims: Int[Array, " 2"],
) -> tuple[Float[Array, "S M"], Float[Array, " S"]]:
    """Divergences between the predictions of pairs of draws, and the larger share of a pair."""

    def one(pair: tuple[Draws, Draws]) -> tuple[Float[Array, " M"], Float[Array, ""]]:
        y = jnp.asarray(data.y)
        true, false = (likelihood_of(model, draw, data).condition(y) for draw in pair)
        normal, other = (_normal(gp, points, known_noise) for gp in (true, false))
        curve = divergences(*normal, *other)
        return curve, jnp.maximum(_share(true, dims), _share(false, dims))

    return map_draws(one, (draws, others))


def _share(gp: ConditionedGP, dims: Int[Array, " 2"]) -> Float[Array, ""]:
    """The prior variance of the components that contain all these dimensions, as a share."""
    covariance = gp.covariance
    has_all = covariance.decomposition.members[:, dims].all(1)
    return (has_all * covariance.variances).sum() / covariance.outputscale


def _normal(
    gp: ConditionedGP, points: Float[Array, "M D"], known_noise: Float[Array, ""]
) -> tuple[Float[Array, " M"], Float[Array, "M M"]]:
    """Mean and Cholesky factor of new observations."""
    mean, _ = gp.predict(points)
    noise = (gp.noise + known_noise) * jnp.eye(len(points))
    covariance = gp.covariance_between(points, points) + noise
    return mean, jax.lax.linalg.cholesky(covariance, symmetrize_input=False)


def divergences(
    mean: Float[Array, " M"],
    factor: Float[Array, "M M"],
    other_mean: Float[Array, " M"],
    other_factor: Float[Array, "M M"],
) -> Float[Array, " M"]:
    """Kullback-Leibler divergences between two normals of the first 1, ..., M variables.

    Args:
        mean: of the first normal.
        factor: lower Cholesky factor of its covariance.
        other_mean: of the second normal.
        other_factor: lower Cholesky factor of its covariance.

    Example:
        >>> one, zero = jnp.eye(2), jnp.zeros(2)
        >>> divergences(zero + 2.0, one, zero, one).tolist()
        [2.0, 4.0]
    """
    right = jnp.column_stack([factor, (mean - other_mean)[:, None]])
    solved = jax.scipy.linalg.solve_triangular(other_factor, right, lower=True)
    logs = 2.0 * (jnp.log(jnp.diagonal(other_factor)) - jnp.log(jnp.diagonal(factor)))
    return 0.5 * jnp.cumsum(jnp.square(solved).sum(1) - 1.0 + logs)


def _first(evidence: Float[np.ndarray, " M"], needed: float) -> float:
    """The number of runs with the needed evidence, infinite if more runs bring none."""
    if needed <= 0.0:
        return 0.0
    reached = np.flatnonzero(evidence >= needed)
    if len(reached):
        return float(reached[0] + 1)
    half = len(evidence) // 2
    rate = (evidence[-1] - evidence[half - 1]) / (len(evidence) - half)
    return len(evidence) + np.ceil((needed - evidence[-1]) / rate) if rate > 0.0 else np.inf
