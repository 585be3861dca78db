"""Edge matrices as random variables: the prior over dependency graphs."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
from jax import Array
from jax.scipy.special import logit
from jax.typing import ArrayLike
from jaxtyping import Bool, Float, Int

from structbo.models.decomposition import Decomposition, flip_edge, pairs
from structbo.models.foundation.arguments import checked_count, is_concrete
from structbo.models.foundation.arrays import RandomKey
from structbo.models.foundation.upstream import validate_sample
from structbo.models.foundation.values import Value
from structbo.models.graphs import elimination_width
from structbo.models.structures.indicators import (
    checked_probabilities,
    log_probability,
    probability_site,
)
from structbo.models.supports import adjacency


class EdgeBernoulli(dist.Distribution):
    """Independent edges: ``Z_ij = Z_ji ~ Bernoulli(p_ij)`` for i < j, with an empty diagonal.

    Args:
        num_dims: the number of dimensions D.
        probs: probability of an edge, a scalar or a symmetric matrix of shape (D, D).

    Raises:
        ValueError: if the probabilities have the wrong shape, or (unless traced) are not in [0, 1]
            or not symmetric.

    References:
        Rolland et al. 2018, section 4.

    Example:
        >>> Z = EdgeBernoulli(4, 0.5).sample(jax.random.key(0))
        >>> Z.shape, bool(adjacency(Z))
        ((4, 4), True)
    """

    support = adjacency
    pytree_data_fields = ("probs",)
    pytree_aux_fields = ("num_dims",)

    def __init__(
        self, num_dims: int, probs: ArrayLike = 0.5, *, validate_args: bool | None = None
    ) -> None:
        self.num_dims = checked_count("num_dims", num_dims)
        self.probs = checked_probabilities(probs, (num_dims, num_dims))
        if is_concrete(self.probs) and self.probs.ndim == 2:
            _check_symmetric(np.asarray(self.probs))
        super().__init__(event_shape=(num_dims, num_dims), validate_args=validate_args)

    @property
    def _is_upper(self) -> Bool[np.ndarray, "D D"]:
        return np.triu(np.ones(self.event_shape, bool), 1)

    def sample(self, key: RandomKey, sample_shape: tuple[int, ...] = ()) -> Int[Array, "*S D D"]:
        shape = (*sample_shape, *self.event_shape)
        present = jax.random.bernoulli(key, self.probs, shape) & self._is_upper
        upper = present.astype(jnp.int32)
        return upper + jnp.swapaxes(upper, -2, -1)

    @validate_sample
    def log_prob(self, value: ArrayLike) -> Float[Array, "*S"]:
        present = jnp.asarray(value) == 1
        used = jnp.where(self._is_upper, self.probs, 0.0)
        return log_probability(present & self._is_upper, used).sum((-2, -1))

    def flip_log_odds(self, value: Int[Array, "D D"]) -> Float[Array, "D D"]:
        """Change of the log density under the flip of each edge."""
        return jnp.where(value == 1, -1.0, 1.0) * logit(self.probs)


class BoundedTreewidth(EdgeBernoulli):
    """Independent edges, restricted to graphs whose `elimination_width` is at most a bound.

    A bound of 1 allows forests, a bound of 2 graphs of treewidth at most 2. Tables of message
    passing grow with the bound. With a bound of 1 or 2, removing an edge never leaves the support,
    so samplers that flip single edges reach every graph. With larger bounds a few removals leave
    it; up to six dimensions every graph is still reachable.

    The density is not normalized: it omits a constant that depends on ``probs`` and ``max_width``.
    If ``probs`` is random, the model's prior is therefore the joint prior *given the bound*, which
    favors smaller probabilities than the prior of ``probs`` alone. Draws of `sample`, given a draw
    of ``probs``, do not come from this joint prior.

    Args:
        num_dims: the number of dimensions D.
        probs: probability of an edge without the bound, a scalar or a symmetric matrix of shape
            (D, D).
        max_width: the largest width with positive probability, at least 1.

    Raises:
        ValueError: as `EdgeBernoulli` does, if the bound is not a positive integer, or if the
            certain edges exceed it.

    References:
        Han, Arora and Scarlett 2021, "High-dimensional Bayesian optimization via tree-structured
        additive models", for forests.

    Example:
        >>> triangle = jnp.ones((3, 3), int) - jnp.eye(3, dtype=int)
        >>> [float(BoundedTreewidth(3, 0.5, k).log_prob(triangle)) > -jnp.inf for k in (1, 2)]
        [False, True]
    """

    pytree_aux_fields = ("max_width",)

    def __init__(
        self,
        num_dims: int,
        probs: ArrayLike = 0.5,
        max_width: int = 2,
        *,
        validate_args: bool | None = None,
    ) -> None:
        self.max_width = checked_count("max_width", max_width)
        super().__init__(num_dims, probs, validate_args=validate_args)
        if not is_concrete(self.probs):
            return
        with jax.ensure_compile_time_eval():
            fits = bool(self._fits(self._certain))
        if not fits:
            raise ValueError(
                f"The edges whose probs are 1 have a width of more than max_width={max_width}: "
                "lower some of them or raise max_width."
            )

    @property
    def _certain(self) -> Bool[Array, "D D"]:
        one = jnp.broadcast_to(self.probs, self.event_shape) == 1
        return one & ~np.eye(self.num_dims, dtype=bool)

    def _fits(self, value: ArrayLike) -> Bool[Array, "*S"]:
        width = jnp.vectorize(elimination_width, signature="(d,d)->()")
        return width(jnp.asarray(value)) <= self.max_width

    def sample(self, key: RandomKey, sample_shape: tuple[int, ...] = ()) -> Int[Array, "*S D D"]:
        """Draws graphs until one fits, at most `MAX_TRIES` times.

        If no try fits, the edges of the last one are visited in random order, certain ones first,
        and an edge is kept if it fits together with the kept ones. Such a draw lies in the support,
        but is not exact. If a fraction ``a`` of the unrestricted graphs fits, this happens with
        probability ``(1 - a) ** MAX_TRIES``.

        Args:
            key: a JAX random key.
            sample_shape: the shape of the array of draws.

        Returns:
            Edge matrices, int32, shape ``(*sample_shape, D, D)``.
        """
        keys = jax.random.split(key, math.prod(sample_shape))
        return jax.vmap(self._draw)(keys).reshape(*sample_shape, *self.event_shape)

    def _draw(self, key: RandomKey) -> Int[Array, "D D"]:
        draw = super().sample
        key_order, key_try = jax.random.split(key)

        def try_again(state: tuple[Array, Array]) -> tuple[Array, Array]:
            tries, _ = state
            return tries + 1, draw(jax.random.fold_in(key_try, tries))

        init = try_again((jnp.array(0), jnp.zeros(self.event_shape, jnp.int32)))
        _, graph = jax.lax.while_loop(
            lambda s: (s[0] < MAX_TRIES) & ~self._fits(s[1]), try_again, init
        )
        return jnp.where(self._fits(graph), graph, self._thinned(key_order, graph))

    def _thinned(self, key: RandomKey, graph: Int[Array, "D D"]) -> Int[Array, "D D"]:
        """A maximal subgraph that fits, built from edges in random order."""
        priority = 1.0 + self._certain + jax.random.uniform(key, self.event_shape)
        order = jnp.argsort(-priority * (graph * self._is_upper), axis=None)
        rows, columns = jnp.unravel_index(order, self.event_shape)

        def add(state: tuple[Array, Array]) -> tuple[Array, Array]:
            k, kept = state
            i, j = rows[k], columns[k]
            more = kept.at[jnp.array([i, j]), jnp.array([j, i])].set(1)
            return k + 1, jnp.where(self._fits(more), more, kept)

        # No steps if the graph fits, so that a batch of draws only waits for the others.
        num_edges = jnp.where(self._fits(graph), 0, graph.sum() // 2)
        init = (jnp.array(0), jnp.zeros_like(graph))
        return jax.lax.while_loop(lambda s: s[0] < num_edges, add, init)[1]

    def log_prob(self, value: ArrayLike) -> Float[Array, "*S"]:
        return jnp.where(self._fits(value), super().log_prob(value), -jnp.inf)

    def flip_log_odds(self, value: Int[Array, "D D"]) -> Float[Array, "D D"]:
        """Minus infinity if the flip leaves the support; outside of it, all flips are allowed."""
        rows, columns = (jnp.asarray(side) for side in np.triu_indices(self.num_dims, 1))
        flipped = jax.vmap(partial(flip_edge, value.astype(bool)))(rows, columns)
        fits = jnp.zeros(self.event_shape, bool).at[rows, columns].set(self._fits(flipped))
        may_go = fits | fits.T | ~self._fits(value)
        return jnp.where(may_go, super().flip_log_odds(value), -jnp.inf)


def _check_symmetric(probs: Float[np.ndarray, "D D"]) -> None:
    different = np.argwhere(probs != probs.T)
    if len(different):
        i, j = different[0]
        raise ValueError(
            f"probs must be symmetric, got probs[{i}, {j}] = {probs[i, j]} and probs[{j}, {i}] = "
            f"{probs[j, i]}: an edge has one probability, in both places."
        )


MAX_TRIES = 1000
"""Maximum number of graphs that `BoundedTreewidth` draws to find one that fits."""


@dataclass(frozen=True, eq=False, repr=False)
class edges(Value):
    """The structure whose random variable is an edge matrix, site ``Z``.

    Args:
        probability: probability of an edge, a number, a symmetric (D, D) matrix, or a distribution,
            which adds the site ``edge_probability``. The default, ``1 / max(D - 1, 2)``, expects at
            most D / 2 edges.
        components: a function from an edge matrix to a decomposition, such as `pairs` or `cliques`.
        max_width: the largest width of a graph, for a prior of `BoundedTreewidth`; 1 for forests,
            None for any graph.

    Example:
        >>> structure = edges(dist.Beta(1.0, 4.0))
        >>> with numpyro.handlers.seed(rng_seed=0):
        ...     structure(3).members.shape
        (6, 3)
    """

    probability: ArrayLike | dist.Distribution | None = None
    components: Callable[[Int[Array, "D D"]], Decomposition] = pairs
    max_width: int | None = None

    def __call__(self, num_dims: int) -> Decomposition:
        probs = 1.0 / max(num_dims - 1, 2) if self.probability is None else self.probability
        probs = probability_site("edge_probability", probs)
        prior = (
            EdgeBernoulli(num_dims, probs)
            if self.max_width is None
            else BoundedTreewidth(num_dims, probs, self.max_width)
        )
        return self.components(numpyro.sample("Z", prior))
