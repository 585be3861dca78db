"""The state of the search for the next point, for criteria and maximizers."""

from typing import NamedTuple

import numpy as np
from jax import Array
from jaxtyping import Float, Key

from structbo.maximizers.components import Components
from structbo.maximizers.junction_tree import Layout
from structbo.models.foundation.arrays import AnyArray
from structbo.space import Levels


class Search(NamedTuple):
    """The state of the search for the next point.

    Args:
        levels: the legal coordinates.
        candidates: legal points over the whole space, including the best observed ones; for
            maximizers, best first.
        best: the best observed point.
        num_observed: the number of observations.
        components: the union of the components of all draws.
        layouts: the junction tree of every draw's components, stacked along the first axis.
        key: a JAX random key; the same for all points of one search, so that noise cancels.
        maxima: for maximizers, the maxima of additive acquisitions by message passing, of all draws
            and of single ones; they are candidates as well.
        starts: for maximizers, the points of `Maximizer.starts`.
    """

    levels: Levels
    candidates: Float[Array, "m D"]
    best: Float[Array, " D"]
    num_observed: Float[Array, ""] | float
    components: Components
    layouts: Layout
    key: Key[Array, ""]
    maxima: Float[AnyArray, "k _D"] = np.zeros((0, 0))
    starts: Float[AnyArray, "K _D"] = np.zeros((0, 0))
