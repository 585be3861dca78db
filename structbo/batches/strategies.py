"""The strategies by name."""

import numpy as np

from structbo.batches.determinantal import DPPMax, DPPSample
from structbo.batches.hallucination import Hallucination
from structbo.batches.local_penalization import LocalPenalization
from structbo.batches.problem import BatchStrategy
from structbo.batches.pure_exploration import PureExploration
from structbo.batches.thompson import Thompson

BATCH_STRATEGIES: dict[str, BatchStrategy] = {
    "believer": Hallucination(),
    "constant_liar": Hallucination(np.min),
    "dpp_max": DPPMax(),
    "dpp_sample": DPPSample(),
    "pure_exploration": PureExploration(),
    "local_penalization": LocalPenalization(),
    "thompson": Thompson(),
}
"""What a name stands for: the strategy with its default arguments; the lie is the worst value."""


def as_strategy(batch: str | BatchStrategy) -> BatchStrategy:
    """The strategy of a name, or the strategy itself.

    Raises:
        ValueError: if the name is unknown.
        TypeError: if it is neither a name nor an instance of a strategy.

    Example:
        >>> as_strategy("dpp_max")
        DPPMax()
    """
    known = ", ".join(map(repr, BATCH_STRATEGIES))
    if isinstance(batch, str):
        if batch not in BATCH_STRATEGIES:
            raise ValueError(f"batch must be one of {known}, got {batch!r}.")
        return BATCH_STRATEGIES[batch]
    if isinstance(batch, type) or not callable(batch):
        raise TypeError(
            f"batch must be one of {known}, or an instance such as "
            f"structbo.batches.DPPSample(accuracy=0.01); got {batch!r}."
        )
    return batch
