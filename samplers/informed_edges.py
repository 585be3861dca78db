"""Locally informed edge moves: the gains of all flips guide the proposals."""

import jax
import jax.numpy as jnp
from jax import Array
from jaxtyping import Float, Int

from structbo.models.foundation.accelerator import where_needed
from structbo.models.foundation.arrays import RandomKey
from structbo.models.likelihood import Model
from structbo.models.supports import Adjacency
from structbo.samplers.conditional import Conditional, Point
from structbo.samplers.edge_flips import EdgeFlips
from structbo.samplers.edge_gains import flip_gains
from structbo.samplers.edge_gibbs import flipped, num_pairs
from structbo.samplers.metropolis import Metropolis

NUM_MOVES = 10
FLIPS = 8.0
"""Upper bound of the expected number of informed flips per proposal, before `MOST_PROBABLE`."""
UNIFORM = 0.05
"""Expected number of uniformly drawn flips per proposal, before `MOST_PROBABLE`."""
MOST_PROBABLE = 0.8
"""Factor of all flip probabilities, and hence their upper bound: no flip is certain."""


class InformedEdges(Metropolis):
    """Metropolis-Hastings on edges with locally informed proposals.

    `flip_gains` approximates the change of the log density under the flip of every edge, at the
    cost of a matrix product. A proposal flips each edge independently, with probability
    proportional to ``t / (1 + t)``, the flip probability under Gibbs sampling, where ``t`` is the
    exponential of the change. The exact Metropolis-Hastings ratio uses the gains of the present
    and the proposed graph.

    If many edges have small gains, a proposal flips six on average, and most proposals are
    accepted. If the posterior is certain of its edges, most proposals flip none and cost nothing.

    The gains require that a flip changes only the component of its pair, as in `pairs`. For other
    components, such as `cliques`, and for likelihoods other than `MarginalGP`, a step makes the
    moves of `EdgeFlips`.

    Args:
        model: the NumPyro model.
        num_moves: number of informed proposals per step; by default 10.
        num_flips: number of moves per step if `EdgeFlips` is used; by default its default.

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

    def moves_per_step(self, value: Int[Array, "D D"]) -> int:
        return NUM_MOVES if num_pairs(value) else 0

    def update(
        self, key: RandomKey, conditional: Conditional, value: Int[Array, "D D"]
    ) -> tuple[Int[Array, "D D"], Float[Array, ""]]:
        if conditional.flips_pairs:
            return super().update(key, conditional, value)
        return EdgeFlips(self.model, self._num_flips).update(key, conditional, value)

    def start(self, conditional: Conditional, value: Int[Array, "D D"]) -> Point:
        return _guided(conditional, conditional.start(value, with_solution=True))

    def propose(
        self, key: RandomKey, conditional: Conditional, point: Point
    ) -> tuple[Point, Float[Array, ""]]:
        def probabilities(point: Point) -> Float[Array, " E"]:
            """The flip probability of each edge."""
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
    """The point with the flip probabilities of its edges under Gibbs sampling."""
    guide = jax.nn.sigmoid(jnp.nan_to_num(flip_gains(conditional, point), nan=-jnp.inf))
    # Moves do not need the solution, and carrying it would cost one copy per move.
    return point._replace(solution=None, guide=guide)
