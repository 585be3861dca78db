"""What a criterion knows of the search for the next point."""

from typing import NamedTuple

from jax import Array

from structbo.acquisition.components import Components
from structbo.maximizers import Layout
from structbo.space import Levels


class Search(NamedTuple):
    """Where the next point is looked for; whatever a criterion wants to know of it.

    Args:
        levels: the legal coordinates.
        candidates: legal points all over the space, the best observed ones among them, (m, D).
        best: the best observed point, shape (D,).
        num_observed: how many observations there are.
        components: the union of the components of all draws.
        layouts: the junction tree of every draw's components, stacked along the first axis.
        key: a JAX random key; the same for all points of one search, so that noise cancels.
    """

    levels: Levels
    candidates: Array
    best: Array
    num_observed: Array | float
    components: Components
    layouts: Layout
    key: Array
