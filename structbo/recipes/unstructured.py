"""Baselines that learn no decomposition."""

import sys
from functools import partial

from structbo.acquisition import AdditiveUCB, HalfLog, Schedule
from structbo.data import Direction
from structbo.draws import Chain
from structbo.models import (
    AdditiveGP,
    Model,
    dimension_scaled,
    fully_dependent,
    matern52,
    random_tree,
    sparse_axis_aligned,
)
from structbo.models.foundation.arguments import check_positive, checked_count
from structbo.optimizer import Optimizer
from structbo.recipes.refitting import most_likely, refitted
from structbo.space import Space, SpaceLike


def random_trees(
    space: SpaceLike,
    direction: Direction = "minimize",
    *,
    seed: int = 0,
    num_initial: int = 10,
    num_trees: int = 1,
    beta: Schedule | float = HalfLog(),
) -> Optimizer:
    """Random decompositions: additive confidence bounds over a fresh random tree at every step.

    Hyper-parameters are sampled given the tree; the paper maximizes them.

    Args:
        space: the search space, or what `Space` accepts.
        direction: whether small or large values are good.
        seed: for all random choices.
        num_initial: size of the initial design.
        num_trees: number of trees that the bound is averaged over.
        beta: exploration parameter of every component.

    Returns:
        The optimizer.

    References:
        Ziomek and Bou-Ammar 2023, "Are random decompositions all we need in high dimensional
        Bayesian optimisation?".
    """
    space, num_trees = Space(space), checked_count("num_trees", num_trees)
    return Optimizer(
        space,
        direction,
        seed=seed,
        model=AdditiveGP(random_tree(), categorical=space.categorical),
        num_initial=num_initial,
        criterion=AdditiveUCB(beta),
        inference=partial(_chain, num_draws=num_trees),
        warp=False,
    )


def vanilla(
    space: SpaceLike,
    direction: Direction = "minimize",
    *,
    seed: int = 0,
    num_initial: int | None = None,
    cycle: int = 1,
) -> Optimizer:
    """Vanilla: expected improvement of one component, with lengthscale priors that grow as sqrt(D).

    Hyper-parameters maximize the posterior.

    Args:
        space: the search space, or what `Space` accepts.
        direction: whether small or large values are good.
        seed: for all random choices.
        num_initial: size of the initial design, by default as in `Optimizer`.
        cycle: number of observations between maximizations of hyper-parameters.

    Returns:
        The optimizer.

    References:
        Hvarfner, Hellsten and Nardi 2024, "Vanilla Bayesian optimization performs great in high
        dimensions".
    """
    space = Space(space)
    return refitted(
        space,
        direction,
        seed=seed,
        model=AdditiveGP(
            fully_dependent(), lengthscale=dimension_scaled, categorical=space.categorical
        ),
        criterion="log_ei",
        fitter=partial(most_likely, with_priors=True),
        num_initial=num_initial,
        cycle=cycle,
    )


def saas(
    space: SpaceLike,
    direction: Direction = "minimize",
    *,
    seed: int = 0,
    num_initial: int | None = None,
    num_draws: int = 16,
    scale: float = 0.1,
) -> Optimizer:
    """SAAS: expected improvement of one component in which few dimensions matter, over draws.

    One chain continues from step to step; the paper restarts NUTS at every step.

    Args:
        space: the search space, or what `Space` accepts.
        direction: whether small or large values are good.
        seed: for all random choices.
        num_initial: size of the initial design, by default as in `Optimizer`.
        num_draws: posterior draws per step.
        scale: scale of the half-Cauchy prior of the global shrinkage.

    Returns:
        The optimizer.

    References:
        Eriksson and Jankowiak 2021, "High-dimensional Bayesian optimization with sparse
        axis-aligned subspaces".
    """
    space, num_draws = Space(space), checked_count("num_draws", num_draws)
    check_positive("scale", scale)
    return Optimizer(
        space,
        direction,
        seed=seed,
        model=AdditiveGP(
            fully_dependent(),
            matern52,
            lengthscale=sparse_axis_aligned(scale),
            categorical=space.categorical,
        ),
        num_initial=num_initial,
        criterion="log_ei",
        inference=partial(_chain, num_draws=num_draws),
        warp=False,
    )


def random(space: SpaceLike, direction: Direction = "minimize", *, seed: int = 0) -> Optimizer:
    """Quasi-random points only.

    Args:
        space: the search space, or what `Space` accepts.
        direction: whether small or large values are good.
        seed: seed of the points.

    Returns:
        The optimizer.
    """
    return Optimizer(space, direction, seed=seed, num_initial=sys.maxsize)


def _chain(model: Model, seed: int, *, num_draws: int) -> Chain:
    return Chain(model, num_draws, seed)
