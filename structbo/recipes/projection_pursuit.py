"""Restricted projection pursuit, and its baselines (Li et al. 2016).

All of them maximize the likelihood of hyper-parameters every ``N_cyc`` observations. The papers use
one lengthscale for all dimensions, these recipes one per dimension.
"""

from collections.abc import Mapping
from functools import partial
from typing import Any, Literal, get_args

import jax
import jax.numpy as jnp
import numpy as np
import numpyro.distributions as dist
from jax.typing import ArrayLike
from jaxtyping import Float

from structbo.acquisition import UCB, AdditiveUCB, GroupLog, Schedule
from structbo.data import Direction
from structbo.draws import (
    Fitter,
    pursued_directions,
    restricted_projection_pursuit,
    step_seed,
)
from structbo.draws.direction_search import projection_pursuit
from structbo.models import (
    AdditiveGP,
    Model,
    fully_dependent,
    independent_lengthscale,
    projections,
)
from structbo.models.foundation.arguments import check_name, check_positive, checked_count
from structbo.models.foundation.precision import double_precision
from structbo.optimizer import Optimizer
from structbo.recipes.refitting import (
    Values,
    best_of_bag,
    dependent_model,
    known_values,
    most_likely,
    partition_model,
    refitted,
)
from structbo.space import Space, SpaceLike

SCALE = 0.3
"""Standard deviation of the prior of directions, around the identity."""
Directions = Literal["together", "one by one"]
DIRECTIONS = 2
"""The `use` argument of `step_seed` for random directions."""


def rpp_gp_ucb(
    space: SpaceLike,
    direction: Direction = "minimize",
    *,
    seed: int = 0,
    group_size: int = 5,
    delta: float = 0.1,
    num_initial: int = 10,
    cycle: int = 25,
    num_alphas: int = 11,
    directions: Directions = "together",
    beta: Schedule | float | None = None,
) -> Optimizer:
    """RPP-GP-UCB: additive confidence bounds along directions that stay near the identity.

    Directions W are learned and then pulled towards the identity, ``(1 - alpha) W + alpha I``, so
    that the box around the projected cube is hardly larger than the cube. A grid of feasible alphas
    is compared by likelihood, and so are as many random groupings of the directions as there are
    groups. The search for directions starts at the last ones.

    The maximum over the box is clipped into the cube and then improved by gradient ascent.

    Args:
        space: the search space, or what `Space` accepts, without categorical parameters.
        direction: whether small or large values are good.
        seed: for all random choices.
        group_size: directions per group, d; 5, 10 and 25 in the paper.
        delta: bound on the relative excess of the box over the cube; 0.1 and 0.05 in the paper.
        num_initial: size of the initial design.
        cycle: number of observations between updates of directions, groups and hyper-parameters.
        num_alphas: size of the grid of alphas.
        directions: "together" for the most probable directions under a normal prior around the
            identity, "one by one" for `structbo.draws.pursued_directions`, as in the paper.
        beta: exploration parameter of every group; by default ``d log(2 t) / 5``. The paper only
            gives the order ``d log(t)``.

    Returns:
        The optimizer.

    Raises:
        ValueError: if the space has categorical parameters, or a setting is out of range.

    References:
        Li et al. 2016, algorithm 3 and section 5 (``N_init``, ``N_cyc``, delta).
    """
    if not delta >= 0.0:
        raise ValueError(f"delta must be at least 0, got {delta}.")
    group_size = checked_count("group_size", group_size)
    num_alphas = checked_count("num_alphas", num_alphas)
    check_name("directions", directions, get_args(Directions))
    settings: dict[str, Any] = {"group_size": group_size, "delta": delta, "num_alphas": num_alphas}
    return refitted(
        _ordered(space),
        direction,
        seed=seed,
        model=projection_pursuit(SCALE),
        criterion=AdditiveUCB(GroupLog(group_size) if beta is None else beta),
        fitter=_Restricted(settings, one_by_one=directions == "one by one"),
        num_initial=num_initial,
        cycle=cycle,
    )


