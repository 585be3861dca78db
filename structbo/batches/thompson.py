"""Thompson batches: every point maximizes a new function drawn from the posterior."""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jaxtyping import Float, Int, Key

from structbo.batches.problem import BatchProblem
from structbo.data import padded
from structbo.models import ConditionedGP
from structbo.models.foundation.precision import double_precision


@dataclass(frozen=True)
class ThompsonBatch:
    """Maximizers of sample paths, one per draw, in random order of draws.

    A given first point is kept unless there are pending points. The criterion is not used.

    References:
        Kandasamy, Krishnamurthy, Schneider and Poczos 2018, "Parallelised Bayesian optimisation via
        ThompsonBatch sampling".
    """

    def __call__(self, problem: BatchProblem, q: int, key: Key[Array, ""]) -> list[int]:
        """Indices of q different available candidates."""
        ground = problem.ground
        chosen: list[int] = []
        if problem.opening is not None:
            chosen.append(problem.opening)
            ground = ground.without(problem.opening)
        with double_precision():
            num_draws = len(problem.posteriors.noise)
            key_order, key_paths = jax.random.split(key)
            order = jax.random.permutation(key_order, num_draws)
            x, keys = jnp.asarray(padded(ground.points)), jax.random.split(key_paths, q)
            for b in range(len(chosen), q):
                values = _path_values(problem.posteriors, order[b % num_draws], keys[b], x)
                chosen.append(ground.best(np.asarray(values)[: len(ground.points)]))
                ground = ground.without(chosen[-1])
        return chosen


@jax.jit
def _path_values(
    posteriors: ConditionedGP, draw: Int[Array, ""], key: Key[Array, ""], x: Float[Array, "m D"]
) -> Float[Array, " m"]:
    """A function drawn from the posterior of one draw, at points."""
    posterior = jax.tree.map(lambda leaf: leaf[draw], posteriors)
    return posterior.sample_path(key)(x)
