"""What pictures are of: a posterior, or what has one."""

from typing import TypeAlias

from structbo.optimizer import Optimizer, Result
from structbo.posterior import Posterior

Learned: TypeAlias = Posterior | Optimizer | Result
"""A posterior, or what has one."""


def as_posterior(learned: Learned) -> Posterior:
    """The posterior itself.

    Raises:
        TypeError: if it is anything else.
    """
    if isinstance(learned, Optimizer | Result):
        return learned.posterior
    if not isinstance(learned, Posterior):
        raise TypeError(f"posterior must be a Posterior, an Optimizer or a Result: {learned!r}.")
    return learned
