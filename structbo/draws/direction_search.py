"""Restricted projections by maximization and a grid over alpha, after Li et al. 2016.

The paper learns directions without the constraint, then shrinks them towards the identity until
they satisfy it. `NearIdentity` is a prior with the same constraint, for sampling.
"""

from collections.abc import Mapping
from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import numpyro.distributions as dist
from jax.typing import ArrayLike
from jaxtyping import Float, Int

from structbo.data import checked_data
from structbo.draws.evidence import Fit, maximum_likelihood
from structbo.draws.partition_search import random_groups
from structbo.models import (
    AdditiveGP,
    independent_lengthscale,
    least_alpha,
    partitions,
    projections,
)
from structbo.models.foundation.precision import double_precision

MAX_EVALUATIONS = 300
"""Evaluations of the search for directions, which ends before it fits all observations exactly."""


class RestrictedProjection(NamedTuple):
    """A projection that satisfies the delta-ratio constraint, and the groups of its directions.

    Args:
        W: restricted directions, ``(1 - alpha) learned + alpha I``.
        learned: unrestricted directions.
        alpha: weight of the identity.
        labels: groups of the directions.
        fit: values of all sites, with maximized hyper-parameters.
        model: the model of these sites.
    """

    W: Float[np.ndarray, "D D"]
    learned: Float[np.ndarray, "D D"]
    alpha: float
    labels: Int[np.ndarray, " D"]
    fit: Fit
    model: AdditiveGP

    @property
    def start(self) -> dict[str, ArrayLike]:
        """Values at which a search for directions given more observations can start."""
        values = {n: v for n, v in self.fit.values.items() if n != "labels"}
        return {**values, "W": self.learned}


def restricted_projection_pursuit(
    X: ArrayLike,
    y: ArrayLike,
    *,
    group_size: int,
    delta: float = 0.1,
    scale: float = 0.3,
    num_alphas: int = 11,
    num_groupings: int | None = None,
    learned: ArrayLike | None = None,
    start: Mapping[str, ArrayLike] | None = None,
    seed: int = 0,
) -> RestrictedProjection:
    """Learns, restricts and groups directions by maximization.

    The first step finds the most probable directions W of a sum of one-dimensional functions. The
    second shrinks W towards the identity, with the most likely alpha of a feasible grid. The third
    compares random groups of the directions by their likelihoods.

    Args:
        X: points of the unit cube, shape (n, D).
        y: standardized observations, shape (n,).
        group_size: number of directions per component.
        delta: bound on the outer box; 0 gives the additive model of Kandasamy et al. 2015, and
            infinity gives unrestricted projection pursuit.
        scale: standard deviation of the prior of the elements of W around the identity.
        num_alphas: size of the grid.
        num_groupings: number of random groupings to compare; by default the number of groups.
        learned: directions, shape (D, D), such as of `pursued_directions`; None learns them.
        start: where the search for directions starts, the ``start`` of an earlier result; by
            default at prior medians.
        seed: seed of the groupings.

    Returns:
        The directions and the groups, with their model.

    Raises:
        ValueError: if delta is negative, or the data are not valid.

    References:
        Li et al. 2016, section 4.1, algorithm 3 (step 1 and the learning in step 2) and eq. (8).
    """
    if not delta >= 0.0:
        raise ValueError(f"delta must be at least 0, got {delta}.")
    X, y = checked_data(X, y)
    model, num_dims = projection_pursuit(scale), X.shape[1]
    singles, identity = np.arange(num_dims), np.eye(num_dims)

    def fitted(W: Float[np.ndarray, "D D"], labels: Int[np.ndarray, " D"]) -> Fit:
        return maximum_likelihood(model, X, y, {"W": W, "labels": labels})

    if delta == 0.0:
        free, alphas = identity, np.ones(1)
    else:
        if learned is None:
            given = {"labels": singles}
            probable = maximum_likelihood(
                model, X, y, given, with_priors=True, start=start, max_evaluations=MAX_EVALUATIONS
            )
            learned = probable.values["W"]
        free = np.asarray(learned, float)
        with double_precision():
            alphas = np.linspace(float(least_alpha(free, delta)), 1.0, num_alphas)

    restricted = [(1.0 - alpha) * free + alpha * identity for alpha in alphas]
    best = int(np.argmax([fitted(W, singles).log_likelihood for W in restricted]))
    W = restricted[best]
    keys = jax.random.split(jax.random.key(seed), num_groupings or -(-num_dims // group_size))
    groupings = random_groups(keys, num_dims, group_size)
    fit = max((fitted(W, labels) for labels in groupings), key=lambda fit: fit.log_likelihood)
    labels = np.asarray(fit.values["labels"])
    return RestrictedProjection(W, free, float(alphas[best]), labels, fit, model)


def projection_pursuit(scale: float) -> AdditiveGP:
    """The model to fit: groups of directions with a normal prior.

    Args:
        scale: standard deviation of the elements of W around the identity.
    """
    structure = projections(partial(_near_identity, scale=scale), partitions())
    return AdditiveGP(structure, lengthscale=independent_lengthscale)


def _near_identity(num_dims: int, scale: float) -> dist.Distribution:
    return dist.Normal(jnp.eye(num_dims), scale).to_event(2)
