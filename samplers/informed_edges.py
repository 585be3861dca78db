"""Locally informed edge moves: what every flip would change guides the proposals."""

import jax
import jax.numpy as jnp
from jax import Array

from structbo.models.foundation.accelerator import where_needed
from structbo.models.likelihood import Model
from structbo.models.supports import Adjacency
from structbo.samplers.conditional import Conditional, Point
from structbo.samplers.edge_flips import EdgeFlips
from structbo.samplers.edge_gains import flip_gains
from structbo.samplers.edge_gibbs import flipped, num_pairs
from structbo.samplers.metropolis import Metropolis

NUM_MOVES = 10
FLIPS = 8.0
"""Upper bound of a proposal's expected number of flips, before the share that is left out."""
UNIFORM = 0.05
"""Expected number of flips that a proposal draws uniformly, whatever the gains."""
MOST_PROBABLE = 0.8
"""The largest probability of a flip. All probabilities have this factor, so no flip is certain."""


class InformedEdges(Metropolis):
    """Metropolis-Hastings on edges with proposals that know what every flip would change.

    The change of the log density under the flip of every edge is nearly known, see `flip_gains`,
    for the cost of a matrix product. A proposal flips each edge for itself, with a probability in
    proportion to ``t / (1 + t)``, ``t`` the exponential of that change: the one which Gibbs
    sampling would flip it with. It is accepted with the exact Metropolis-Hastings ratio, which
    needs the same changes at the proposed graph.

    If many edges matter little, a proposal flips six of them on average, and most are accepted. If
    the posterior is sure of its edges, most proposals flip none, and take no time.

    The gains are known where a flip changes the component of its pair alone, as in `pairs`. With
    other components, such as `cliques`, or another likelihood than `MarginalGP`, a step takes the
    moves of `EdgeFlips` instead.

    Args:
        model: the NumPyro model.
        num_moves: informed proposals per step; by default 10.
        num_flips: moves of `EdgeFlips` per step, where these are taken; by default its own number.

    References:
        Zanella 2020, "Informed proposals for local MCMC in discrete spaces"; Zhang et al. 2022, "A
        Langevin-like sampler for discrete distributions", for several flips at once.
    """

    support = Adjacency

    def __init__(
        self, model: Model, num_moves: int | None = None, num_flips: int | None = None
    ) -> None:
        super().__init__(model, num_moves)
        self._num_flips = num_flips

    def moves_per_step(self, value: Array) -> int:
        return NUM_MOVES if num_pairs(value) else 0

    def update(self, key: Array, conditional: Conditional, value: Array) -> tuple[Array, Array]:
        if conditional.flips_pairs:
            return super().update(key, conditional, value)
        return EdgeFlips(self.model, self._num_flips).update(key, conditional, value)

    def start(self, conditional: Conditional, value: Array) -> Point:
        return _guided(conditional, conditional.start(value, with_solution=True))

    def propose(self, key: Array, conditional: Conditional, point: Point) -> tuple[Point, Array]:
        def probabilities(point: Point) -> Array:
            """The probability of the flip of each edge."""
            share = jnp.minimum(FLIPS / point.guide.sum(), 1.0)
            return MOST_PROBABLE * jnp.minimum(
                share * point.guide + UNIFORM / len(point.guide), 1.0
            )

        here = probabilities(point)
        flips = jax.random.uniform(key, here.shape) < here

        def moved() -> Point:
            value = flipped(point.value, flips)
            return _guided(conditional, conditional.move(point, value, with_solution=True))

        new = where_needed(flips.any(), point, moved)
        there = probabilities(new)
        odds = jnp.where(flips, there / here, (1.0 - there) / (1.0 - here))
        return new, jnp.log(odds).sum()


def _guided(conditional: Conditional, point: Point) -> Point:
    """The point with the probabilities that Gibbs sampling would flip its edges with."""
    guide = jax.nn.sigmoid(jnp.nan_to_num(flip_gains(conditional, point), nan=-jnp.inf))
    # Moves do not need the solution, and carrying it would cost a copy each.
    return point._replace(solution=None, guide=guide)
