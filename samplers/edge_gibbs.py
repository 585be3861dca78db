"""Random-scan Gibbs sampling of edges, exact and incremental."""

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from structbo.models.decomposition import flip_edge
from structbo.samplers.conditional import Conditional, Point, choose, log_gain
from structbo.samplers.structure_block import Model, StructureBlock


class EdgeGibbs(StructureBlock):
    """Draws randomly chosen edges from their full conditionals.

    The conditional of an edge is Bernoulli with probability ``p1 / (p0 + p1)``, where ``p0`` and
    ``p1`` are the joint densities without and with the edge; each costs one Cholesky.

    Args:
        model: the NumPyro model.
        num_flips: edges to visit per step; by default as many as there are.

    References:
        Rolland et al. 2018, section 4, algorithm 3.
    """

    def __init__(self, model: Model, num_flips: int | None = None) -> None:
        super().__init__(model)
        self._num_flips = num_flips

    def update(self, key: Array, conditional: Conditional, value: Array) -> tuple[Array, Array]:
        rows, columns = (jnp.asarray(side) for side in np.triu_indices(value.shape[0], 1))
        num_flips = len(rows) if self._num_flips is None else self._num_flips
        key_pair, key_accept = jax.random.split(key)
        chosen = jax.random.randint(key_pair, (num_flips,), 0, max(len(rows), 1))
        thresholds = jax.random.uniform(key_accept, (num_flips,))

        def visit(k: Array, state: tuple[Point, Array]) -> tuple[Point, Array]:
            point, accepted = state
            i, j = rows[chosen[k]], columns[chosen[k]]
            new = conditional.move(point, flip_value(point.value, i, j))
            prob = jax.nn.sigmoid(log_gain(new, point))
            return choose(thresholds[k] < prob, new, point), accepted + prob

        if len(rows) == 0:
            return value, jnp.array(0.0)
        init = (conditional.start(value), jnp.array(0.0))
        point, accepted = jax.lax.fori_loop(0, num_flips, visit, init)
        return point.value, accepted / num_flips


def flip_value(value: Array, i: Array, j: Array) -> Array:
    """An edge matrix of the site's own dtype with one edge flipped."""
    return flip_edge(value.astype(bool), i, j).astype(value.dtype)
