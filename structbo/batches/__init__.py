"""Batches: q points to evaluate at once, chosen from candidates."""

from structbo.batches.criteria import (
    ConfidenceBound,
    CriterionScore,
    EstimationWidth,
    ExpectedImprovement,
)
from structbo.batches.determinantal import DPPMax, DPPSample, batch_kernel
from structbo.batches.ground_set import GroundSet
from structbo.batches.hallucination import Hallucination, Lie, widening
from structbo.batches.information import (
    greedy_information_gain,
    information_gain,
    largest_information_gain,
)
from structbo.batches.local_penalization import LocalPenalization, lipschitz_constant
from structbo.batches.problem import BatchProblem, BatchStrategy, choose_batch
from structbo.batches.pure_exploration import PureExploration, most_uncertain
from structbo.batches.registry import BATCH_STRATEGIES, as_strategy
from structbo.batches.regret_bounds import (
    dpp_max_regret,
    dpp_sample_regret,
    est_confidence,
    est_regret,
    two_stage_regret,
    ucb_regret,
)
from structbo.batches.thompson import ThompsonBatch
from structbo.batches.two_stage import TwoStage

__all__ = [
    "BATCH_STRATEGIES",
    "BatchProblem",
    "BatchStrategy",
    "ConfidenceBound",
    "CriterionScore",
    "DPPMax",
    "DPPSample",
    "EstimationWidth",
    "ExpectedImprovement",
    "GroundSet",
    "Hallucination",
    "Lie",
    "LocalPenalization",
    "PureExploration",
    "ThompsonBatch",
    "TwoStage",
    "as_strategy",
    "batch_kernel",
    "choose_batch",
    "dpp_max_regret",
    "dpp_sample_regret",
    "est_confidence",
    "est_regret",
    "greedy_information_gain",
    "information_gain",
    "largest_information_gain",
    "lipschitz_constant",
    "most_uncertain",
    "two_stage_regret",
    "ucb_regret",
    "widening",
]
