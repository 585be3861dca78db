"""The strategies by name."""

import numpy as np

from structbo.batches.determinantal import DPPMax, DPPSample
from structbo.batches.hallucination import Hallucination
from structbo.batches.local_penalization import LocalPenalization
from structbo.batches.problem import BatchStrategy
from structbo.batches.pure_exploration import PureExploration
from structbo.batches.thompson import ThompsonBatch
from structbo.batches.two_stage import TwoStage
from structbo.models.foundation.arguments import checked_choice

BATCH_STRATEGIES: dict[str, BatchStrategy] = {
    "believer": Hallucination(),
    "constant_liar": Hallucination(np.min),
    "dpp_max": DPPMax(),
    "dpp_sample": DPPSample(),
    "pure_exploration": PureExploration(),
    "local_penalization": LocalPenalization(),
    "thompson": ThompsonBatch(),
    "two_stage": TwoStage(),
}
"""The strategies by name, with default arguments; the constant liar uses the worst value."""


def as_strategy(batch: str | BatchStrategy) -> BatchStrategy:
    """The strategy with a name, or the given strategy.

    Raises:
        ValueError: if the name is unknown.
        TypeError: if it is neither a name nor an instance of a strategy.

    Example:
        >>> as_strategy("dpp_max")
        DPPMax()
    """
    example = "structbo.batches.DPPSample(accuracy=0.01)"
    return checked_choice("batch", batch, BATCH_STRATEGIES, callable(batch), example)
