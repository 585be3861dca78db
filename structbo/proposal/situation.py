"""What is known when points are to be proposed, and the proposal that is made of it."""

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from structbo.acquisition import Acquisition
from structbo.data import Data
from structbo.draws import Draws
from structbo.models import Model
from structbo.models.foundation.arrays import FloatArray
from structbo.proposal.union import UnionGraph, structure_of
from structbo.space import Levels


@dataclass(frozen=True)
class Situation:
    """What is known of the function, and where points may be.

    Args:
        model: the NumPyro model.
        draws: posterior draws of its sites.
        data: padded observations.
        levels: the legal coordinates.
        pending: points being evaluated, shape (p, D).
    """

    model: Model
    draws: Draws
    data: Data
    levels: Levels
    pending: FloatArray

    @property
    def num_observed(self) -> float:
        """How many observations there are; pending points are none."""
        return float(np.sum(self.data.mask))

    @cached_property
    def union(self) -> UnionGraph:
        """The components of all draws together."""
        return structure_of(self.model, self.draws, self.data)


class Proposal(NamedTuple):
    """The points to evaluate next.

    Args:
        ranked: for each point its candidates in the unit cube, best first, shape (K, D).
        acquisition: what the first point maximizes.
    """

    ranked: list[FloatArray]
    acquisition: Acquisition
