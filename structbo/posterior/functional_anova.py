"""The model whose components are the terms of the functional analysis of variance."""

import numpyro.distributions as dist

from structbo.models import (
    AdditiveGP,
    Centered,
    Exchangeable,
    Interactions,
    Kernel,
    LevelCorrelations,
    OtherOrders,
    edges,
    independent_lengthscale,
    squared_exponential,
)
from structbo.posterior.quadrature import Axis
from structbo.space import Space, SpaceLike

FEWEST_ALIKE, MOST_ALIKE = 5, 12
"""Numbers of choices between which their correlations are learned, because some may be alike. The
correlations of more choices are too many to be learned."""

MOST_STRENGTHS = 20
"""Largest number of parameters whose pairs have strengths of their own; with more, there are too
many pairs to learn them.
"""
MEAN_DEGREE = 2.0
"""Expected number of interactions of a parameter before data."""


def anova_model(space: SpaceLike) -> AdditiveGP:
    """The model of what interacts: main effects, pairs, and terms of higher order.

    Its components are `Centered`, so they are the terms of the functional analysis of variance. An
    edge is an interaction: it never explains a main effect. Every main effect has a variance, and
    with at most 20 parameters every pair, too. Pairs of parameters with strong main effects tend to
    be strong. Terms of three and more parameters are the residual, `OtherOrders`. The correlations
    of five to twelve choices of a category are learned, because some may be alike.

    Before data, a parameter is expected to interact with two others, and an edge is present with a
    probability of at most one half. Main effects are expected to have .54 of the variance, pairs
    .22 and higher orders .24. The share of a pair is at least .005 with probability .36 among 5
    real parameters, .12 among 10 and .06 among 15.

    Args:
        space: the parameters, or what `Space` accepts. Averages are over the unit interval for real
            parameters, and over the values for others, as in `Posterior.importances`.

    References:
        Lu, Boukouvalas and Hensman 2022, "Additive Gaussian processes revisited"; Reich, Storlie
        and Bondell 2009, "Variable selection in Bayesian smoothing spline ANOVA models".

    Example:
        >>> from structbo.space import Categorical
        >>> anova_model({"x": (0.0, 1.0), "solvent": Categorical(["water", "ethanol"])}).kernels
        {1: Centered(Exchangeable(2))}
    """
    space = Space(space)
    axes = Axis.of_space(space)
    kernels = {dim: kernel for dim, axis in enumerate(axes) if (kernel := _kernel(axis))}
    return AdditiveGP(
        edges(min(0.5, MEAN_DEGREE / max(space.num_dims - 1, 1))),
        Centered(squared_exponential),
        kernels=kernels,
        lengthscale=independent_lengthscale,
        relevance=dist.LogNormal(0.0, 1.2),
        interactions=Interactions() if space.num_dims <= MOST_STRENGTHS else Interactions(own=None),
        residual=OtherOrders(),
    )


def _kernel(axis: Axis) -> Kernel | None:
    """The kernel of a parameter with several values; None for a real or a fixed parameter."""
    levels = axis.averaged
    if levels is None or len(levels) < 2:
        return None
    if not axis.is_category:
        return Centered(squared_exponential, tuple(map(float, levels)))
    number = len(levels)
    may_be_alike = FEWEST_ALIKE <= number <= MOST_ALIKE
    return Centered(LevelCorrelations(number) if may_be_alike else Exchangeable(number))