class _Restricted:
    """A search for directions that starts at its last ones."""

    def __init__(self, settings: dict[str, Any], *, one_by_one: bool) -> None:
        self._settings = settings
        self._one_by_one = one_by_one
        self._start: dict[str, ArrayLike] | None = None

    def __call__(
        self,
        model: Model,
        X: Float[np.ndarray, "n D"],
        y: Float[np.ndarray, " n"],
        seed: int,
    ) -> Values:
        learned = None
        if self._one_by_one and self._settings["delta"] > 0.0:
            last = None if self._start is None else self._start["W"]
            learned = pursued_directions(X, y, start=last)
        found = restricted_projection_pursuit(
            X, y, scale=SCALE, learned=learned, start=self._start, seed=seed, **self._settings
        )
        self._start = found.start
        return [found.fit.values]


def pp_gp_ucb(
    space: SpaceLike,
    direction: Direction = "minimize",
    *,
    seed: int = 0,
    group_size: int = 5,
    num_initial: int = 10,
    cycle: int = 25,
    directions: Directions = "together",
    beta: Schedule | float | None = None,
) -> Optimizer:
    """PP-GP-UCB: additive confidence bounds along unrestricted directions.

    For the arguments see `rpp_gp_ucb`.

    References:
        Li et al. 2016, algorithm 2.
    """
    return rpp_gp_ucb(
        space,
        direction,
        seed=seed,
        group_size=group_size,
        delta=float("inf"),
        num_initial=num_initial,
        cycle=cycle,
        directions=directions,
        beta=beta,
    )


