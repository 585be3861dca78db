"""Batches by determinantal point processes, and their baselines (Kathuria et al. 2016)."""

from structbo.acquisition import EST, UCB, Criterion, FiniteDomain, Iterations, Schedule
from structbo.batches import (
    BatchStrategy,
    DPPMax,
    DPPSample,
    Hallucination,
    LocalPenalization,
    PureExploration,
    TwoStage,
)
from structbo.data import Direction
from structbo.models.foundation.arguments import check_name
from structbo.optimizer import Optimizer
from structbo.proposal.batch import NUM_CANDIDATES
from structbo.recipes.refitting import dependent_model
from structbo.space import Space, SpaceLike

STRATEGIES: dict[str, BatchStrategy] = {
    "bucb": Hallucination(),
    "b_est": Hallucination(),
    "two_stage_bucb": TwoStage(),
    "two_stage_b_est": TwoStage(),
    "ucb_pe": PureExploration(),
    "est_pe": PureExploration(),
    "ucb_dpp_max": DPPMax(),
    "est_dpp_max": DPPMax(),
    "ucb_dpp_sample": DPPSample(accuracy=0.01),
    "est_dpp_sample": DPPSample(accuracy=0.01),
    "lp_ucb": LocalPenalization(),
}
"""How each method of the paper chooses the points of a batch after the first."""


def batch(
    space: SpaceLike,
    direction: Direction = "minimize",
    *,
    method: str = "ucb_dpp_sample",
    seed: int = 0,
    num_initial: int = 1,
    batch_size: int = 1,
    num_uncertain: int = 10,
    beta: Schedule | float | None = None,
) -> Optimizer:
    """The batch methods of one paper; ``ask(n)`` gives a batch of n points.

    The first point of a batch maximizes an upper confidence bound or EST. The others are chosen as
    if its value equaled the posterior mean: maximizers of the same criterion ("bucb", "b_est"); the
    most uncertain points of the relevance region ("ucb_pe", "est_pe"); a set of large determinant
    in it ("ucb_dpp_max", "est_dpp_max", which gives the same points); or a random set
    ("ucb_dpp_sample", "est_dpp_sample"). "lp_ucb" keeps points away from each other.

    "two_stage_bucb" and "two_stage_b_est" are the methods of the paper's theorem 3.2: batches of
    the most uncertain points first, then confidence bounds that are widened by C', see `TwoStage`.
    "bucb" and "b_est" have C' = 1 and no first stage, as in practice.

    A few hundred candidates replace the finite domain of the paper. Hyper-parameters are sampled,
    with this library's priors.

    Args:
        space: the search space, or what `Space` accepts.
        direction: whether small or large values are good.
        method: one of `STRATEGIES`, named as in the paper.
        seed: for all random choices.
        num_initial: size of the initial design.
        batch_size: number of points of every batch, for the time t of the confidence bound. It
            counts batches, except for "bucb" and "two_stage_bucb".
        num_uncertain: number of observations of the first of two stages, T_init.
        beta: exploration parameter of the upper confidence bound; by default from theorem 3.3 with
            delta 0.1. Algorithm 2 prints its square root.

    Returns:
        The optimizer.

    Raises:
        ValueError: if the method is unknown.

    References:
        Kathuria, Deshpande and Kohli 2016, algorithms 1 and 2 and section 4 (one random point,
        accuracy 0.01 of the samples).
    """
    check_name("method", method, STRATEGIES)
    space, strategy = Space(space), STRATEGIES[method]
    if isinstance(strategy, TwoStage):
        strategy = TwoStage(num_uncertain)
    if beta is None:
        counts_points = isinstance(strategy, Hallucination | TwoStage)
        size = 1 if counts_points else batch_size
        beta = Iterations(FiniteDomain(space.num_points or NUM_CANDIDATES), num_initial, size)
    criterion: Criterion = EST("published") if "est" in method.split("_") else UCB(beta)
    return Optimizer(
        space,
        direction,
        seed=seed,
        model=dependent_model(space.categorical),
        num_initial=num_initial,
        criterion=criterion,
        batch=strategy,
        warp=False,
    )
