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
from structbo.batches.local_penalization import LocalPenalization, lipschitz_constant
from structbo.batches.problem import BatchProblem, BatchStrategy, choose_batch
from structbo.batches.pure_exploration import PureExploration, most_uncertain
from structbo.batches.registry import BATCH_STRATEGIES, as_strategy
from structbo.batches.thompson import ThompsonBatch

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
    "as_strategy",
    "batch_kernel",
    "choose_batch",
    "lipschitz_constant",
    "most_uncertain",
    "widening",
]