def add_gp_ucb(
    space: SpaceLike,
    direction: Direction = "minimize",
    *,
    seed: int = 0,
    group_size: int = 5,
    num_groupings: int | None = None,
    num_initial: int = 10,
    cycle: int = 25,
    beta: Schedule | float | None = None,
) -> Optimizer:
    """Add-GP-UCB: additive confidence bounds over the best of some random groups of dimensions.

    Args:
        space: the search space, or what `Space` accepts.
        direction: whether small or large values are good.
        seed: for all random choices.
        group_size: dimensions per group, d; 5, 10 and 25 in Li et al. 2016.
        num_groupings: number of random groupings to compare; by default the number of groups.
        num_initial: size of the initial design.
        cycle: number of observations between updates of groups and hyper-parameters.
        beta: exploration parameter of every group, by default ``d log(2 t) / 5``.

    Returns:
        The optimizer.

    References:
        Kandasamy, Schneider and Poczos 2015, "High dimensional Bayesian optimisation and bandits
        via additive models"; Li et al. 2016, algorithm 1 and section 5 (settings).
    """
    space, group_size = Space(space), checked_count("group_size", group_size)
    if num_groupings is None:
        num_groupings = -(-space.num_dims // group_size)
    num_models = checked_count("num_groupings", num_groupings)
    return refitted(
        space,
        direction,
        seed=seed,
        model=partition_model(space.categorical),
        criterion=AdditiveUCB(GroupLog(group_size) if beta is None else beta),
        fitter=partial(best_of_bag, num_models=num_models, group_size=group_size),
        num_initial=num_initial,
        cycle=cycle,
    )


def gp_ucb(
    space: SpaceLike,
    direction: Direction = "minimize",
    *,
    seed: int = 0,
    num_initial: int = 10,
    cycle: int = 25,
    known: Mapping[str, float] | None = None,
    beta: Schedule | float | None = None,
) -> Optimizer:
    """GP-UCB: an upper confidence bound of one component over all dimensions.

    Args:
        space: the search space, or what `Space` accepts.
        direction: whether small or large values are good.
        seed: for all random choices.
        num_initial: size of the initial design.
        cycle: after how many observations hyper-parameters are learned anew.
        known: the known ``lengthscale`` of all parameters, relative to their ranges, and the
            known variances ``outputscale`` and ``noise`` in squared units of the objective, whose
            prior mean is then 0; by default they are learned.
        beta: exploration parameter, by default ``D log(2 t) / 5``.

    Returns:
        The optimizer.

    Raises:
        ValueError: if some, but not all hyper-parameters are known, or one is not positive.

    References:
        Srinivas et al. 2010; Li et al. 2016, sections 2.1 and 5 (settings); Chen, Castro and Krause
        2012, section 5, without screening, where hyper-parameters are known.
    """
    space = Space(space)
    fitter: Fitter = most_likely
    if known is not None:
        fitter = partial(known_values, values=_checked_known(known, space.num_dims))
    return refitted(
        space,
        direction,
        seed=seed,
        model=dependent_model(space.categorical),
        criterion=UCB(GroupLog() if beta is None else beta),
        fitter=fitter,
        num_initial=num_initial,
        cycle=cycle,
        standardize=known is None,
    )


def _checked_known(known: Mapping[str, float], num_dims: int) -> dict[str, ArrayLike]:
    names = {"lengthscale", "outputscale", "noise"}
    if set(known) != names:
        raise ValueError(f"known must have the keys {sorted(names)}, got {sorted(known)}.")
    for name, value in known.items():
        check_positive(f"known[{name!r}]", value)
    return {**known, "lengthscale": np.full(num_dims, known["lengthscale"])}


def rembo(
    space: SpaceLike,
    direction: Direction = "minimize",
    *,
    seed: int = 0,
    num_directions: int | None = None,
    num_initial: int = 10,
    cycle: int = 25,
    beta: Schedule | float | None = None,
) -> Optimizer:
    """REMBO: one component over a few random projections of the parameters.

    The original searches a low-dimensional box, whose image is clipped into the cube. Here the
    confidence bound is maximized over the cube. It depends on the projections only; among points
    with equal projections, the one nearest to the center is preferred.

    Args:
        space: the search space, or what `Space` accepts, without categorical parameters.
        direction: whether small or large values are good.
        seed: for all random choices, the projections included.
        num_directions: number of projections, by default a quarter of the number of dimensions.
        num_initial: size of the initial design.
        cycle: after how many observations hyper-parameters are learned anew.
        beta: exploration parameter, by default ``d log(2 t) / 5`` for d projections.

    Returns:
        The optimizer.

    Raises:
        ValueError: if the space has categorical parameters, or a setting is out of range.

    References:
        Wang et al. 2013, "Bayesian optimization in high dimensions via random embeddings"; Li et
        al. 2016, section 5.2 (number of projections, ``N_init``, ``N_cyc``).
    """
    space = _ordered(space)
    if num_directions is None:
        num_directions = max(1, space.num_dims // 4)
    num_directions = checked_count("num_directions", num_directions)
    with double_precision():
        key = jax.random.key(step_seed(seed, 0, use=DIRECTIONS))
        W = jax.random.normal(key, (space.num_dims, num_directions))
    return refitted(
        space,
        direction,
        seed=seed,
        model=AdditiveGP(
            projections(
                partial(_standard_normal, num_directions=num_directions), fully_dependent()
            ),
            lengthscale=independent_lengthscale,
        ),
        criterion=UCB(GroupLog(num_directions) if beta is None else beta),
        fitter=partial(most_likely, given={"W": W}),
        num_initial=num_initial,
        cycle=cycle,
    )


def _standard_normal(num_dims: int, num_directions: int) -> dist.Distribution:
    return dist.Normal(jnp.zeros((num_dims, num_directions)), 1.0).to_event(2)


def _ordered(space: SpaceLike) -> Space:
    """The space, checked to have no categorical parameters."""
    space = Space(space)
    if space.categorical:
        names = [space.names[dim] for dim in space.categorical]
        raise ValueError(
            f"space must have no categorical parameters, got {names}: projections need an order; "
            "use Ordinal parameters or another recipe."
        )
    return space
