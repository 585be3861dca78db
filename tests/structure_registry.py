"""The structures: a row enrols a structure in all tests of common properties."""

from collections.abc import Callable
from functools import partial

import numpy as np
import numpyro.distributions as dist

from structbo.models import (
    CRPPartition,
    NearIdentity,
    active_sets,
    cliques,
    edges,
    fully_dependent,
    main_effects,
    mixture,
    partitions,
    projections,
    random_tree,
)
from structbo.models.decomposition import Structure

NUM_DIMS = 3
MATRIX = np.full((NUM_DIMS, NUM_DIMS), 0.5)

STRUCTURES: dict[str, Callable[[], Structure]] = {
    "edges()": edges,
    "edges(0.2, max_width=1)": lambda: edges(0.2, max_width=1),
    "edges(Beta(1.0, 4.0), cliques)": lambda: edges(dist.Beta(1.0, 4.0), cliques),
    "edges(array(3, 3))": lambda: edges(MATRIX.copy()),
    "active_sets(0.25)": lambda: active_sets(0.25),
    "partitions(max_size=2)": lambda: partitions(max_size=2),
    "partitions(partial(CRPPartition, concentration=2.0))": lambda: partitions(
        partial(CRPPartition, concentration=2.0)
    ),
    "random_tree()": random_tree,
    "main_effects()": main_effects,
    "fully_dependent()": fully_dependent,
    "projections(NearIdentity, main_effects())": lambda: projections(NearIdentity, main_effects()),
    "mixture({'a': edges(), 'b': main_effects()}, [0.25, 0.75])": lambda: mixture(
        {"a": edges(), "b": main_effects()}, [0.25, 0.75]
    ),
}
"""Functions that make new but equal structures of `NUM_DIMS` dimensions, by their repr."""
