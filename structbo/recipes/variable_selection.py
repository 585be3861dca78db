"""Confidence bounds after a screening of the parameters (Chen, Castro and Krause 2012)."""

from typing import Literal

from structbo.acquisition import UCB, HalfLog, Schedule
from structbo.data import Direction
from structbo.optimizer import Optimizer
from structbo.screening import CoordinatewiseSampling, HierarchicalDiagonalSampling, Screening
from structbo.space import SpaceLike


def hds_gp_ucb(
    space: SpaceLike,
    direction: Direction = "minimize",
    *,
    seed: int = 0,
    test: Literal["GPT", "FDT"] = "GPT",
    budget: int = 1000,
    thresholds: tuple[float, float] = (-10.0, 10.0),
    noise: float | None = None,
    beta: Schedule | float = HalfLog(),
) -> Optimizer:
    """Hierarchical Diagonal Sampling, then GP-UCB on the parameters that it found.

    The paper fixes all other parameters for good; here the evidence of the screening is the prior
    of an active set, which later observations may correct. The paper assumes known
    hyper-parameters; here they are estimated and sampled. It picks thresholds from {5, 10, 20} and
    their negatives, and does not print the beta of its experiments;
    `structbo.acquisition.ActiveVariables` implements the beta of its theorem 4.1.

    Args:
        space: the search space, or what `Space` accepts.
        direction: whether small or large values are good.
        seed: for all random choices.
        test: the sequential test, see `HierarchicalDiagonalSampling`.
        budget: maximum number of evaluations of the screening.
        thresholds: lower and upper threshold of the log likelihood ratio.
        noise: noise variance; by default estimated from repeated evaluations of one point.
        beta: exploration parameter.

    Returns:
        The optimizer.

    References:
        Chen, Castro and Krause 2012, sections 3 and 4.
    """
    screening = HierarchicalDiagonalSampling(
        space, test, budget=budget, thresholds=thresholds, noise=noise, seed=seed
    )
    return _after(screening, direction, seed, beta)


def cws_gp_ucb(
    space: SpaceLike,
    direction: Direction = "minimize",
    *,
    num_active: int,
    seed: int = 0,
    num_differences: int = 5,
    beta: Schedule | float = HalfLog(),
) -> Optimizer:
    """Coordinate-wise sampling, the baseline of the screening in `hds_gp_ucb`, then GP-UCB.

    The paper takes differences until they suffice; here their number is fixed.

    Args:
        space: the search space, or what `Space` accepts.
        direction: whether small or large values are good.
        num_active: how many parameters matter.
        seed: for all random choices.
        num_differences: pairs of evaluations along each coordinate.
        beta: exploration parameter.

    Returns:
        The optimizer.

    References:
        Chen, Castro and Krause 2012, section 5.
    """
    screening = CoordinatewiseSampling(
        space, num_active, num_differences=num_differences, seed=seed
    )
    return _after(screening, direction, seed, beta)


def _after(
    screening: Screening, direction: Direction, seed: int, beta: Schedule | float
) -> Optimizer:
    return Optimizer(
        screening.space,
        direction,
        screening=screening,
        seed=seed,
        criterion=UCB(beta),
        warp=False,
    )
