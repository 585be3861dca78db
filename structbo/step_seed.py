"""Seeds of the steps of a run."""

import numpy as np


def step_seed(seed: int, step: int) -> int:
    """A seed for one step of a run, which no other run shares, as ``seed + step`` would be.

    Args:
        seed: of the run, not negative.
        step: which step it is.

    Returns:
        A number of 31 bits.

    Example:
        >>> step_seed(0, 1) == step_seed(1, 0)
        False
    """
    return int(np.random.SeedSequence([seed, step]).generate_state(1)[0] >> 1)
