"""The state of the search for the next point, for criteria and maximizers."""

from typing import NamedTuple

import numpy as np
from jax import Array

from structbo.maximizers.components import Components
from structbo.maximizers.junction_tree import Layout
from structbo.space import Levels


class Search(NamedTuple):
    """The state of the search for the next point.

    Args:
        levels: the legal coordinates.
        candidates: legal points over the whole space, including the best observed ones, (m, D).
        best: the best observed point, shape (D,).
        num_observed: the number of observations.
        components: the union of the components of all draws.
        layouts: the junction tree of every draw's components, stacked along the first axis.
        key: a JAX random key; the same for all points of one search, so that noise cancels.
        maxima: for maximizers, the maxima of additive acquisitions by message passing, of all draws
            and of single ones, shape (k, D); they are candidates as well.
        starts: for maximizers, the points of `Maximizer.starts`, shape (K, D).
    """

    levels: Levels
    candidates: Array
    best: Array
    num_observed: Array | float
    components: Components
    layouts: Layout
    key: Array
    maxima: Array | np.ndarray = np.zeros(0)
    starts: Array | np.ndarray = np.zeros(0)
