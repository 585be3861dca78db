"""Random trees: dependency graphs that are not learned."""

import math
from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpyro
import numpyro.distributions as dist
from jax import Array
from jax.typing import ArrayLike
from jaxtyping import Float, Int

from structbo.models.decomposition import Decomposition, cliques
from structbo.models.foundation.arguments import checked_count
from structbo.models.foundation.arrays import RandomKey
from structbo.models.foundation.upstream import validate_sample
from structbo.models.foundation.values import Value
from structbo.models.supports import spanning_tree


class UniformTree(dist.Distribution):
    """All ``D ** (D - 2)`` trees over D dimensions with equal probability.

    Draws decode random Pruefer sequences, which correspond one-to-one to trees.

    Args:
        num_dims: the number of dimensions D.

    Example:
        >>> tree = UniformTree(5).sample(jax.random.key(0))
        >>> bool(spanning_tree(tree)), round(float(jnp.exp(-UniformTree(5).log_prob(tree))))
        (True, 125)
    """

    support = spanning_tree
    pytree_aux_fields = ("num_dims",)

    def __init__(self, num_dims: int, *, validate_args: bool | None = None) -> None:
        self.num_dims = checked_count("num_dims", num_dims)
        super().__init__(event_shape=(num_dims, num_dims), validate_args=validate_args)

    def sample(self, key: RandomKey, sample_shape: tuple[int, ...] = ()) -> Int[Array, "*S D D"]:
        shape = (math.prod(sample_shape), max(self.num_dims - 2, 0))
        sequences = jax.random.randint(key, shape, 0, self.num_dims)
        return jax.vmap(self._decode)(sequences).reshape(*sample_shape, *self.event_shape)

    def _decode(self, sequence: Int[Array, " L"]) -> Int[Array, "D D"]:
        """The tree of a Pruefer sequence.

        Each entry in turn is joined to the first dimension that is not in the rest of the sequence.
        The last edge joins the two dimensions that remain.
        """
        to_come = jnp.bincount(sequence, length=self.num_dims)

        def join(state: tuple[Array, Array], other: Array) -> tuple[tuple[Array, Array], None]:
            tree, to_come = state
            leaf = jnp.argmax(to_come == 0)
            return (_joined(tree, leaf, other), to_come.at[leaf].set(-1).at[other].add(-1)), None

        init = (jnp.zeros(self.event_shape, jnp.int32), to_come)
        (tree, left), _ = jax.lax.scan(join, init, sequence)
        if self.num_dims == 1:
            return tree
        first = jnp.argmax(left == 0)
        return _joined(tree, first, jnp.argmax(left.at[first].set(-1) == 0))

    @validate_sample
    def log_prob(self, value: ArrayLike) -> Float[Array, "*S"]:
        log_count = max(self.num_dims - 2, 0) * math.log(self.num_dims)
        return jnp.where(spanning_tree(value), -log_count, -jnp.inf)


def _joined(
    tree: Int[Array, "D D"], one: Int[Array, ""], other: Int[Array, ""]
) -> Int[Array, "D D"]:
    return tree.at[jnp.array([one, other]), jnp.array([other, one])].set(1)


@dataclass(frozen=True, eq=False, repr=False)
class random_tree(Value):
    """The structure of one component per edge of a random tree, site ``Z``.

    The tree is not learned: `default_sampler` uses `PriorDraws` for its site, a new tree per draw,
    and samples the other sites given the tree.

    References:
        Ziomek and Bou-Ammar 2023, "Are random decompositions all we need in high dimensional
        Bayesian optimisation?".

    Example:
        >>> with numpyro.handlers.seed(rng_seed=0):
        ...     random_tree()(4).members[:3].sum(1).tolist()
        [2, 2, 2]
    """

    def __call__(self, num_dims: int) -> Decomposition:
        return cliques(numpyro.sample("Z", UniformTree(num_dims)), max_size=2)
