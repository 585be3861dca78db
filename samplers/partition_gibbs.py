"""Random-scan Gibbs sampling of partitions, exact and incremental."""

import jax
import jax.numpy as jnp
from jax import Array

from structbo.models.structures.partition import block_sizes
from structbo.models.supports import canonical
from structbo.samplers.conditional import Conditional, Point, choose
from structbo.samplers.structure_block import Model, StructureBlock

OUTSIDE = -1e12
"""Stands for a log density of minus infinity: below all others, with room for differences."""


class PartitionGibbs(StructureBlock):
    """Moves randomly chosen dimensions to a block drawn from their full conditional.

    A dimension stays, joins any other block, or forms a new one, with probability in proportion to
    the joint density; each alternative costs one Cholesky.

    Args:
        model: the NumPyro model.
        num_visits: dimensions to visit per step; by default as many as there are.

    References:
        Neal 2000, "Markov chain sampling methods for Dirichlet process mixture models",
        algorithm 3; Wang et al. 2017, for partitions of dimensions.
    """

    def __init__(self, model: Model, num_visits: int | None = None) -> None:
        super().__init__(model)
        self._num_visits = num_visits

    def update(self, key: Array, conditional: Conditional, value: Array) -> tuple[Array, Array]:
        num_dims = value.shape[0]
        num_visits = num_dims if self._num_visits is None else self._num_visits
        key_dim, key_noise = jax.random.split(key)
        chosen = jax.random.randint(key_dim, (num_visits,), 0, num_dims)
        noise = jax.random.gumbel(key_noise, (num_visits, num_dims + 1))

        def visit(k: Array, state: tuple[Point, Array]) -> tuple[Point, Array]:
            point, moved = state
            dim, labels = chosen[k], point.value
            own, num_blocks = labels[dim], labels.max() + 1
            is_alone = block_sizes(labels)[own] == 1

            def consider(other: Array, best: tuple[Point, Array]) -> tuple[Point, Array]:
                """The largest log density plus Gumbel noise is a draw from the conditional."""
                target = other + (other >= own)
                new = conditional.move(point, relabelled(labels, labels.at[dim].set(target)))
                height = score(new) + noise[k, target]
                return choose(height > best[1], new, best[0]), jnp.maximum(height, best[1])

            stay = (point, score(point) + noise[k, own])
            # Other blocks, and a new one unless the dimension already is by itself.
            new_point, _ = jax.lax.fori_loop(0, num_blocks - is_alone, consider, stay)
            return new_point, moved + (new_point.value != labels).any()

        init = (conditional.start(value), jnp.array(0.0))
        point, moved = jax.lax.fori_loop(0, num_visits, visit, init)
        return point.value, moved / num_visits


def relabelled(labels: Array, new: Array) -> Array:
    """New labels in canonical form, of the site's own dtype."""
    return canonical(new).astype(labels.dtype)


def score(point: Point) -> Array:
    """The log density of a partition; where it is zero, smaller blocks are better.

    So a chain that starts outside the bounds of its structure walks towards single dimensions, but
    not so strictly that it could not form the blocks that other bounds ask for.
    """
    outside = OUTSIDE - jnp.square(block_sizes(point.value)).sum()
    return jnp.where(jnp.isfinite(point.log_density), point.log_density, outside)
